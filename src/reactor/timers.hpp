/// Timers, all backed by one kernel timer.
#pragma once

#include <boost/intrusive/set.hpp>
#include <functional>
#include <memory>
#include <utility>

#include "base/clock.hpp"
#include "reactor/io_context.hpp"
#include "reactor/room_for_one.hpp"

namespace holdfast::reactor {

/// One timer. A member of the object that waits for it; leaves the queue when destroyed.
class timer
    : public boost::intrusive::set_base_hook<boost::intrusive::link_mode<boost::intrusive::auto_unlink>> {
 public:
  explicit timer(std::function<void()> fire) : fire_{std::move(fire)} {}
  timer(timer const&) = delete;
  timer& operator=(timer const&) = delete;
  ~timer() = default;

  void set(std::function<void()> fire) { fire_ = std::move(fire); }
  [[nodiscard]] bool armed() const noexcept { return is_linked(); }
  [[nodiscard]] time_point when() const noexcept { return when_; }
  void disarm() noexcept { unlink(); }

  friend bool operator<(timer const& a, timer const& b) noexcept { return a.when_ < b.when_; }

 private:
  friend class timers;
  time_point when_{};
  std::function<void()> fire_;
};

/// All timers of a client, under its lock. Backed by a timerfd on CLOCK_BOOTTIME, not by Asio's timers, which
/// stand still while the machine is suspended, and a lease does not. The descriptor is set again only for an
/// earlier time: a disarmed timer costs at most one idle wake-up.
class timers {
 public:
  /// A simulation fires all timers: those that are made meanwhile have no descriptor, which would cost more
  /// than many a simulated client does.
  static inline constinit bool fired_by_simulation = false;

  /// `room`: for the operation that waits for the descriptor. `readable` is called without the lock, to call
  /// on_readable() with it.
  timers(boost::asio::io_context& io, room_for_one& room, std::function<void()> readable);
  timers(timers const&) = delete;
  timers& operator=(timers const&) = delete;
  ~timers();

  /// Calls the timer's function at `when`, from the thread that drives the loop, with the lock held. Replaces
  /// an earlier arming.
  void arm(timer& timer, time_point when) noexcept;

  /// When the first timer is due; time_point::max() when there is none.
  [[nodiscard]] time_point earliest() const noexcept;

  /// The clock has moved by itself (boot_clock::stand_in): sets the descriptor anew.
  void look_at_clock() noexcept {
    if (!queue_.empty()) set(queue_.begin()->when_);
  }

  /// Calls the functions of all timers that are due. False: one of them threw, which stops none of the
  /// others.
  [[nodiscard]] bool fire_due();
  /// The same, and waits for the descriptor again.
  [[nodiscard]] bool on_readable();

  void close() noexcept;

 private:
  void watch();
  void set(time_point when) noexcept;

  using set_type = boost::intrusive::multiset<timer, boost::intrusive::constant_time_size<false>>;

  room_for_one& room_;
  std::function<void()> const readable_;
  struct descriptor;
  std::unique_ptr<descriptor> fd_;  ///< null: see fired_by_simulation
  set_type queue_;
  time_point set_for_ = time_point::max();
};

}  // namespace holdfast::reactor
