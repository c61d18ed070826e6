/// What a backend answers to requests about locks.
#pragma once

#include <chrono>
#include <cstdint>
#include <holdfast/error.hpp>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/clock.hpp"

namespace holdfast::engine {

using std::chrono::milliseconds;

/// The lock is granted.
struct granted {
  std::int64_t token = 0;  ///< the first token
  int count = 1;           ///< how many tokens there are from it on
  bool by_message = false;
};

/// PTTL of a key that has none.
inline constexpr milliseconds without_ttl{-1};

/// For busy::ahead: permits without a lease were taken away by force, before their owner heard that it had
/// them. Its id is given none any more, as a late copy must not take them again.
inline constexpr std::int64_t own_id_is_spent = -2;

/// The lock has another holder.
struct busy {
  milliseconds pttl{};      ///< of the holder; negative: without_ttl, it is gone already, or it isn't known
  std::int64_t ahead = -1;  ///< how many wait before us; -1: we are not queued; or own_id_is_spent
  std::int64_t ticket = 0;
  std::int64_t counter = 0;                ///< the newest token then: a later grant has a greater one
  std::string holder{};                    ///< the owner id, or what another library wrote
  std::chrono::microseconds held_for{-1};  ///< negative: unknown
  std::int64_t permits = -1;               ///< of permits: how many there are; -1: nobody has said so
  std::int64_t out = 0;                    ///< of permits: how many of them are out
};

/// The reply to a fast request doesn't decide. That to the full request does.
struct undecided {
  bool taken = false;     ///< the lock is ours, but there is no token
  bool overtook = false;  ///< the lock is ours, but others wait whose turn comes first
};

/// The outcome of an acquire request; `undecided`: of a fast one only.
using verdict = std::variant<granted, busy, undecided>;

/// How a release or a renewal found the lock. Several masters may not know. `awaited`: a fast release has
/// left the lock ours, since somebody waits for it.
enum class ownership { held, gone, foreign, unknown, awaited };

/// The outcome of giving the lock back and taking it for another owner of this process, in one request.
struct passed {
  ownership before = ownership::held;
  std::optional<verdict> next{};  ///< none: the new owner has to send its own request
};

/// The outcome of giving up a contender: the server has no traces of it any more.
struct abandoned {
  bool had_lock = false;  ///< it had the lock, as far as the server says so
};

/// The outcome of a batch of renewals: all leases but `others` were renewed. Leases are named by their index
/// in the batch, in order.
struct renewals {
  std::vector<std::pair<std::size_t, ownership>> others{};
  /// The leases whose key was to end before them, since others share it and cut its ttl short, and the rest
  /// of that ttl.
  std::vector<std::pair<std::size_t, milliseconds>> cut{};
  /// The leases of leaders whose value isn't beside the lock any more.
  std::vector<std::size_t> unsaid{};
};

/// The outcome of a batch of releases: only leases without waiters are released. The indices of the others,
/// in order.
using still_wanted = std::vector<std::size_t>;

/// The server refused.
struct refused {
  std::string text;     ///< its words; the first one is a code ("READONLY")
  bool resent = false;  ///< an earlier copy of the request may have been carried out
};

/// There is no reply: the request couldn't be sent, or was left unanswered.
struct failed {
  std::shared_ptr<error const> reason;
  bool sent = false;  ///< it may have been carried out
};

/// A request's outcome, or why there is none.
template <class Outcome>
struct answer {
  std::variant<Outcome, refused, failed> content{};
  time_point sent_at{};  ///< just before the request was last written; of several masters, the earliest
  std::uint64_t connection_id = 0;  ///< the connection that the reply came over; 0: it isn't known
  bool resent = false;  ///< the reply is to its second copy, or a later one; of single servers only

  /// Null: there is none.
  [[nodiscard]] Outcome const* outcome() const noexcept { return std::get_if<Outcome>(&content); }
  [[nodiscard]] refused const* refusal() const noexcept { return std::get_if<refused>(&content); }
  [[nodiscard]] failed const* failure() const noexcept { return std::get_if<failed>(&content); }

  /// For a message, when there is no outcome.
  [[nodiscard]] std::string_view reason() const noexcept {
    return refusal() != nullptr ? std::string_view{refusal()->text} : failure()->reason->what();
  }
};

/// Whether the request, or an earlier copy of it, may have been carried out.
[[nodiscard]] inline bool may_be_carried_out(answer<ownership> const& result) noexcept {
  if (auto const* const found = result.outcome()) return *found == ownership::held;
  return result.refusal() != nullptr ? result.refusal()->resent : result.failure()->sent;
}

}  // namespace holdfast::engine
