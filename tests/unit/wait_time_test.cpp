/// Conversion of any duration and any point in time to a time to wait.
#include <holdfast/wait_time.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <limits>
#include <ratio>

namespace holdfast {
namespace {

using namespace std::chrono_literals;
constexpr std::chrono::nanoseconds century = std::chrono::hours{24 * 365 * 100};

TEST(wait_time, is_what_was_said_rounded_up) {
  EXPECT_EQ(to_wait(3s), 3s);
  EXPECT_EQ(to_wait(-3ms), -3ms);
  EXPECT_EQ(to_wait(0ns), 0ns);
  EXPECT_EQ(to_wait(std::chrono::duration<int, std::pico>{1001}), 2ns);
  EXPECT_EQ(to_wait(std::chrono::duration<double>{0.5}), 500ms);
  EXPECT_EQ(to_wait(century - 1ns), century - 1ns);
}

template <class Duration>
void expect_bounds() {
  EXPECT_EQ(to_wait(Duration::max()), century);
  EXPECT_EQ(to_wait(Duration::min()), -century);
}

TEST(wait_time, is_at_most_a_century_in_any_unit) {
  expect_bounds<std::chrono::nanoseconds>();
  expect_bounds<std::chrono::milliseconds>();
  expect_bounds<std::chrono::hours>();
  expect_bounds<std::chrono::days>();
  expect_bounds<std::chrono::years>();
  expect_bounds<std::chrono::duration<double>>();
  using real = std::chrono::duration<double>;
  EXPECT_EQ(to_wait(real{std::numeric_limits<double>::infinity()}), century);
  EXPECT_EQ(to_wait(real{std::numeric_limits<double>::quiet_NaN()}), -century);
}

TEST(wait_time, until_any_point_in_time_is_bounded_too) {
  using std::chrono::steady_clock;
  using std::chrono::system_clock;
  EXPECT_EQ(to_wait(steady_clock::time_point::min()), -century);
  EXPECT_EQ(to_wait(system_clock::time_point::min()), -century);
  EXPECT_EQ(to_wait(system_clock::time_point::max()), century);
  EXPECT_EQ(to_wait(std::chrono::sys_days::max()), century);
  EXPECT_EQ(to_wait(std::chrono::sys_days{std::chrono::year{2600} / 1 / 1}), century);
  EXPECT_LE(to_wait(steady_clock::now() + 1h), 1h);
  EXPECT_GT(to_wait(steady_clock::now() + 1h), 30min);
}

}  // namespace
}  // namespace holdfast
