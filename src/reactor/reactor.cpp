#include "reactor/reactor.hpp"

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <cstdlib>
#include <exception>
#include <utility>

#include "base/fork.hpp"
#include "base/quiet_thread.hpp"
#include "reactor/futex.hpp"

namespace holdfast::reactor {
namespace {

/// How soon the keeper looks again after callers have been driving, and how far that grows while they go on.
/// Whoever stops driving wakes it when something is due before that.
constexpr std::chrono::milliseconds shortest_nap{2};
constexpr std::chrono::milliseconds longest_nap{64};

/// So many callbacks of one client may wait at a time, each on a thread that was its keeper.
constexpr int most_relieved = 32;

/// So many calls can be deferred without asking for memory, once there have been as many.
constexpr std::size_t most_spare = 64;

}  // namespace

/// Of a thread; one for each client whose callbacks it is inside of.
struct loop::callbacks {
  loop& of;
  callbacks* outer;
  int const generation = fork_generation();
  calls batch{};  ///< behind the one that runs

  /// This process was forked inside of them: they are copies of its parent's, as is their client.
  [[nodiscard]] bool of_parent() const noexcept { return generation != fork_generation(); }

  static constinit thread_local callbacks* innermost;
};

constinit thread_local loop::callbacks* loop::callbacks::innermost = nullptr;

loop::loop() : io_{std::make_unique<boost::asio::io_context>(1)}, timers_{*this, room_of_timers_} {
  io_->get_executor().on_work_started();  // so that run_one() waits also when nobody has asked for anything
}

loop::~loop() {
  lock hold{mutex_};
  stop(hold);
  timers_.close();
}

void loop::wait(lock& hold, blocked_thread& one) noexcept {
  run_deferred(hold);
  while (one.done_.load(std::memory_order_relaxed) == 0) {
    if (polling_) {
      flush_all(false);
      one.asleep_ = true;
      ++parked_;
      unlock(hold);
      while (one.done_.load(std::memory_order_acquire) == 0) futex_wait(one.done_, 0);
      return;  // without the lock: whoever woke us has it, or somebody who is faster
    }
    polling_ = true;
    driver_ = std::this_thread::get_id();
    driver_waits_ = &one;
    ++drives_;
    turn(hold);
    let_go();
    run_deferred(hold);
  }
  leave(hold);
}

void loop::wake(blocked_thread& one) noexcept {
  if (std::exchange(one.finished_, true)) return;
  if (!one.asleep_) {
    if (driver_waits_ == &one && driver_ != std::this_thread::get_id()) interrupt();
    one.done_.store(1, std::memory_order_release);
    return;
  }
  one.asleep_ = false;
  --parked_;
  ++served_;
  (woken_last_ == nullptr ? woken_first_ : woken_last_->woken_next_) = &one;
  woken_last_ = &one;
}

/// Threads are woken when the lock is free: woken before, they would only run into it. Each is in the list
/// for as long as it sleeps, and gone once it is told.
void loop::unlock(lock& hold) noexcept {
  mend();
  auto* next = std::exchange(woken_first_, nullptr);
  woken_last_ = nullptr;
  hold.unlock();
  while (next != nullptr) {
    auto& done = next->done_;
    next = next->woken_next_;
    done.store(1, std::memory_order_release);
    futex_wake(&done);
  }
}

void loop::mend() noexcept {
  if (std::exchange(torn_, false) && on_torn_) on_torn_();
}

void loop::defer(callback<void()> f) {
  if (spare_.empty()) {
    deferred_.push_back(std::move(f));
    return;
  }
  spare_.front() = std::move(f);
  deferred_.splice(deferred_.end(), spare_, spare_.begin());
}

void loop::leave(lock& hold) noexcept {
  auto const inside_callback = in_callbacks();
  // Inside one, bytes are collected for the end of all callbacks; but others may have gone to sleep
  // meanwhile.
  if (!inside_callback) flush_all(false);
  auto const by_keeper = inside_callback && is_keeper();
  if (!polling_ && !by_keeper && need_keeper()) wake_keeper();
  run_deferred(hold);
  unlock(hold);
}

void loop::mark_dirty(flushable& one) noexcept {
  if (!one.is_linked()) dirty_.push_back(one);
}

void loop::forget(flushable& one) noexcept {
  one.unlink();
  one.known_.unlink();
}

bool loop::stop(lock& hold, bool exiting) noexcept {
  stopping_ = true;
  if (!keeper_.joinable()) return true;
  keeper_cv_.notify_one();
  interrupt();
  auto const inside_callback = in_callbacks();
  if (inside_callback && is_keeper()) {
    keeper_.detach();
    ++relieved_;
  } else {
    unlock(hold);
    keeper_.join();
    hold.lock();
  }
  if (!inside_callback && !exiting) keeper_cv_.wait(hold, [this] { return relieved_ == 0; });
  return !inside_callback && relieved_ == 0;
}

/// Blocks until something happens and handles all that did.
void loop::turn(lock& hold) noexcept {
  flush_all(true);
  interrupted_ = false;
  unlock(hold);
  auto const all_ran = run_handlers();
  hold.lock();
  if (!all_ran) {
    for (auto& one : known_) one.on_lost_handler();
    torn();
  }
  flush_all(true);
  mend();
}

/// False: something was thrown on the way.
bool loop::run_handlers() noexcept {
  auto fine = true;
  try {
    io_->run_one();
  } catch (std::exception const&) {
    fine = false;
  }
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
  flushables now;
  now.swap(dirty_);
  while (!now.empty()) {
    auto& one = now.front();
    now.pop_front();
    try {
      if (!one.flush(driving)) mark_dirty(one);
    } catch (std::exception const&) {
      torn();
    }
  }
  if (!dirty_.empty() && polling_ && !driving) interrupt();
}

void loop::run_deferred(lock& hold) noexcept {
  if (deferred_.empty() || in_callbacks()) return;
  callbacks mine{.of = *this, .outer = callbacks::innermost};
  callbacks::innermost = &mine;
  while (!deferred_.empty()) {
    mine.batch.splice(mine.batch.end(), deferred_);
    unlock(hold);
    calls used;
    while (!mine.batch.empty()) {
      used.splice(used.begin(), mine.batch, mine.batch.begin());
      run(used.front());
      if (mine.of_parent()) std::abort();  // all that would follow is the parent's
      used.front().reset();                // what it holds goes without the lock, too
      if (used.size() > most_spare) used.pop_front();
    }
    hold.lock();
    if (spare_.size() + used.size() <= most_spare) spare_.splice(spare_.end(), used);
  }
  callbacks::innermost = mine.outer;
  flush_all(false);
}

void loop::run(callback<void()>& one) noexcept {
  try {
    one();
  } catch (std::exception const& thrown) {
    complain(thrown.what());
  } catch (...) {
    complain("something that is no std::exception");
  }
}

void loop::complain(char const* what) noexcept {
  try {
    if (on_exception_) on_exception_(what);
  } catch (std::exception const&) {
    return;  // there is no memory for it, perhaps, and nobody else to be told
  }
}

/// Of this client, perhaps with callbacks of others inside them.
bool loop::in_callbacks() const noexcept {
  for (auto const* one = callbacks::innermost; one != nullptr; one = one->outer) {
    if (&one->of == this) return true;
  }
  return false;
}

bool loop::may_wait() noexcept {
  for (auto* one = callbacks::innermost; one != nullptr; one = one->outer) {
    if (!one->of_parent() && !one->of.pass_on(*one)) return false;
  }
  return true;
}

bool loop::pass_on(callbacks& rest) noexcept {
  lock const hold{mutex_};
  deferred_.splice(deferred_.begin(), rest.batch);
  if (stopping_) return true;  // nothing is waited for any more
  if (is_keeper() && !relieve()) return false;
  leave_to_keeper();
  return true;
}

/// Makes another thread the keeper in place of this one.
bool loop::relieve() noexcept {
  if (relieved_ == most_relieved) return false;
  try {
    auto next = start_quiet_thread([this] { keep(); });
    keeper_.swap(next);
    next.detach();
  } catch (std::exception const&) {
    return false;
  }
  ++relieved_;
  return true;
}

/// What is deferred, since this thread waits in a callback and can't run it.
void loop::leave_to_keeper() noexcept {
  if (deferred_.empty()) return;
  passed_on_ = true;
  if (polling_) {
    interrupt();  // whoever drives comes back and runs them
  } else {
    wake_keeper();
  }
}

void loop::let_go() noexcept {
  polling_ = false;
  driver_ = {};
  driver_waits_ = nullptr;
  if (in_callbacks()) {
    leave_to_keeper();
  } else if (!deferred_.empty() && !is_keeper() && need_keeper()) {
    wake_keeper();  // callbacks may take their time: let somebody else drive meanwhile
  }
}

bool loop::need_keeper() const noexcept {
  return parked_ > 0 || interest_ > 0 || !dirty_.empty() || timers_.earliest() < keeper_back_;
}

void loop::start_keeper() {
  if (stopping_ || keeper_.joinable()) return;
  keeper_ = start_quiet_thread([this] { keep(); });
}

void loop::wake_keeper() noexcept {
  if (stopping_ || keeper_wanted_) return;
  keeper_wanted_ = true;
  keeper_cv_.notify_one();
}

void loop::interrupt() noexcept {
  if (interrupted_) return;
  interrupted_ = true;
  // One that the driver hasn't come to yet brings it back, too; and there is room for one.
  if (interrupt_posted_.exchange(true)) return;
  boost::asio::post(*io_, in_room{&room_of_interrupt_, [this] { interrupt_posted_ = false; }});
}

void loop::keep() noexcept {
  lock hold{mutex_};
  auto nap = shortest_nap;
  while (!stopping_ && is_keeper()) {
    auto const before = drives_;
    keeper_back_ = boot_clock::now() + nap;
    if (woken_first_ != nullptr) {
      unlock(hold);
      hold.lock();
    }
    keeper_cv_.wait_for(hold, nap, [this] { return keeper_wanted_ || stopping_; });
    keeper_back_ = time_point::max();
    if (std::exchange(passed_on_, false)) run_deferred(hold);
    if (!is_keeper()) break;
    if (polling_ || (!keeper_wanted_ && drives_ != before)) {  // stay out of the callers' way
      keeper_wanted_ = false;
      nap = std::min(nap * 2, longest_nap);
      continue;
    }
    nap = shortest_nap;
    auto served_alone = false;
    while (!stopping_ && !polling_ && !served_alone && is_keeper()) {
      polling_ = true;
      driver_ = std::this_thread::get_id();
      auto const served = served_;
      turn(hold);
      // The last caller was served, perhaps one that came during this turn: the next one had better drive
      // itself.
      served_alone = served_ != served && parked_ == 0 && interest_ == 0;
      let_go();
      run_deferred(hold);
    }
    if (is_keeper()) keeper_wanted_ = false;
  }
  if (is_keeper()) return;
  --relieved_;
  keeper_cv_.notify_all();
}

}  // namespace holdfast::reactor
