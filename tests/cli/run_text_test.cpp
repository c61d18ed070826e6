#include "show/run_text.hpp"

#include <gmock/gmock.h>

#include <time.h>

#include <cstdlib>

namespace {

using namespace std::chrono_literals;
using holdfast::lock_state;
using holdfast::run_info;
namespace run_text = holdfast::cli::run_text;
using run_text::lock_is;

run_info::time_point const noon = std::chrono::sys_days{std::chrono::year{2026} / 11 / 23} + 12h;

run_info report() {
  return {.process = {.owner = "a:1", .host = "web-3"},
          .began = noon + 3min,
          .took = 120ms,
          .exit_code = 0,
          .counts_until = noon + 1h};
}

TEST(run_text, says_what_ran_where_and_how_it_ended) {
  EXPECT_EQ(run_text::story(report(), lock_is::gone, noon + 61min), "ran 58 min ago on web-3 (0 s, exit 0)");
  auto run = report();
  run.took.reset();
  run.exit_code.reset();
  EXPECT_EQ(run_text::story(run, lock_is::held, noon + 6min), "has been running for 3 min on web-3");
  EXPECT_EQ(run_text::story(run, lock_is::gone, noon + 6min), "began 3 min ago on web-3 and did not end");
  run.process.host.clear();
  EXPECT_EQ(run_text::host(run), "an unknown host");
  run.process.host = "web\n3";
  EXPECT_EQ(run_text::host(run), "web\\x0a3");
}

TEST(run_text, gives_the_time_since_a_run_in_one_unit) {
  EXPECT_EQ(run_text::since(999ms), "0 s");
  EXPECT_EQ(run_text::since(59s), "59 s");
  EXPECT_EQ(run_text::since(119s), "1 min");
  EXPECT_EQ(run_text::since(119min), "1 h");
  EXPECT_EQ(run_text::since(49h), "2 d");
  EXPECT_EQ(run_text::since(-1s), "0 s");  // the clocks of two masters
}

TEST(run_text, gives_the_time_until_a_run_in_two_units_when_it_is_long) {
  EXPECT_EQ(run_text::until(1ms), "1 s");
  EXPECT_EQ(run_text::until(61s), "2 min");
  EXPECT_EQ(run_text::until(59min + 1s), "60 min");
  EXPECT_EQ(run_text::until(61min), "1 h 1 min");
  EXPECT_EQ(run_text::until(19h + 25min + 1s), "19 h 26 min");
  EXPECT_EQ(run_text::until(48h), "48 h");
  EXPECT_EQ(run_text::until(48h + 1s), "2 d 1 h");
  EXPECT_EQ(run_text::until(24h * 6), "6 d");
  EXPECT_EQ(run_text::until(-1s), "0 s");
}

TEST(run_text, says_until_when_a_run_that_is_over_keeps_others_out) {
  setenv("TZ", "UTC", 1);
  tzset();
  lock_state state{.seen = noon + 10min, .last_run = report()};
  EXPECT_EQ(run_text::kept(state), "kept until 13:00; finished 12:03, exit 0");
  state.last_run->counts_until = noon + 13h;
  EXPECT_EQ(run_text::kept(state), "kept until 2026-11-24 01:00; finished 12:03, exit 0");
  state.last_run->took.reset();
  EXPECT_EQ(run_text::kept(state), "kept until 2026-11-24 01:00; began 12:03, did not end");
}

}  // namespace
