/// The loop, and who drives it.
#pragma once

#include <atomic>
#include <boost/intrusive/list.hpp>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "base/callback.hpp"
#include "base/clock.hpp"
#include "reactor/io_context.hpp"
#include "reactor/room_for_one.hpp"
#include "reactor/timers.hpp"

namespace holdfast::reactor {

using lock = std::unique_lock<std::mutex>;

/// A thread that waits for something: on its stack, finished by whoever brings the news.
class blocked_thread {
 public:
  blocked_thread() = default;
  blocked_thread(blocked_thread const&) = delete;
  blocked_thread& operator=(blocked_thread const&) = delete;

 private:
  friend class loop;
  std::atomic<int> done_{0};
  bool asleep_ = false;                   ///< counted in loop::parked_
  bool finished_ = false;                 ///< and `done_` follows when the lock is free, if it was asleep
  blocked_thread* woken_next_ = nullptr;  ///< of those
};

/// Something with bytes to write at the end of a turn.
class flushable
    : public boost::intrusive::list_base_hook<boost::intrusive::link_mode<boost::intrusive::auto_unlink>> {
 public:
  flushable() = default;
  flushable(flushable const&) = delete;
  flushable& operator=(flushable const&) = delete;
  virtual ~flushable() = default;

  /// `driving`: this thread runs the loop, so it may touch anything. Otherwise it may do what is safe beside
  /// the one that does, and answers whether everything is on its way.
  virtual bool flush(bool driving) = 0;

  /// An exception has come out of Asio, of which only this is known: that some handler was lost, perhaps one
  /// of this one's.
  virtual void on_lost_handler() noexcept = 0;

 private:
  friend class loop;
  boost::intrusive::list_member_hook<boost::intrusive::link_mode<boost::intrusive::auto_unlink>> known_;
};

/// One event loop per client, its lock, and the rule of who drives it:
///
/// - All state of a client is touched under the one lock. Nobody blocks while holding it: not in epoll_wait,
/// not in a
///   callback of the user. So a caller that needs no network (a handoff, say) needs no thread but its own.
/// - *Whoever waits drives*: a blocking caller that finds the loop free runs it until its own reply is there:
/// as few
///   thread switches as a plain blocking client.
/// - Otherwise it sleeps, and whoever drives wakes it. The *keeper* thread drives when callers have something
/// under way
///   and none of them drives, or when nothing has happened for a while (renewals, messages). It leaves when
///   the last of several callers is served, so that the next one drives itself.
/// - Callbacks of one client don't run inside one another. One that waits passes those behind it on to the
///   keeper; if it runs on the keeper itself, to a new one, and this thread ends when it has gone through.
///
/// Commands leave in one write per turn: what a turn's handlers and callbacks add is written at its end. A
/// caller beside the driver writes by itself while little is under way; otherwise the driver collects.
///
/// *An allocation may fail anywhere.* Nothing in here needs one but defer() of a single call, and starting
/// the keeper. What handlers, timers and flushes throw ends none of the others: it is noted (torn), and
/// before the lock is free again whoever keeps the state of the client is told, so that it sees what was left
/// undone.
class loop {
 public:
  loop();
  ~loop();
  loop(loop const&) = delete;
  loop& operator=(loop const&) = delete;

  [[nodiscard]] boost::asio::io_context& io() noexcept { return *io_; }
  [[nodiscard]] std::mutex& mutex() noexcept { return mutex_; }

  // All of the following are called with the lock held; those that take it as an argument may let go of it
  // for a while.

  /// Before the first thing is begun that may have to go on when nobody waits: once there is a keeper nothing
  /// needs a thread any more that may not be had. Throws std::system_error.
  void start_keeper();

  /// Lets go of the lock, and blocks until finish(one) was called, driving the loop if nobody else does.
  void wait(lock& hold, blocked_thread& one) noexcept;

  /// Lets a waiting thread go.
  void wake(blocked_thread& one) noexcept;

  using calls = std::list<callback<void()>>;
  /// Runs f later, without the lock: on this thread at the end of its turn or call. For all that belongs to
  /// the user. Throws std::bad_alloc, and then it's as if it hadn't been called.
  void defer(callback<void()> f);
  /// The same for calls that were made ready before.
  void defer(calls&& ready) noexcept { deferred_.splice(deferred_.end(), ready); }

  /// At the end of a call that doesn't wait: gets bytes on their way, lets go of the lock, wakes whom it
  /// finished, and runs what was deferred.
  void leave(lock& hold) noexcept;

  void mark_dirty(flushable& one) noexcept;
  /// One that is told of lost handlers.
  void remember(flushable& one) noexcept { known_.push_back(one); }
  void forget(flushable& one) noexcept;

  void arm(timer& one, time_point when) noexcept { timers_.arm(one, when); }

  /// Called under the lock, before that is free again, when something was thrown at a place where nobody
  /// could be told: what was to be done there is not done, or half. Doesn't throw, and asks for no memory.
  void on_out_of_memory(callback<void()> f) noexcept { on_torn_ = std::move(f); }
  /// That is so.
  void torn() noexcept { torn_ = true; }
  /// Calls that function if it is.
  void mend() noexcept;

  /// Called, without the lock, with what a deferred function threw.
  void on_exception(std::function<void(std::string const& what)> f) { on_exception_ = std::move(f); }

  /// Counts what is under way without a thread that waits for it: somebody has to drive while there is any.
  void add_interest(int n) noexcept { interest_ += n; }

  /// Ends the keeper, waiting for it and for those that were it before. Afterwards only wait() drives. False:
  /// some thread is inside a callback still, and the loop has to outlive it. Such are not waited for when
  /// this thread is one of them, or the process is `exiting`, where they may wait for what doesn't come any
  /// more.
  bool stop(lock& hold, bool exiting = false) noexcept;

  /// Asked without any lock by a thread that is about to wait for what a callback may have to bring, such as
  /// a lease that another one has got: if it is inside callbacks itself, those that stand behind are another
  /// thread's from now on. False: there is no thread for them, so it might wait for ever.
  [[nodiscard]] static bool may_wait() noexcept;

 private:
  struct callbacks;  ///< what a thread runs of them at the moment
  using flushables = boost::intrusive::list<flushable, boost::intrusive::constant_time_size<false>>;
  using known_flushables = boost::intrusive::list<
      flushable, boost::intrusive::member_hook<flushable, decltype(flushable::known_), &flushable::known_>,
      boost::intrusive::constant_time_size<false>>;

  void turn(lock& hold) noexcept;
  [[nodiscard]] bool run_handlers() noexcept;
  void unlock(lock& hold) noexcept;
  void flush_all(bool driving) noexcept;
  void run_deferred(lock& hold) noexcept;
  void run(callback<void()>& one) noexcept;
  void complain(char const* what) noexcept;
  [[nodiscard]] bool in_callbacks() const noexcept;
  [[nodiscard]] bool pass_on(callbacks& rest) noexcept;
  [[nodiscard]] bool relieve() noexcept;
  void leave_to_keeper() noexcept;
  void let_go() noexcept;
  void keep() noexcept;
  [[nodiscard]] bool is_keeper() const noexcept { return std::this_thread::get_id() == keeper_.get_id(); }
  void wake_keeper() noexcept;
  void interrupt() noexcept;
  [[nodiscard]] bool need_keeper() const noexcept;

  room_for_one room_of_timers_;
  room_for_one room_of_interrupt_;
  std::unique_ptr<boost::asio::io_context> io_;
  std::mutex mutex_;
  timers timers_;

  bool polling_ = false;      ///< somebody drives
  std::thread::id driver_{};  ///< who
  blocked_thread const* driver_waits_ = nullptr;
  bool interrupted_ = false;                   ///< the driver was told to come back
  std::atomic<bool> interrupt_posted_{false};  ///< and hasn't heard it yet
  bool torn_ = false;
  callback<void()> on_torn_;
  int parked_ = 0;            ///< threads asleep in wait()
  std::uint64_t served_ = 0;  ///< how many of them have been finished
  int interest_ = 0;
  std::uint64_t drives_ = 0;  ///< how often a caller drove
  std::function<void(std::string const&)> on_exception_;
  flushables dirty_;
  known_flushables known_;
  calls deferred_;
  calls spare_;  ///< empty ones, to be used again
  /// Threads that are finished and asleep: woken when the lock is free again.
  blocked_thread* woken_first_ = nullptr;
  blocked_thread* woken_last_ = nullptr;

  std::thread keeper_;
  int relieved_ = 0;  ///< threads that were the keeper, and wait in a callback
  std::condition_variable keeper_cv_;
  bool keeper_wanted_ = false;
  bool passed_on_ = false;  ///< it is to run what is deferred
  bool stopping_ = false;
  time_point keeper_back_ = time_point::max();  ///< when a keeper that sleeps looks again
};

/// The lock, for a handler of Asio's. What went wrong under it is mended before others get it.
class handling {
 public:
  explicit handling(loop& on) : on_{on}, hold_{on.mutex()} {}
  ~handling() { on_.mend(); }
  handling(handling const&) = delete;
  handling& operator=(handling const&) = delete;

 private:
  loop& on_;
  std::lock_guard<std::mutex> hold_;
};

}  // namespace holdfast::reactor
