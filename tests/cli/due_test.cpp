#include "run/due.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace {

using namespace std::chrono_literals;
using holdfast::run_info;
using holdfast::cli::due_run;
using holdfast::cli::instant;
using holdfast::cli::record_life;
using holdfast::cli::run_limit;
using holdfast::cli::slot_rule_of;
using holdfast::cli::when_due;
using holdfast::probe::in_one;
using holdfast::probe::run_look;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using verdict = due_run::verdict;

instant const noon = std::chrono::sys_days{std::chrono::year{2026} / 11 / 23} + 12h;

run_limit once_per(std::string const& slot) { return {.slots = slot_rule_of(slot)}; }
run_limit at_most_every(milliseconds period) { return {.period = period}; }
run_limit retrying(run_limit limit) {
  limit.a_failed_run = run_limit::failed::is_retried;
  return limit;
}

run_info run_of(instant began, instant counts_until, std::string const& owner = "a:1") {
  return {.process = {.owner = owner}, .began = began, .counts_until = counts_until};
}
run_info finished(run_info run, milliseconds took = 1s, int exit_code = 0) {
  run.took = took;
  run.exit_code = exit_code;
  return run;
}
run_look look(instant now, run_info const& last) { return {.now = now, .last = last}; }
run_look held(run_look seen) {
  seen.held_by_runner = true;
  return seen;
}

/// The server's clock at each start of a job that several hosts start each hour, in order. The hosts' clocks
/// are wrong by less than the slack, and cron is late by up to 25 minutes.
std::vector<instant> hourly_starts(std::mt19937& random, int hours) {
  std::vector<instant> starts;
  std::uniform_int_distribution<std::int64_t> jitter{microseconds{-30s}.count(), microseconds{25min}.count()};
  for (int hour = 0; hour < hours; ++hour) {
    for (int host = 0; host < 3; ++host) starts.push_back(noon + 1h * hour + microseconds{jitter(random)});
  }
  std::ranges::sort(starts);
  return starts;
}

TEST(cron, once_per_hour_runs_in_every_hour_whatever_the_jitter) {
  auto const seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random{seed};
  constexpr int hours = 1'000;
  auto const limit = once_per("1h");
  run_look seen;
  std::map<instant, int> runs;
  for (auto const start : hourly_starts(random, hours)) {
    seen.now = start;
    auto const due = when_due(limit, seen);
    if (due.is != verdict::due) continue;
    ++runs[due.counts_until - 1h];
    seen.last = finished(run_of(start, due.counts_until));
  }
  EXPECT_EQ(runs.size(), std::size_t{hours});
  for (auto const& [hour, count] : runs) EXPECT_EQ(count, 1) << (hour - noon).count();
}

TEST(cron, at_most_every_hour_leaves_out_a_start_that_comes_a_moment_early) {
  auto const due = when_due(at_most_every(1h), look(noon + 1h - 1ms, finished(run_of(noon, noon + 1h))));
  EXPECT_EQ(due.is, verdict::done);
  EXPECT_EQ(due.next, noon + 1h);
  EXPECT_EQ(when_due(at_most_every(1h), look(noon + 1h, finished(run_of(noon, noon + 1h)))).is, verdict::due);
}

TEST(a_job, is_due_when_nothing_is_known_of_a_run) {
  auto const due = when_due(once_per("1h"), {.now = noon + 5min});
  EXPECT_EQ(due.is, verdict::due);
  EXPECT_EQ(due.counts_until, noon + 1h);
  EXPECT_EQ(when_due(at_most_every(1h), {.now = noon + 5min}).counts_until, noon + 65min);
}

TEST(a_job, is_done_until_the_next_slot) {
  auto const last = finished(run_of(noon + 3min, noon + 1h));
  auto const due = when_due(once_per("1h"), look(noon + 58min, last));
  EXPECT_EQ(due.is, verdict::done);
  EXPECT_EQ(due.next, noon + 1h);
  EXPECT_EQ(when_due(once_per("1h"), look(noon + 1h, last)).is, verdict::due);
}

TEST(a_job, that_began_within_the_slack_is_done_for_the_slot_behind_it) {
  auto const due = when_due(once_per("1h"), {.now = noon - 20s});
  EXPECT_EQ(due.is, verdict::due);
  EXPECT_EQ(due.counts_until, noon + 1h);
  auto const last = finished(run_of(noon - 20s, due.counts_until));
  EXPECT_EQ(when_due(once_per("1h"), look(noon + 10s, last)).is, verdict::done);
}

TEST(a_job, that_runs_is_not_due_again) {
  auto const due = when_due(once_per("1h"), held(look(noon + 5min, run_of(noon, noon + 1h))));
  EXPECT_EQ(due.is, verdict::running);
  auto const retried = when_due(retrying(once_per("1h")), held(look(noon + 5min, run_of(noon, noon + 1h))));
  EXPECT_EQ(retried.is, verdict::running);
}

TEST(a_job, that_still_runs_is_due_in_the_next_slot_and_its_lock_keeps_others_out) {
  EXPECT_EQ(when_due(once_per("1h"), held(look(noon + 1h, run_of(noon, noon + 1h)))).is, verdict::due);
}

TEST(a_job, that_failed_is_due_again_only_if_failed_runs_are_retried) {
  auto const failed = look(noon + 5min, finished(run_of(noon, noon + 1h), 1s, 3));
  EXPECT_EQ(when_due(once_per("1h"), failed).is, verdict::done);
  EXPECT_EQ(when_due(retrying(once_per("1h")), failed).is, verdict::due);
  EXPECT_EQ(when_due(retrying(at_most_every(1h)), failed).is, verdict::due);
  auto const fine = look(noon + 5min, finished(run_of(noon, noon + 1h)));
  EXPECT_EQ(when_due(retrying(once_per("1h")), fine).is, verdict::done);
}

TEST(a_job, that_died_has_failed) {
  auto const died = look(noon + 5min, run_of(noon, noon + 1h));
  EXPECT_EQ(when_due(once_per("1h"), died).is, verdict::done);
  EXPECT_EQ(when_due(retrying(once_per("1h")), died).is, verdict::due);
}

TEST(a_job, whose_run_does_not_count_is_due) {
  auto not_started = finished(run_of(noon, noon + 1h), 0s, 127);
  not_started.counts_until.reset();
  EXPECT_EQ(when_due(once_per("1h"), look(noon + 5min, not_started)).is, verdict::due);
}

TEST(a_record, outlives_its_slot_by_a_slot_and_a_day) {
  due_run const due{.counts_until = noon + 1h};
  EXPECT_EQ(record_life(due, noon), 2h + 24h);
}

TEST(masters, agree_on_the_newest_run_and_the_middle_of_their_clocks) {
  auto const before = finished(run_of(noon - 1h, noon, "a:1"));
  auto const begun = run_of(noon, noon + 1h, "b:1");
  std::vector<run_look> const looks{held(look(noon + 3s, begun)), look(noon + 1s, before),
                                    look(noon + 2s, finished(begun))};
  auto const one = in_one(looks);
  EXPECT_EQ(one.now, noon + 2s);
  EXPECT_EQ(one.last->process.owner, "b:1");
  EXPECT_TRUE(one.last->finished());
  EXPECT_TRUE(one.held_by_runner);
  EXPECT_FALSE(in_one(std::vector{look(noon, begun), held(look(noon, before))}).held_by_runner);
  EXPECT_FALSE(in_one(std::vector{run_look{.now = noon}}).last);
}

/// Clocks of masters differ, tokens grow.
TEST(masters, know_the_run_of_the_newest_lease) {
  auto const with_token = [](run_info run, std::int64_t token) {
    run.token = token;
    return run;
  };
  auto const failed = with_token(finished(run_of(noon, noon + 1h), 1s, 1), 7);
  auto const begun = with_token(run_of(noon - 5s, noon + 1h), 8);  // by clocks that are behind
  auto const done = finished(begun);
  auto taken_back = begun;
  taken_back.counts_until.reset();
  auto const newest = [](run_info const& one, run_info const& other) {
    auto const found = *in_one(std::vector{look(noon, one), look(noon, other)}).last;
    auto const reversed = *in_one(std::vector{look(noon, other), look(noon, one)}).last;
    EXPECT_EQ(found.token, reversed.token);
    EXPECT_EQ(found.counts_until, reversed.counts_until);
    return found;
  };
  EXPECT_EQ(newest(failed, begun).token, 8);
  EXPECT_EQ(newest(failed, done).exit_code, 0);
  EXPECT_EQ(newest(begun, done).exit_code, 0);
  EXPECT_EQ(newest(begun, taken_back).counts_until, std::nullopt);
}

}  // namespace
