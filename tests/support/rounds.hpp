/// Tests of timing, on a machine that may suspend any thread for seconds.
#pragma once

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <chrono>

namespace holdfast::test {

/// The failures of one round of a test, which don't fail the test yet.
class round_results {
 public:
  template <class Round>
  explicit round_results(Round& round) {
    using reporter = testing::ScopedFakeTestPartResultReporter;
    reporter const interceptor{reporter::INTERCEPT_ALL_THREADS, &results_};
    round();
  }

  [[nodiscard]] bool fine() const {
    for (auto i = 0; i < results_.size(); ++i) {
      if (results_.GetTestPartResult(i).failed()) return false;
    }
    return true;
  }
  /// Fails the test.
  void report() const {
    for (auto i = 0; i < results_.size(); ++i) {
      auto const& result = results_.GetTestPartResult(i);
      if (!result.failed()) continue;
      auto const* const file = result.file_name() == nullptr ? __FILE__ : result.file_name();
      ADD_FAILURE_AT(file, result.line_number()) << result.message();
    }
  }

 private:
  testing::TestPartResultArray results_;
};

/// Runs `round` until it has no failure, at most `rounds` times; failures of the last round fail the test.
/// For behaviour that needs the process to run, such as ending a command before a key expires: a machine may
/// suspend the process at that moment, but not in each of several rounds.
template <class Round>
void passes_in_one_round_of(int rounds, Round round) {
  for (auto remaining = rounds; remaining > 0; --remaining) {
    round_results const results{round};
    if (results.fine()) return;
    if (remaining == 1) results.report();
  }
}

/// For behaviour that holds in each round that takes less than `time`. A round that fails after a longer time
/// proves nothing and is repeated.
template <class Round>
void retry_if_slower_than(std::chrono::nanoseconds time, Round round) {
  constexpr auto rounds = 20;
  for (auto remaining = rounds; remaining > 0; --remaining) {
    auto const begin = std::chrono::steady_clock::now();
    round_results const results{round};
    auto const elapsed = std::chrono::steady_clock::now() - begin;
    if (results.fine()) return;
    if (remaining > 1 && elapsed >= time) continue;
    results.report();
    return;
  }
}

}  // namespace holdfast::test
