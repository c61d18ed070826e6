#include "base/backoff.hpp"

#include <gtest/gtest.h>

#include <random>

namespace {

using namespace std::chrono_literals;
using holdfast::backoff;
using std::chrono::nanoseconds;

/// The largest of many draws of the n-th pause, n from 1.
nanoseconds largest_pause(int n, nanoseconds floor, nanoseconds cap) {
  std::mt19937_64 random{1};
  nanoseconds largest{0};
  for (int i = 0; i < 2'000; ++i) {
    backoff pauses{floor, cap};
    for (int skip = 1; skip < n; ++skip) (void)pauses.next(random);
    largest = std::max(largest, pauses.next(random));
  }
  return largest;
}

TEST(backoff, doubles_the_range_with_each_failure) {
  for (int n = 1; n <= 6; ++n) {
    auto const range = 10ms * (1 << n);
    EXPECT_LE(largest_pause(n, 10ms, 10s), range);
    EXPECT_GT(largest_pause(n, 10ms, 10s), range * 9 / 10);
  }
}

TEST(backoff, stays_between_floor_and_cap) {
  std::mt19937_64 random{2};
  backoff pauses{10ms, 500ms};
  for (int i = 0; i < 10'000; ++i) {
    auto const pause = pauses.next(random);
    ASSERT_GE(pause, 10ms);
    ASSERT_LE(pause, 500ms);
  }
}

TEST(backoff, spreads_the_pauses_over_the_whole_range) {
  std::mt19937_64 random{3};
  backoff pauses{0ns, 1s};
  for (int i = 0; i < 64; ++i) (void)pauses.next(random);
  int low = 0;
  for (int i = 0; i < 1'000; ++i) low += pauses.next(random) < 500ms ? 1 : 0;
  EXPECT_GT(low, 400);
  EXPECT_LT(low, 600);
}

TEST(backoff, starts_over_after_a_reset) {
  std::mt19937_64 random{4};
  backoff pauses{10ms, 10s};
  for (int i = 0; i < 20; ++i) (void)pauses.next(random);
  for (int i = 0; i < 1'000; ++i) {
    pauses.reset();
    ASSERT_LE(pauses.next(random), 20ms);
  }
}

TEST(backoff, bears_extreme_ranges) {
  std::mt19937_64 random{5};
  backoff longest{1ns, nanoseconds::max()};
  for (int i = 0; i < 200; ++i) ASSERT_GE(longest.next(random), 1ns);
  backoff upside_down{1s, 1ms};
  EXPECT_EQ(upside_down.next(random), 1s);
}

}  // namespace
