/// Promises about time, on a machine that may stop any thread for seconds.
#pragma once

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <chrono>

namespace holdfast::test {

/// What failed in one round of a test; it doesn't fail the test yet.
class round_results {
 public:
  template <class Round>
  explicit round_results(Round& round) {
    using reporter = testing::ScopedFakeTestPartResultReporter;
    reporter const instead{reporter::INTERCEPT_ALL_THREADS, &all_};
    round();
  }

  [[nodiscard]] bool fine() const {
    for (auto i = 0; i < all_.size(); ++i) {
      if (all_.GetTestPartResult(i).failed()) return false;
    }
    return true;
  }
  /// Fails the test.
  void report() const {
    for (auto i = 0; i < all_.size(); ++i) {
      auto const& one = all_.GetTestPartResult(i);
      if (!one.failed()) continue;
      auto const* const file = one.file_name() == nullptr ? __FILE__ : one.file_name();
      ADD_FAILURE_AT(file, one.line_number()) << one.message();
    }
  }

 private:
  testing::TestPartResultArray all_;
};

/// Runs `round` until nothing fails in it, at most so often; what fails in the last one fails the test. For
/// what the product can do only while it runs, such as ending a command before a key expires: a machine that
/// stops it at that moment makes it break its promise, but not in each of several rounds.
template <class Round>
void in_one_round_of(int rounds, Round round) {
  for (auto left = rounds; left > 0; --left) {
    round_results const results{round};
    if (results.fine()) return;
    if (left == 1) results.report();
  }
}

/// For what holds in each round that takes less than `time`: one that fails after longer than that shows
/// nothing, and is repeated.
template <class Round>
void unless_it_takes(std::chrono::nanoseconds time, Round round) {
  constexpr auto rounds = 20;
  for (auto left = rounds; left > 0; --left) {
    auto const begin = std::chrono::steady_clock::now();
    round_results const results{round};
    auto const taken = std::chrono::steady_clock::now() - begin;
    if (results.fine()) return;
    if (left > 1 && taken >= time) continue;
    results.report();
    return;
  }
}

}  // namespace holdfast::test
