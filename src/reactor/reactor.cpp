#include "reactor/reactor.hpp"

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <cstdlib>
#include <exception>
#include <utility>

#include "base/fork.hpp"
#include "reactor/futex.hpp"

namespace holdfast::reactor {
namespace {

using complaint = std::function<void(std::string const& text)>;

void complain(complaint const& hook, char const* text) noexcept {
  try {
    if (hook) hook(text);
  } catch (...) {
    return;  // there is nowhere else to report it
  }
}

void call(callback<void()>& function, complaint const& hook) noexcept {
  try {
    function();
  } catch (std::exception const& thrown) {
    complain(hook, thrown.what());
  } catch (...) {
    complain(hook, "something that is not a std::exception");
  }
}

/// Few enough that the server has work while a long batch runs, and so many that a write is worth it.
constexpr std::size_t callbacks_between_writes = 64;

}  // namespace

/// The callbacks that a thread is inside of: one object for each client, linked from the innermost outwards.
struct loop::callbacks {
  loop& owner;
  callbacks* outer;
  int const generation = fork_generation();
  calls batch{};  ///< behind the callback that runs

  /// True if this process was forked inside of them: they are copies of its parent's, as is their client.
  [[nodiscard]] bool of_parent() const noexcept { return generation != fork_generation(); }

  static constinit thread_local callbacks* innermost;
};

constinit thread_local loop::callbacks* loop::callbacks::innermost = nullptr;

loop::loop(std::shared_ptr<event_loop> outer)
    : io_{std::make_unique<boost::asio::io_context>(1)},
      timers_{*io_, room_of_timers_,
              [this] {
                handling const hold{*this};
                if (!timers_.on_readable()) note_out_of_memory();
              }},
      outer_{std::move(outer)} {
  io_->get_executor().on_work_started();  // so that run_one() also waits when no operation is pending
  enlist();
}

loop::~loop() {
  strike_off();
  lock hold{mutex_};
  stop(hold);
  timers_.close();
}

void loop::wait(lock& hold, blocked_thread& thread) noexcept {
  if (!deferred_.empty() && !in_callbacks()) flush_all(false);  // the request needn't wait for callbacks
  run_deferred(hold);
  while (thread.done_.load(std::memory_order_relaxed) == 0) {
    if (polling_ && is_keeper()) {
      // Inside a callback: nobody but this thread takes over when the driver leaves.
      flush_all(false);
      unlock(hold);  // wakes the threads whose wait has ended
      hold.lock();
      keeper_waits_ = &thread;
      keeper_cv_.wait(hold, [&] { return thread.done_.load(std::memory_order_relaxed) != 0 || !polling_; });
      keeper_waits_ = nullptr;
      continue;
    }
    if (polling_) {
      flush_all(false);
      thread.asleep_ = true;
      ++parked_;
      if (outer_) sleepers_.push_back(thread);
      unlock(hold);
      while (thread.done_.load(std::memory_order_acquire) == 0) futex_wait(thread.done_, 0);
      if (!thread.relieves_) return;  // without the lock: another thread may hold it
      hold.lock();
      relief_ = thread.relieves_ = false;
      if (!thread.finished_) thread.done_.store(0, std::memory_order_relaxed);
      continue;
    }
    polling_ = true;
    driver_ = std::this_thread::get_id();
    driver_waits_ = &thread;
    ++drives_;
    turn(hold);
    let_go();
    run_deferred(hold);
  }
  leave(hold);
}

void loop::wake(blocked_thread& thread) noexcept {
  if (std::exchange(thread.finished_, true)) return;
  if (!thread.asleep_) {
    if (driver_waits_ == &thread && driver_ != std::this_thread::get_id()) interruption_.want(*io_);
    thread.done_.store(1, std::memory_order_release);
    if (keeper_waits_ == &thread) keeper_cv_.notify_all();
    return;
  }
  thread.asleep_ = false;
  thread.unlink();
  --parked_;
  ++served_;
  woken_.add(thread);
}

void loop::unlock(lock& hold) noexcept {
  mend();
  auto* const woken = woken_.take();
  hold.unlock();
  woken_threads::wake(woken);
}

void loop::mend() noexcept {
  if (std::exchange(out_of_memory_, false) && on_out_of_memory_) on_out_of_memory_();
}

void loop::leave(lock& hold) noexcept {
  auto const inside_callback = in_callbacks();
  // Inside a callback, bytes are collected until the end of all callbacks; but other threads may have gone to
  // sleep meanwhile.
  if (!inside_callback) flush_all(false);
  auto const by_keeper = inside_callback && is_keeper();
  if (!outer_ && !polling_ && !by_keeper && need_keeper()) wake_keeper();
  run_deferred(hold);
  // Who runs the callbacks asks at their end, which may be long after this.
  if (outer_ && (!inside_callback || !watched_ || !sleepers_.empty())) ask_for_visit();
  unlock(hold);
}

/// Blocks until an event occurs, and handles all events that have occurred, or those up to the driver's own
/// reply.
void loop::turn(lock& hold) noexcept {
  flush_all(true);
  interruption_.begin_turn();
  begun_ = false;
  unlock(hold);
  auto const all_ran = run_handlers();
  // On a busy processor this thread ran as soon as it was told, ahead of all other callers that are about to
  // send: they go first, and all leaves in one write.
  if (interruption_.take_told()) std::this_thread::yield();
  hold.lock();
  if (!all_ran) {
    writers_.on_lost_handler();
    note_out_of_memory();
  }
  // A caller that has its reply may leave handlers behind that have been taken from the descriptor.
  if (driver_waits_ != nullptr && driver_waits_->finished_) begun_ = true;
  flush_all(true);
  mend();
}

/// False: a handler threw.
bool loop::run_handlers() noexcept {
  if (simulated_step_) {
    simulated_step_();
    return true;
  }
  auto fine = true;
  if (driver_waits_ != nullptr || !outer_) {  // a visit doesn't wait
    try {
      io_->run_one();
    } catch (std::exception const&) {
      fine = false;
    }
  }
  // A caller that has its reply goes; whoever drives next finds what else has happened.
  if (driver_waits_ != nullptr && driver_waits_->done_.load(std::memory_order_acquire) != 0) return fine;
  for (;;) {
    try {
      io_->poll();
      return fine;
    } catch (std::exception const&) {
      fine = false;
    }
  }
}

void loop::flush_all(bool driving) noexcept {
  if (!writers_.flush(driving)) note_out_of_memory();
  if (!writers_.empty() && polling_ && !driving) interruption_.want(*io_);
}

void loop::run_deferred(lock& hold) noexcept {
  if (deferred_.empty() || in_callbacks()) return;
  callbacks running{.owner = *this, .outer = callbacks::innermost};
  callbacks::innermost = &running;
  ++calling_;
  std::size_t called = 0;
  while (!deferred_.empty()) {
    deferred_.move_to(running.batch);
    unlock(hold);
    calls used;
    while (!running.batch.empty()) {
      used.splice(used.begin(), running.batch, running.batch.begin());
      call(used.front(), on_exception_);
      if (running.of_parent()) std::abort();  // everything that would follow belongs to the parent
      used.front().reset();                   // destroys its captures without the lock, too
      deferred_calls::limit(used);
      if (++called % callbacks_between_writes != 0) continue;
      hold.lock();
      flush_all(!polling_);  // while nobody runs the loop it is this thread's
      unlock(hold);
    }
    hold.lock();
    deferred_.reuse(used);
  }
  callbacks::innermost = running.outer;
  --calling_;
  flush_all(false);
}

/// True inside callbacks of this client, perhaps with callbacks of other clients inside them.
bool loop::in_callbacks() const noexcept {
  for (auto const* level = callbacks::innermost; level != nullptr; level = level->outer) {
    if (&level->owner == this) return true;
  }
  return false;
}

bool inside_callback() noexcept { return loop::callbacks::innermost != nullptr; }

bool may_wait() noexcept {
  for (auto* level = loop::callbacks::innermost; level != nullptr; level = level->outer) {
    if (!level->of_parent() && !level->owner.pass_on(*level)) return false;
  }
  return true;
}

bool loop::pass_on(callbacks& rest) noexcept {
  lock const hold{mutex_};
  if (outer_ && !stopping_) return false;
  deferred_.put_first(rest.batch);
  if (stopping_) return true;  // waits end at once now
  if (is_keeper() && !relieve()) return false;
  leave_to_keeper();
  return true;
}

/// Hands the deferred functions on, since this thread waits in a callback and can't run them.
void loop::leave_to_keeper() noexcept {
  if (deferred_.empty()) return;
  passed_on_ = true;
  if (polling_) {
    interruption_.want(*io_);  // the driver returns from Asio and runs them
  } else {
    wake_keeper();
  }
}

void loop::let_go() noexcept {
  auto const visit = outer_ && driver_waits_ == nullptr;  // it watches by itself
  polling_ = false;
  driver_ = {};
  driver_waits_ = nullptr;
  if (keeper_waits_ != nullptr || stopping_) keeper_cv_.notify_all();
  if (in_callbacks()) {
    if (!visit) leave_to_keeper();
  } else if (!deferred_.empty() && !visit && !is_keeper() && need_keeper()) {
    wake_keeper();  // callbacks may take long: another thread drives meanwhile
  }
}

}  // namespace holdfast::reactor
