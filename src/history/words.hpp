/// The words of a history: docs/history.md describes each line.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace holdfast::history {

/// Of the format. A line means the same in all histories of one version.
inline constexpr int version = 1;

/// What a line says.
enum class event : std::uint8_t {
  client,    ///< the header of a client
  asked,     ///< a caller wants a lock
  queued,    ///< its place in the server's queue is certain
  granted,   ///< it has a lease
  taken,     ///< it has what it wanted, for good: permits without leases, passing a latch or a barrier
  left,      ///< it goes without
  renewed,   ///< a lease has a new deadline
  paused,    ///< its holder gives it back, or turns it into another one, and doesn't use it from here on
  resumed,   ///< that had no effect
  kept,      ///< its key stays until then
  lost,      ///< it ended against its holder's will
  released,  ///< its holder gives it back
  setting,   ///< the number of permits, or the count of a latch, is about to be set
  set,       ///< it was set
  added,     ///< permits are about to be given back, or added
  counted,   ///< a latch is about to be counted down
  opened,    ///< a latch is about to be opened
  trouble,   ///< a connection broke, or another server answers from now on
  alive,     ///< each second, while the client waits for locks or has leases
  closed,    ///< the client has ended
};

/// How a lock is held.
enum class kind : std::uint8_t {
  mutex,      ///< one holder at a time; newcomers may overtake
  fair,       ///< the same, in the order of arrival; also the writer of a shared_mutex
  quorum,     ///< one holder at a time, by the votes of several masters
  read,       ///< beside other readers
  write,      ///< one holder at a time; a writer that goes ahead of readers, or was a reader
  upgrade,    ///< beside readers, but not beside another one of these
  permits,    ///< leases of some of a number of permits
  mixed,      ///< several names, held in different ways
  semaphore,  ///< permits without leases
  latch,
  barrier,
  condition,
  election,  ///< as fair
};

inline constexpr std::array<std::string_view, 20> event_words{
    "client", "asked",   "queued", "granted", "taken",    "left",    "renewed",
    "paused", "resumed", "kept",   "lost",    "released", "setting", "set",
    "added",  "counted", "opened", "trouble", "alive",    "closed"};
inline constexpr std::array<std::string_view, 13> kind_words{
    "mutex", "fair",      "quorum", "read",    "write",     "upgrade", "permits",
    "mixed", "semaphore", "latch",  "barrier", "condition", "election"};

constexpr std::string_view word_of(event value) { return event_words.at(static_cast<std::size_t>(value)); }
constexpr std::string_view word_of(kind value) { return kind_words.at(static_cast<std::size_t>(value)); }

/// nullopt: there is no such word.
template <class Value, std::size_t Size>
constexpr std::optional<Value> value_of(std::string_view word,
                                        std::array<std::string_view, Size> const& words) {
  auto const found = std::ranges::find(words, word);
  if (found == words.end()) return std::nullopt;
  return static_cast<Value>(found - words.begin());
}

}  // namespace holdfast::history
