/// What differs between one kind of lock and another: what is sent, and how the reply reads. No I/O.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "resp/reply.hpp"
#include "script/call.hpp"

namespace holdfast::engine {

using std::chrono::milliseconds;

/// How long a lock that was granted by message holds before its first renewal: what a frozen waiter can cost.
constexpr milliseconds grant_ttl{2000};

/// How a script tells those who wait.
enum class publishing : std::uint8_t {
  counted,  ///< the server knows all who listen, and says how many heard it: none, and their process is gone
  sharded,  ///< the same, in a cluster: over channels in the slot of the lock
  uncounted,  ///< in a cluster that doesn't know such channels, or isn't known yet: nobody says who heard it
};

/// As the scripts know it.
constexpr std::string_view word_of(publishing how) noexcept {
  switch (how) {
    case publishing::counted:
      return "PUBLISH";
    case publishing::sharded:
      return "SPUBLISH";
    case publishing::uncounted:
      break;
  }
  return "UNCOUNTED";
}

/// Who is told at a release, and how.
struct release_policy {
  std::chrono::microseconds starvation{};  ///< waited longer than this: it is granted the lock
  milliseconds grant = grant_ttl;          ///< for so long, until the new holder renews
  milliseconds
      credit{};  ///< how long a place in the queue outlives the last sign of life (Redisson's fair lock)
  bool quiet = false;  ///< tells nobody: the user chose to poll, perhaps since there is no pub/sub
  publishing publish = publishing::counted;
};

/// A try to take the lock.
struct acquire_request {
  std::string_view owner;
  milliseconds ttl{};
  int tokens = 1;             ///< fencing tokens wished for: one for the lease, more for handoffs behind it
  int amount = 1;             ///< permits wished for; of a kind that gives one at a time: see seat::acquire
  bool join = false;          ///< wait in the queue when it is busy
  bool listening = false;     ///< the channels of the bid are subscribed
  std::string_view ticket{};  ///< the place in the queue from an earlier ask; empty: none yet
  std::chrono::microseconds waited{};  ///< how long the caller has been waiting, by its own clock
  std::int64_t newest = 0;             ///< the newest token it has seen; 0: none yet
  std::uint64_t number = 0;            ///< of a vote: see quorum::number_to
  release_policy policy{};             ///< when it goes short itself, and what others get that it gives back
};

/// It is ours.
struct granted {
  std::int64_t token = 0;  ///< the first
  int count = 1;           ///< how many there are from it on
};

/// It is somebody else's.
struct busy {
  milliseconds pttl{};      ///< of the holder; negative: it is gone already, or has none
  std::int64_t ahead = -1;  ///< how many wait before us; -1: we are not queued
  std::int64_t ticket = 0;
  std::int64_t counter = 0;  ///< the newest token then: a grant that came later has a greater one
  std::string holder{};      ///< the owner id, or what another library wrote
  std::chrono::microseconds held_for{-1};  ///< negative: unknown
};

using verdict = std::variant<granted, busy>;

/// How a release found the lock, or a renewal. Several masters may not know.
enum class ownership { mine, gone, foreign, unknown };

/// Giving the lock back and taking it for another owner of this process, in one request.
struct passed {
  ownership before = ownership::mine;
  std::vector<verdict> next{};  ///< one, or none when the new owner has to ask by itself
};

struct owned {
  std::string_view name;
  std::string_view owner;
};

/// Who of one process may have it at the same time.
enum class sharing {
  exclusive,    ///< one caller: it passes from one to the next
  shared,       ///< any number; those that come close together share one acquisition (readers)
  counted,      ///< any number, each with an acquisition of its own (permits)
  open_to_all,  ///< nobody has it: all that wait go through when it opens (a latch)
};

/// Whose the place in the server's queue is.
enum class order {
  barging,  ///< the line's: whoever is its first caller by then uses it, and newcomers may overtake anyway
  strict,   ///< the caller's: it is given up with the caller, and the next one takes its own
};

/// What is different about a lock over several names. It is granted name by name, so a message that grants
/// one says no more than "ask again"; and when one is lost, the others are still there to be given back.
struct lock_names {
  std::size_t (*count)(std::string_view name);
  std::string_view (*first)(std::string_view name);
  std::vector<std::string_view> (*all)(std::string_view name);
  std::string (*title)(std::string_view name);  ///< what messages call the lock
};

/// What else is needed where several masters vote, each of which has the lock for itself.
struct voting {
  /// Gives back a vote that isn't enough, and keeps the place in the queue, if there is a ticket. Tells
  /// nobody. The number is that of a newer ask than the vote's, and of an older one than any that follows.
  call (*yield)(owned, std::string_view ticket, std::uint64_t number);
  /// Brings a token counter up to `token`, while the vote is the owner's. Replies the counter; 0: it isn't.
  /// Null: it has no tokens.
  call (*raise)(owned, std::int64_t token) = nullptr;
};

/// One kind of lock on one wire format. All calls may be sent twice: the second finds what the first did.
struct recipe {
  engine::order order = order::barging;
  engine::sharing sharing = sharing::exclusive;
  bool leased = true;  ///< a grant is held, renewed and released; otherwise it is the caller's for good
  bool queues = true;  ///< an ask with `join` leaves an entry in a queue of the server's
  call (*acquire)(std::string_view name, acquire_request const&);
  verdict (*read_acquire)(resp::reply const&);
  call (*release)(owned, release_policy) = nullptr;  ///< null, as renew: a grant isn't held
  ownership (*read_release)(resp::reply const&) = nullptr;
  /// Of many, those that nobody waits for, in one request; null: there is no such request.
  call (*release_unwanted)(std::span<owned const>) = nullptr;
  /// The places of those that somebody waits for.
  std::vector<std::size_t> (*read_wanted)(resp::reply const&) = nullptr;
  call (*pass)(owned, release_policy,
               acquire_request const& next) = nullptr;  ///< null: there is no such request
  passed (*read_pass)(resp::reply const&) = nullptr;
  call (*abandon)(owned, release_policy) = nullptr;  ///< null: an ask leaves no traces
  call (*renew)(milliseconds ttl, std::span<owned const>) = nullptr;
  /// Those that are lost: their place in the span, and how the lock was found.
  std::vector<std::pair<std::size_t, ownership>> (*read_renew)(resp::reply const&) = nullptr;
  /// Those whose key was to end before them, since others share it and cut its ttl short: their place in the
  /// span, and what was left. Null: nobody does that.
  std::vector<std::pair<std::size_t, milliseconds>> (*read_cut)(resp::reply const&) = nullptr;
  /// The last ttl of one that is kept; null: renew. For kinds whose renewals never shorten a ttl.
  call (*set_ttl)(milliseconds ttl, std::span<owned const>) = nullptr;
  lock_names const* several = nullptr;  ///< null: it has one name
  voting const* votes = nullptr;        ///< null: one deployment has it, and its word is enough
  /// Where a waiter hears that it should ask again; null: in the inbox that its client has
  /// for the lock.
  std::vector<std::string> (*channels)(std::string_view name, std::string_view owner) = nullptr;
  /// What stands in Redis for an owner; null: the owner id itself.
  std::string (*id_of)(std::string_view owner) = nullptr;
};

}  // namespace holdfast::engine
