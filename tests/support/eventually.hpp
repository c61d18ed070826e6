/// Waiting for a condition with a deadline: what tests do instead of sleeping.
#pragma once

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

namespace holdfast::test {

using namespace std::chrono_literals;

/// How long a test waits for what must come. Any thread may be stopped for seconds on a busy machine, so only
/// what hangs takes longer than this. It is less than a ttl or a re-check of 30 s: what comes by itself then
/// doesn't pass for what somebody had to tell.
inline constexpr std::chrono::seconds bound_of_waits{20};

/// Asks `predicate` again and again until it is true or `time` has passed; answers what it said last. For
/// what decides how a test goes on, and not whether it passes: that is eventually().
template <class Predicate>
[[nodiscard]] bool came_within(std::chrono::nanoseconds time, Predicate predicate) {
  auto const deadline = std::chrono::steady_clock::now() + time;
  for (auto pause = std::chrono::microseconds{200};;) {
    if (predicate()) return true;
    if (std::chrono::steady_clock::now() >= deadline) return predicate();
    std::this_thread::sleep_for(pause);
    if (pause < 5ms) pause *= 2;
  }
}

/// Waits for what must come: false when it hangs.
template <class Predicate>
[[nodiscard]] bool eventually(Predicate predicate) {
  return came_within(bound_of_waits, std::move(predicate));
}

/// The same for what takes long on an idle machine already. A shorter time than that of all waits is none.
template <class Predicate>
[[nodiscard]] bool eventually(std::chrono::nanoseconds at_most, Predicate predicate) {
  return came_within(std::max<std::chrono::nanoseconds>(at_most, bound_of_waits), std::move(predicate));
}

/// Watches `predicate` for as long as `time`: true when it was never false. For what must not happen, however
/// long the time turns out to be.
template <class Predicate>
[[nodiscard]] bool always(std::chrono::nanoseconds time, Predicate predicate) {
  return !came_within(time, [&] { return !predicate(); });
}

}  // namespace holdfast::test
