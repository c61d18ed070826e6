#include "reactor/reactor.hpp"

#include <algorithm>
#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <cstdlib>
#include <iterator>
#include <system_error>
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

}  // namespace

/// Of a thread; one for each client whose callbacks it is inside of.
struct loop::callbacks {
  loop& of;
  callbacks* outer;
  int const generation = fork_generation();
  std::vector<callback<void()>> batch{};
  std::size_t next = 0;  ///< behind the one that runs

  /// This process was forked inside of them: they are copies of its parent's, as is their client.
  [[nodiscard]] bool of_parent() const noexcept { return generation != fork_generation(); }

  static constinit thread_local callbacks* innermost;
};

constinit thread_local loop::callbacks* loop::callbacks::innermost = nullptr;

loop::loop() : io_{std::make_unique<boost::asio::io_context>(1)}, timers_{*io_, mutex_} {
  io_->get_executor().on_work_started();  // so that run_one() waits also when nobody has asked for anything
}

loop::~loop() {
  lock hold{mutex_};
  stop(hold);
  timers_.close();
}

void loop::wait(lock& hold, parked& one) {
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

void loop::finish(parked& one) {
  if (one.asleep_) {
    one.asleep_ = false;
    --parked_;
    ++served_;
    wakes_.push_back(&one.done_);
  } else if (driver_waits_ == &one && driver_ != std::this_thread::get_id()) {
    interrupt();
  }
  one.done_.store(1, std::memory_order_release);
}

/// Threads are woken when the lock is free: woken before, they would only run into it.
void loop::unlock(lock& hold) {
  if (wakes_.empty()) {
    hold.unlock();
    return;
  }
  constexpr std::size_t few = 8;
  if (wakes_.size() <= few) {
    std::array<std::atomic<int>*, few> now{};
    auto const count = wakes_.size();
    std::copy(wakes_.begin(), wakes_.end(), now.begin());
    wakes_.clear();
    hold.unlock();
    for (std::size_t i = 0; i != count; ++i) futex_wake(now[i]);
    return;
  }
  std::vector<std::atomic<int>*> now;
  now.swap(wakes_);
  hold.unlock();
  for (auto* const one : now) futex_wake(one);
}

void loop::leave(lock& hold) {
  auto const inside_callback = in_callbacks();
  // Inside one, bytes are collected for the end of all callbacks; but others may have gone to sleep
  // meanwhile.
  if (!inside_callback) flush_all(false);
  auto const by_keeper = inside_callback && is_keeper();
  if (!polling_ && !by_keeper && need_keeper()) wake_keeper();
  run_deferred(hold);
  unlock(hold);
}

void loop::mark_dirty(flushable& one) {
  if (one.dirty_) return;
  one.dirty_ = true;
  dirty_.push_back(&one);
}

void loop::forget(flushable& one) noexcept {
  std::erase(dirty_, &one);
  one.dirty_ = false;
}

bool loop::stop(lock& hold, bool exiting) {
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
void loop::turn(lock& hold) {
  flush_all(true);
  interrupted_ = false;
  unlock(hold);
  io_->run_one();
  io_->poll();
  hold.lock();
  flush_all(true);
}

void loop::flush_all(bool driving) {
  std::erase_if(dirty_, [driving](flushable* one) {
    if (!one->flush(driving)) return false;
    one->dirty_ = false;
    return true;
  });
  if (!dirty_.empty() && polling_ && !driving) interrupt();
}

void loop::run_deferred(lock& hold) {
  if (deferred_.empty() || in_callbacks()) return;
  callbacks mine{.of = *this, .outer = callbacks::innermost};
  callbacks::innermost = &mine;
  while (!deferred_.empty()) {
    mine.batch.clear();
    mine.batch.swap(deferred_);
    mine.next = 0;
    unlock(hold);
    while (mine.next != mine.batch.size()) {
      auto& f = mine.batch[mine.next++];
      try {
        f();
      } catch (std::exception const& thrown) {
        if (on_exception_) on_exception_(thrown.what());
      } catch (...) {
        if (on_exception_) on_exception_("something that is no std::exception");
      }
      if (mine.of_parent()) std::abort();  // all that would follow is the parent's
      f.reset();                           // what it holds goes without the lock, too
    }
    hold.lock();
  }
  callbacks::innermost = mine.outer;
  flush_all(false);
}

/// Of this client, perhaps with callbacks of others inside them.
bool loop::in_callbacks() const noexcept {
  for (auto const* one = callbacks::innermost; one != nullptr; one = one->outer) {
    if (&one->of == this) return true;
  }
  return false;
}

bool loop::may_wait() {
  for (auto* one = callbacks::innermost; one != nullptr; one = one->outer) {
    if (!one->of_parent() && !one->of.pass_on(*one)) return false;
  }
  return true;
}

bool loop::pass_on(callbacks& rest) {
  lock const hold{mutex_};
  auto const first = rest.batch.begin() + static_cast<std::ptrdiff_t>(rest.next);
  deferred_.insert(deferred_.begin(), std::make_move_iterator(first),
                   std::make_move_iterator(rest.batch.end()));
  rest.batch.erase(first, rest.batch.end());
  if (stopping_) return true;  // nothing is waited for any more
  if (is_keeper() && !relieve()) return false;
  leave_to_keeper();
  return true;
}

/// Makes another thread the keeper in place of this one.
bool loop::relieve() {
  if (relieved_ == most_relieved) return false;
  try {
    auto next = start_quiet_thread([this] { keep(); });
    keeper_.swap(next);
    next.detach();
  } catch (std::system_error const&) {
    return false;
  }
  ++relieved_;
  return true;
}

/// What is deferred, since this thread waits in a callback and can't run it.
void loop::leave_to_keeper() {
  if (deferred_.empty()) return;
  passed_on_ = true;
  if (polling_) {
    interrupt();  // whoever drives comes back and runs them
  } else {
    wake_keeper();
  }
}

void loop::let_go() {
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

void loop::wake_keeper() {
  if (stopping_ || keeper_wanted_) return;
  keeper_wanted_ = true;
  keeper_cv_.notify_one();
}

void loop::interrupt() {
  if (interrupted_) return;
  interrupted_ = true;
  boost::asio::post(*io_, [] {});
}

void loop::keep() {
  lock hold{mutex_};
  auto nap = shortest_nap;
  while (!stopping_ && is_keeper()) {
    auto const before = drives_;
    keeper_back_ = boot_clock::now() + nap;
    if (!wakes_.empty()) {
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
