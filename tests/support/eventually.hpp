/// Waiting for a condition with a deadline: what tests do instead of sleeping.
#pragma once

#include <chrono>
#include <thread>

namespace holdfast::test {

using namespace std::chrono_literals;

/// Asks `predicate` again and again until it is true or `within` has passed; answers what it said last.
template <class Predicate>
[[nodiscard]] bool eventually(std::chrono::nanoseconds within, Predicate predicate) {
  auto const deadline = std::chrono::steady_clock::now() + within;
  for (auto pause = std::chrono::microseconds{200};;) {
    if (predicate()) return true;
    if (std::chrono::steady_clock::now() >= deadline) return predicate();
    std::this_thread::sleep_for(pause);
    if (pause < 5ms) pause *= 2;
  }
}

/// Watches `predicate` for as long as `time`: true when it was never false.
template <class Predicate>
[[nodiscard]] bool always(std::chrono::nanoseconds time, Predicate predicate) {
  return !eventually(time, [&] { return !predicate(); });
}

}  // namespace holdfast::test
