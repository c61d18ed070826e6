/// Waiting for a condition with a deadline, which tests use instead of sleeping.
#pragma once

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

namespace holdfast::test {

using namespace std::chrono_literals;

/// How long a test waits for an event that must come. A busy machine may suspend any thread for seconds, so
/// only a hang takes longer than this. It is less than a ttl or a re-check of 30 s: an event that either of
/// these causes isn't taken for the effect of a message.
inline constexpr std::chrono::seconds wait_limit{20};

/// Evaluates `predicate` repeatedly until it is true or `time` has passed; returns its last value. For
/// conditions that decide how a test continues; eventually() is for those that decide whether it passes.
template <class Predicate>
[[nodiscard]] bool true_within(std::chrono::nanoseconds time, Predicate predicate) {
  auto const deadline = std::chrono::steady_clock::now() + time;
  for (auto pause = std::chrono::microseconds{200};;) {
    if (predicate()) return true;
    if (std::chrono::steady_clock::now() >= deadline) return predicate();
    std::this_thread::sleep_for(pause);
    if (pause < 5ms) pause *= 2;
  }
}

/// Waits for a condition that must come true; false when it hangs.
template <class Predicate>
[[nodiscard]] bool eventually(Predicate predicate) {
  return true_within(wait_limit, std::move(predicate));
}

/// The same for conditions that take long even on an idle machine. `at_most` has no effect below
/// wait_limit.
template <class Predicate>
[[nodiscard]] bool eventually(std::chrono::nanoseconds at_most, Predicate predicate) {
  return true_within(std::max<std::chrono::nanoseconds>(at_most, wait_limit), std::move(predicate));
}

/// Evaluates `predicate` for at least `time`: true if it was never false. For events that must not happen,
/// however long the check takes.
template <class Predicate>
[[nodiscard]] bool always(std::chrono::nanoseconds time, Predicate predicate) {
  return !true_within(time, [&] { return !predicate(); });
}

}  // namespace holdfast::test
