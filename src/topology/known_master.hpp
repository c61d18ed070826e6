/// Which master is known, and from which failover. No I/O, no clock: `now` is an argument.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "base/clock.hpp"
#include "topology/sentinel_view.hpp"

namespace holdfast::topology {

/// The number of a failover is always one that a sentinel has said, never a guess: what is heard late can't
/// count as new. What is known gets older in one case only: when most sentinels say so for a while, as those
/// do that were set up anew and count from zero.
class known_master {
 public:
  /// That while. News travels among sentinels in two seconds, so these don't wait for any.
  static constexpr std::chrono::seconds longest_doubt{10};

  [[nodiscard]] std::optional<address> const& where() const noexcept { return where_; }

  /// One sentinel's word. True: it is newer, so another master is known from now on.
  bool hear(sentinel_view const& word);

  /// What those who answered come to. False: it is older than what is known, which stays.
  bool weigh(sentinel_verdict const& all, time_point now);

  /// When most have said something older for long enough; max(): they don't.
  [[nodiscard]] time_point doubted_until() const noexcept {
    return doubted_since_ == time_point{} ? time_point::max() : doubted_since_ + longest_doubt;
  }

 private:
  void know(address const& master, std::int64_t epoch);

  std::optional<address> where_;
  std::int64_t epoch_ = 0;
  time_point doubted_since_{};
};

}  // namespace holdfast::topology
