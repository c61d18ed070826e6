/// The event loop of a client, and the rule by which threads drive it.
#pragma once

#include <boost/intrusive/list.hpp>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <holdfast/event_loop.hpp>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "base/callback.hpp"
#include "base/clock.hpp"
#include "reactor/blocked_thread.hpp"
#include "reactor/deferred_calls.hpp"
#include "reactor/interruption.hpp"
#include "reactor/io_context.hpp"
#include "reactor/listed_loop.hpp"
#include "reactor/room_for_one.hpp"
#include "reactor/timers.hpp"
#include "reactor/writers.hpp"

namespace holdfast::reactor {

using lock = std::unique_lock<std::mutex>;

/// One event loop per client, its lock, and the rule by which threads drive it:
///
/// - All state of a client is accessed under one lock. No thread blocks while it holds the lock: not in
///   epoll_wait, not in a callback of the user. So a caller that needs no network (a handoff, say) needs no
///   other thread.
/// - *A waiting thread drives*: a blocking caller that finds the loop free runs it until its own reply has
///   come: as few thread switches as a plain blocking client.
/// - Otherwise the caller sleeps, and the driver wakes it. The *keeper* thread drives when callers have
///   requests under way and none of them drives, or when nothing has happened for a while (renewals,
///   messages). It stops driving when the last of several callers is served, so that the next caller drives
///   itself.
/// - Callbacks of one client don't run inside one another. A callback that waits passes the callbacks behind
///   it on to the keeper. A callback that waits on the keeper itself passes them on to a new keeper, and the
///   old keeper's thread ends after the callback.
///
/// A loop may have an *outer* event loop of the program instead of a keeper. Whenever no caller drives it is
/// visited from there when something has come: a visit is a turn that doesn't wait. Since that event loop may
/// stand still, a caller that sleeps drives when no other thread does any more (visits.cpp, decision 61).
///
/// Commands leave in one write per turn: commands that a turn's handlers and callbacks add are written at its
/// end, and of a long batch of callbacks meanwhile, so that the server has work while it runs. A caller
/// beside the driver writes by itself while little is under way; otherwise the driver collects, and lets
/// callers that are about to send go first (decision 56).
///
/// *An allocation may fail anywhere.* The loop itself allocates only in deferred_calls::add() of a single
/// call and in start_keeper(). An exception from a handler, timer or flush stops none of the others. It is
/// recorded (note_out_of_memory), and before the lock is free again the owner of the client's state is called
/// (on_out_of_memory), to complete what was left undone.
class loop : private listed_loop {
  friend bool may_wait() noexcept;
  friend bool inside_callback() noexcept;
  friend struct moved_clock;

 public:
  /// `outer`: null for a loop with a keeper.
  explicit loop(std::shared_ptr<event_loop> outer = nullptr);
  ~loop();
  loop(loop const&) = delete;
  loop& operator=(loop const&) = delete;

  [[nodiscard]] boost::asio::io_context& io() noexcept { return *io_; }
  [[nodiscard]] std::mutex& mutex() noexcept { return mutex_; }

  // All of the following are called with the lock held. Functions that take the lock as an argument may
  // release it for a while.

  /// Called before the first operation that may have to continue while no caller waits: once the keeper runs,
  /// no operation needs a thread that might be unavailable. With an outer event loop, joins that. Throws
  /// std::system_error.
  void start_keeper();
  [[nodiscard]] bool has_outer() const noexcept { return outer_ != nullptr; }
  /// `f` is called under the lock if the outer event loop ends before this one.
  void on_outer_end(callback<void()> f) noexcept { on_outer_end_ = std::move(f); }
  /// An operation of Asio's was begun, which may have ended at once: some thread has to run its handler.
  void note_begun() noexcept { begun_ = true; }

  /// Releases the lock, and blocks until wake(thread) was called. Drives the loop if no other thread does.
  void wait(lock& hold, blocked_thread& thread) noexcept;

  /// Ends the wait of a thread.
  void wake(blocked_thread& thread) noexcept;

  /// Functions to be called later, without the lock: on this thread at the end of its turn or call. For all
  /// code of the user.
  using calls = deferred_calls::list;
  [[nodiscard]] deferred_calls& deferred() noexcept { return deferred_; }

  /// At the end of a call that doesn't wait: sends bytes, releases the lock, wakes the threads whose wait has
  /// ended, and runs the deferred functions.
  void leave(lock& hold) noexcept;

  /// Those that have bytes to send, which leave at the end of a turn or call.
  [[nodiscard]] reactor::writers& writers() noexcept { return writers_; }

  void arm(timer& timer, time_point when) noexcept { timers_.arm(timer, when); }

  /// `f` is called under the lock, before the lock is free again, after an exception in code that had no
  /// caller to report it to: that code's work is undone, or half done. `f` doesn't throw, and allocates
  /// nothing.
  void on_out_of_memory(callback<void()> f) noexcept { on_out_of_memory_ = std::move(f); }
  /// Records such an exception.
  void note_out_of_memory() noexcept { out_of_memory_ = true; }
  /// Calls that function if an exception was recorded.
  void mend() noexcept;

  /// Called, without the lock, with the text of an exception from a deferred function.
  void on_exception(std::function<void(std::string const& text)> f) { on_exception_ = std::move(f); }

  /// Counts operations under way that no thread waits for: while there are any, some thread has to drive.
  void add_interest(int n) noexcept { interest_ += n; }

  /// Writes what was collected so far, also inside of a callback. Under the lock.
  void flush() noexcept { flush_all(!polling_); }  // while nobody runs the loop it is this thread's

  /// Ends the keeper, and waits for it and for former keepers. Afterwards only wait() drives. False: a thread
  /// is still inside a callback, and the loop has to outlive that thread. Former keepers are not waited for
  /// when this thread is inside a callback itself, or when the process is `exiting`: then their callbacks may
  /// wait for events that won't happen any more. Nor are visits.
  bool stop(lock& hold, bool exiting = false) noexcept;

  // For a simulation, which takes the place of the kernel and of the keeper: one thread, and no waiting.

  /// Where the loop would wait for the kernel it calls `step`, without the lock, which makes the next event
  /// happen. To be set before the keeper is started.
  void simulate(std::function<void()> step) { simulated_step_ = std::move(step); }

 private:
  class visits;
  struct callbacks;  ///< the callbacks of one client that a thread runs at the moment

  void turn(lock& hold) noexcept;
  [[nodiscard]] bool run_handlers() noexcept;
  void unlock(lock& hold) noexcept;
  void flush_all(bool driving) noexcept;
  void run_deferred(lock& hold) noexcept;
  [[nodiscard]] bool in_callbacks() const noexcept;
  [[nodiscard]] bool pass_on(callbacks& rest) noexcept;
  [[nodiscard]] bool relieve() noexcept;
  void leave_to_keeper() noexcept;
  void let_go() noexcept;
  void run_keeper() noexcept;
  [[nodiscard]] bool is_keeper() const noexcept { return std::this_thread::get_id() == keeper_.get_id(); }
  void wake_keeper() noexcept;
  [[nodiscard]] bool need_keeper() const noexcept;

  // With an outer event loop.
  void join_outer();
  void ask_for_visit() noexcept;
  [[nodiscard]] bool let_sleeper_drive() noexcept;
  [[nodiscard]] bool end_visits(lock& hold, bool exiting) noexcept;

  room_for_one room_of_timers_;
  interruption interruption_;
  std::unique_ptr<boost::asio::io_context> io_;
  timers timers_;

  std::thread::id driver_{};  ///< the thread that drives
  blocked_thread const* driver_waits_ = nullptr;
  bool polling_ = false;  ///< a thread drives
  bool out_of_memory_ = false;
  callback<void()> on_out_of_memory_;
  int parked_ = 0;   ///< threads asleep in wait()
  int calling_ = 0;  ///< threads inside of deferred functions
  int interest_ = 0;
  std::uint64_t served_ = 0;  ///< number of sleeping threads whose wait has ended
  std::uint64_t drives_ = 0;  ///< number of times that a caller drove
  std::function<void(std::string const&)> on_exception_;
  std::function<void()> simulated_step_;
  reactor::writers writers_;
  deferred_calls deferred_;
  woken_threads woken_;

  std::thread keeper_;
  int relieved_ = 0;  ///< former keepers, which wait in a callback
  std::condition_variable keeper_cv_;
  blocked_thread const* keeper_waits_ = nullptr;  ///< the keeper waits in a callback, and another drives
  bool keeper_wanted_ = false;
  bool passed_on_ = false;  ///< the keeper is to run the deferred functions
  bool stopping_ = false;
  time_point keeper_back_ = time_point::max();  ///< when a sleeping keeper checks again

  std::shared_ptr<event_loop> const outer_;
  std::shared_ptr<visits> visits_;  ///< null: it isn't joined yet
  callback<void()> on_outer_end_;
  int visitors_ = 0;      ///< threads inside of visits
  bool watched_ = false;  ///< a visit follows when the descriptor is readable
  bool called_ = false;   ///< a visit follows soon
  bool begun_ = false;    ///< see note_begun()
  bool relief_ = false;   ///< a sleeping caller was woken to drive, and hasn't got the lock yet
  boost::intrusive::list<blocked_thread, boost::intrusive::constant_time_size<false>> sleepers_;
};

/// Called without any lock by a thread that is about to wait for an event that a callback may have to bring,
/// such as a lease that another thread has obtained. If this thread is inside callbacks, the callbacks behind
/// them are handed to another thread. False: there is no thread for them, so the wait might never end.
[[nodiscard]] bool may_wait() noexcept;
/// Whether the calling thread is inside a callback of any client.
[[nodiscard]] bool inside_callback() noexcept;

/// Holds the lock for a handler of Asio's. Calls mend() before the lock is released.
class handling {
 public:
  explicit handling(loop& loop) : loop_{loop}, hold_{loop.mutex()} {}
  ~handling() { loop_.mend(); }
  handling(handling const&) = delete;
  handling& operator=(handling const&) = delete;

 private:
  loop& loop_;
  std::lock_guard<std::mutex> hold_;
};

}  // namespace holdfast::reactor
