/// The keeper: the thread of a client that drives its loop when no caller does.
#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

#include "base/quiet_thread.hpp"
#include "reactor/reactor.hpp"

namespace holdfast::reactor {
namespace {

/// The keeper's interval between checks after callers have been driving, and the limit to which it grows
/// while they go on. A thread that stops driving wakes the keeper when a timer is due earlier.
constexpr std::chrono::milliseconds shortest_nap{2};
constexpr std::chrono::milliseconds longest_nap{64};

/// The limit on callbacks of one client that wait at a time, each on a former keeper.
constexpr int most_relieved = 32;

}  // namespace

bool loop::stop(lock& hold, bool exiting) noexcept {
  stopping_ = true;
  if (outer_) return end_visits(hold, exiting);
  if (!keeper_.joinable()) return true;
  keeper_cv_.notify_one();
  interruption_.want(*io_);
  auto const inside_callback = in_callbacks();
  if (inside_callback && is_keeper()) {
    keeper_.detach();
    ++relieved_;
  } else {
    unlock(hold);
    keeper_.join();
    hold.lock();
  }
  // Their callbacks may wait for a release, say, so somebody has to drive.
  while (!inside_callback && !exiting && relieved_ != 0) {
    if (polling_) {
      keeper_cv_.wait(hold, [this] { return relieved_ == 0 || !polling_; });
      continue;
    }
    polling_ = true;
    driver_ = std::this_thread::get_id();
    turn(hold);
    let_go();
    run_deferred(hold);
  }
  return !inside_callback && relieved_ == 0;
}

/// Makes another thread the keeper in place of this one.
bool loop::relieve() noexcept {
  if (relieved_ == most_relieved) return false;
  try {
    auto next = start_quiet_thread([this] { run_keeper(); });
    keeper_.swap(next);
    next.detach();
  } catch (std::exception const&) {
    return false;
  }
  ++relieved_;
  return true;
}

bool loop::need_keeper() const noexcept {
  return outer_ || parked_ > 0 || interest_ > 0 || !writers_.empty() || timers_.earliest() < keeper_back_;
}

void loop::start_keeper() {
  if (stopping_ || simulated_step_ || keeper_.joinable()) return;
  if (outer_) return join_outer();
  keeper_ = start_quiet_thread([this] { run_keeper(); });
}

void loop::wake_keeper() noexcept {
  if (outer_) return ask_for_visit();
  if (stopping_ || keeper_wanted_) return;
  keeper_wanted_ = true;
  keeper_cv_.notify_one();
}

void loop::run_keeper() noexcept {
  lock hold{mutex_};
  auto nap = shortest_nap;
  while (!stopping_ && is_keeper()) {
    auto const before = drives_;
    keeper_back_ = boot_clock::now() + nap;
    if (!woken_.empty()) {
      unlock(hold);
      hold.lock();
    }
    keeper_cv_.wait_for(hold, nap, [this] { return keeper_wanted_ || stopping_; });
    keeper_back_ = time_point::max();
    if (std::exchange(passed_on_, false)) run_deferred(hold);
    if (!is_keeper()) break;
    if (polling_ || (!keeper_wanted_ && drives_ != before)) {  // leave driving to the callers
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
      // The last caller was served, perhaps one that came during this turn: the next caller should drive
      // itself.
      served_alone = served_ != served && parked_ == 0 && interest_ == 0;
      let_go();
      run_deferred(hold);
    }
    if (is_keeper()) keeper_wanted_ = false;
  }
  if (is_keeper()) return;
  --relieved_;
  interruption_.want(*io_);
  keeper_cv_.notify_all();
}

}  // namespace holdfast::reactor
