/// Counting the votes of several masters about one lock. No I/O, no clock.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "engine/recipe.hpp"

namespace holdfast::engine {

/// More than half.
[[nodiscard]] constexpr std::size_t majority_of(std::size_t masters) noexcept { return masters / 2 + 1; }

/// One contender's view of who has how many votes.
class ballot {
 public:
  enum class outcome {
    open,         ///< some haven't answered, and may decide it
    won,          ///< a majority is ours
    held,         ///< a majority is somebody else's, or of several others, and no vote is ours
    ahead,        ///< nobody has a majority, and of those who ask at the same time we are the one to get it
    behind,       ///< the same, but another one is; or one who may have a majority with those unheard
    refused,      ///< too many masters can't answer, and some of them say why
    unreachable,  ///< too many masters don't answer
  };

  ballot(std::size_t masters, std::string_view us) : votes_(masters), us_{us} {}

  void ask(std::size_t who) noexcept { votes_[who].now = vote::pending; }
  void grant(std::size_t who, granted const& what, time_point sent_at) noexcept {
    votes_[who].now = vote::ours;
    votes_[who].tokens = what;
    votes_[who].sent_at = sent_at;
  }
  void deny(std::size_t who, busy what) {
    votes_[who].now = vote::theirs;
    votes_[who].why_not = std::move(what);
  }
  void refuse(std::size_t who) noexcept { votes_[who].now = vote::refused; }
  void miss(std::size_t who) noexcept { votes_[who].now = vote::unheard; }

  [[nodiscard]] outcome count() const;

  [[nodiscard]] bool is_ours(std::size_t who) const noexcept { return votes_[who].now == vote::ours; }
  [[nodiscard]] bool is_pending(std::size_t who) const noexcept { return votes_[who].now == vote::pending; }
  [[nodiscard]] bool is_theirs(std::size_t who) const noexcept { return votes_[who].now == vote::theirs; }
  [[nodiscard]] granted const& tokens(std::size_t who) const noexcept { return votes_[who].tokens; }

  // Once it is won.

  /// When the earliest of the requests that count was sent.
  [[nodiscard]] time_point earliest() const noexcept;
  /// The block of tokens that is newer than all that any majority has given out.
  [[nodiscard]] granted block() const noexcept;

  // Once it is not.

  /// What those who said no say together: whose it is, when a majority can be free, where we are in line.
  [[nodiscard]] busy summary() const;

 private:
  enum class vote { unheard, pending, ours, theirs, refused };
  struct master {
    vote now = vote::unheard;
    granted tokens{};
    time_point sent_at{};
    busy why_not{};
  };
  struct rival {
    std::string_view owner{};
    std::size_t votes = 0;
  };

  [[nodiscard]] std::size_t with(vote what) const noexcept;
  [[nodiscard]] rival strongest() const;

  std::vector<master> votes_;
  std::string us_;
};

}  // namespace holdfast::engine
