/// Counts the votes of several masters about one lock. No I/O, no clock.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "engine/answers.hpp"

namespace holdfast::engine {

/// More than half.
[[nodiscard]] constexpr std::size_t majority_of(std::size_t masters) noexcept { return masters / 2 + 1; }

/// Whether that master's vote may be the owner's. If the request is refused, an earlier copy may have got the
/// vote; if it is denied, a later request may have got it.
[[nodiscard]] bool may_have_vote(answer<verdict> const& vote, std::string_view owner) noexcept;

/// One contender's view of the votes.
class ballot {
 public:
  enum class outcome {
    open,         ///< masters that haven't answered may decide it
    won,          ///< a majority is ours
    held,         ///< another owner has a majority, or several others together, and no vote is ours
    ahead,        ///< no majority; among the present contenders ours is the first in order
    behind,       ///< no majority; another contender is the first in order, or may have a majority
    refused,      ///< too many masters can't answer, and some of them give a reason
    unreachable,  ///< too many masters don't answer
  };

  ballot(std::size_t masters, std::string_view owner) : votes_(masters), owner_{owner} {}

  void ask(std::size_t master) noexcept { votes_[master].state = vote::pending; }
  void grant(std::size_t master, granted const& grant, time_point sent_at) noexcept {
    votes_[master].state = vote::given;
    votes_[master].tokens = grant;
    votes_[master].sent_at = sent_at;
  }
  void deny(std::size_t master, busy busy_reply) {
    votes_[master].state = vote::to_another;
    votes_[master].busy_reply = std::move(busy_reply);
  }
  void refuse(std::size_t master) noexcept { votes_[master].state = vote::refused; }
  void miss(std::size_t master) noexcept { votes_[master].state = vote::unheard; }

  [[nodiscard]] outcome count() const;

  [[nodiscard]] bool has_vote_of(std::size_t master) const noexcept {
    return votes_[master].state == vote::given;
  }
  [[nodiscard]] granted const& tokens(std::size_t master) const noexcept { return votes_[master].tokens; }

  // After outcome::won.

  /// When the earliest of the requests that count was sent.
  [[nodiscard]] time_point earliest() const noexcept;
  /// The block of tokens that is newer than all that any majority has given out.
  [[nodiscard]] granted block() const noexcept;

  // After any other outcome.

  /// The busy replies combined: the holder, when a majority can be free, our position in the queues.
  [[nodiscard]] busy summary() const;

 private:
  enum class vote { unheard, pending, given, to_another, refused };
  struct master_vote {
    vote state = vote::unheard;
    granted tokens{};
    time_point sent_at{};
    busy busy_reply{};
  };
  struct rival {
    std::string_view owner{};
    std::size_t votes = 0;
  };

  [[nodiscard]] std::size_t count_of(vote state) const noexcept;
  [[nodiscard]] rival strongest() const;

  std::vector<master_vote> votes_;
  std::string owner_;
};

}  // namespace holdfast::engine
