// The clock that a test moves.

#include <algorithm>
#include <holdfast/testing.hpp>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "base/clock.hpp"
#include "memory/activity.hpp"
#include "reactor/moved_clock.hpp"

namespace holdfast::memory {
namespace {

using reactor::loop;
using reactor::moved_clock;

constexpr std::chrono::seconds longest_unrest{10};
constexpr std::chrono::microseconds between_looks{50};
constexpr std::chrono::years furthest{100};

/// One thread at a time moves the clock.
std::mutex& mover() noexcept {
  static std::mutex guard;
  return guard;
}

void set(std::chrono::nanoseconds time) {
  boot_clock::stand_in.store(time.count());
  moved_clock::for_each([](loop& each) { moved_clock::look(each); });
}

/// Nothing was on its way, and nobody has begun anything while all were looked at.
bool all_settled() {
  auto const begun = activity::begun();
  auto settled = true;
  moved_clock::for_each([&](loop& each) { settled = settled && moved_clock::settled(each); });
  return settled && !activity::any() && activity::begun() == begun;
}

void await_rest() {
  auto const end = std::chrono::steady_clock::now() + longest_unrest;
  while (!all_settled()) {
    if (std::chrono::steady_clock::now() >= end) {
      throw std::runtime_error{
          "manual_clock: a client has had something to do for ten seconds: a callback that doesn't return, "
          "or one that moves the clock"};
    }
    std::this_thread::sleep_for(between_looks);
  }
}

time_point next_event() {
  auto next = time_point::max();
  moved_clock::for_each([&](loop& each) { next = std::min(next, moved_clock::next_timer(each)); });
  return next;
}

}  // namespace

manual_clock::manual_clock() : begun_{boot_clock::now().time_since_epoch()} {
  std::int64_t none = 0;
  if (!boot_clock::stand_in.compare_exchange_strong(none, begun_.count()))
    throw std::logic_error{"manual_clock: there is one in this process already"};
  set(begun_);
}

manual_clock::~manual_clock() { set({}); }

void manual_clock::check(std::chrono::duration<double> by) const {
  if (by >= std::chrono::seconds{0} && by + elapsed() <= furthest) return;
  throw std::invalid_argument{"manual_clock: it moves forward, and by a century at most"};
}

void manual_clock::advance_by(std::chrono::nanoseconds by) {
  std::lock_guard const alone{mover()};
  auto const end = boot_clock::now() + by;
  await_rest();
  for (auto next = next_event(); next <= end; next = next_event()) {
    set(std::max(next, boot_clock::now()).time_since_epoch());
    await_rest();
  }
  set(end.time_since_epoch());
}

std::chrono::nanoseconds manual_clock::elapsed() const noexcept {
  return boot_clock::now().time_since_epoch() - begun_;
}

}  // namespace holdfast::memory
