/// Loops under a clock that doesn't go by itself: a simulation's, and one that a test moves.
#pragma once

#include <functional>

#include "base/clock.hpp"

namespace holdfast::reactor {

class loop;

/// All loops of the process, and what such a clock asks of one: with its lock held, unless it says otherwise.
struct moved_clock {
  /// See listed_loop::for_each.
  static void for_each(std::function<void(loop&)> const& f);

  /// The time has moved: sees to it that due timers fire.
  static void look(loop& each) noexcept;
  /// Calls the functions of all timers that are due.
  static void fire_timers(loop& each);
  /// When the first timer is due that somebody will call; time_point::max() when there is none.
  [[nodiscard]] static time_point next_timer(loop const& each) noexcept;
  /// No timer is due, nothing is to be written, and no callback is to be called or runs.
  [[nodiscard]] static bool settled(loop const& each) noexcept;
};

}  // namespace holdfast::reactor
