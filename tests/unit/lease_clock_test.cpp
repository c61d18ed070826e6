#include "engine/lease_clock.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace {

using namespace std::chrono_literals;
using holdfast::time_point;
using holdfast::engine::deadline_of;
using holdfast::engine::drift_allowance;
using holdfast::engine::lease_step;
using holdfast::engine::lease_times;
using holdfast::engine::plan_lease;
using std::chrono::milliseconds;

constexpr time_point granted_at{1h};
constexpr lease_times regular{.deadline = granted_at + 30s, .renew_at = granted_at + 10s};

TEST(lease_clock, ends_a_lease_before_the_server_does_by_the_drift_allowance) {
  EXPECT_EQ(deadline_of(granted_at, 10s), granted_at + 10s - 100ms - 2ms);
  EXPECT_EQ(drift_allowance(1s), 12ms);
}

TEST(lease_clock, waits_for_the_time_of_renewal) {
  auto const plan = plan_lease(regular, granted_at);
  EXPECT_EQ(plan.step, lease_step::wait);
  EXPECT_EQ(plan.when, granted_at + 10s);
}

TEST(lease_clock, renews_when_it_is_time) {
  EXPECT_EQ(plan_lease(regular, granted_at + 10s - 1ns).step, lease_step::wait);
  EXPECT_EQ(plan_lease(regular, granted_at + 10s).step, lease_step::renew);
  EXPECT_EQ(plan_lease(regular, granted_at + 30s - 1ns).step, lease_step::renew);
}

TEST(lease_clock, warns_when_it_is_time_ahead_of_a_renewal_but_not_of_the_end) {
  auto times = regular;
  times.warn_at = granted_at + 5s;
  EXPECT_EQ(plan_lease(times, granted_at).when, granted_at + 5s);
  EXPECT_EQ(plan_lease(times, granted_at + 5s).step, lease_step::warn);
  EXPECT_EQ(plan_lease(times, granted_at + 12s).step, lease_step::warn);
  EXPECT_EQ(plan_lease(times, granted_at + 30s).step, lease_step::expired);
}

TEST(lease_clock, renews_a_little_early_in_company) {
  EXPECT_EQ(plan_lease(regular, granted_at + 9s, 1s).step, lease_step::renew);
  EXPECT_EQ(plan_lease(regular, granted_at + 9s - 1ns, 1s).step, lease_step::wait);
}

TEST(lease_clock, gives_up_at_the_deadline_whatever_is_under_way) {
  for (auto const renewing : {false, true}) {
    auto times = regular;
    times.renewing = renewing;
    EXPECT_EQ(plan_lease(times, granted_at + 30s).step, lease_step::expired);
    EXPECT_EQ(plan_lease(times, granted_at + 31s).step, lease_step::expired);
  }
}

TEST(lease_clock, does_not_end_a_lease_early_by_slack) {
  auto times = regular;
  times.renew_at = time_point::max();
  auto const plan = plan_lease(times, granted_at + 29s, 5s);
  EXPECT_EQ(plan.step, lease_step::wait);
  EXPECT_EQ(plan.when, granted_at + 30s);
}

TEST(lease_clock, waits_for_the_deadline_while_a_renewal_is_unanswered) {
  auto times = regular;
  times.renewing = true;
  auto const plan = plan_lease(times, granted_at + 15s);
  EXPECT_EQ(plan.step, lease_step::wait);
  EXPECT_EQ(plan.when, granted_at + 30s);
}

TEST(lease_clock, ends_a_lease_at_its_limit) {
  auto times = regular;
  times.limit = granted_at + 5s;
  EXPECT_EQ(plan_lease(times, granted_at).when, granted_at + 5s);
  EXPECT_EQ(plan_lease(times, granted_at).step, lease_step::wait);
  EXPECT_EQ(plan_lease(times, granted_at + 5s).step, lease_step::limit_reached);
}

TEST(lease_clock, renews_before_a_limit_that_is_later) {
  auto times = regular;
  times.limit = granted_at + 20s;
  EXPECT_EQ(plan_lease(times, granted_at).when, granted_at + 10s);
  EXPECT_EQ(plan_lease(times, granted_at + 10s).step, lease_step::renew);
  EXPECT_EQ(plan_lease(times, granted_at + 20s).step, lease_step::limit_reached);
}

TEST(lease_clock, takes_an_expired_lease_for_expired_also_behind_its_limit) {
  auto times = regular;
  times.limit = granted_at + 30s;
  EXPECT_EQ(plan_lease(times, granted_at + 30s).step, lease_step::expired);
}

TEST(lease_clock, never_renews_a_lease_without_watchdog) {
  lease_times const times{.deadline = granted_at + 30s};
  for (auto age = 0s; age < 30s; ++age) EXPECT_EQ(plan_lease(times, granted_at + age).step, lease_step::wait);
  EXPECT_EQ(plan_lease(times, granted_at + 30s).step, lease_step::expired);
}

RC_GTEST_PROP(lease_clock, ends_each_lease_after_it_began_and_before_the_server_does, ()) {
  auto const sent = time_point{milliseconds{*rc::gen::inRange<std::int64_t>(0, 4'000'000'000)}};
  auto const ttl = milliseconds{*rc::gen::inRange<std::int64_t>(10, 365ll * 24 * 3'600 * 1'000)};
  auto const deadline = deadline_of(sent, ttl);
  RC_ASSERT(deadline > sent);
  RC_ASSERT(deadline < sent + ttl);
  // The server counts up to 1 ms late; the client's clock may run slower by a hundredth.
  auto const by_a_slow_clock = (deadline - sent) * 100 / 99;
  RC_ASSERT(by_a_slow_clock < ttl);
}

RC_GTEST_PROP(lease_clock, never_plans_to_look_again_after_the_end, ()) {
  auto const any_time = [] { return time_point{milliseconds{*rc::gen::inRange(0, 1'000)}}; };
  lease_times const times{
      .deadline = any_time(),
      .renew_at = any_time(),
      .limit = *rc::gen::element(time_point::max(), any_time()),
      .renewing = *rc::gen::arbitrary<bool>(),
  };
  auto const now = any_time();
  auto const plan = plan_lease(times, now, milliseconds{*rc::gen::inRange(0, 100)});
  auto const end = std::min(times.deadline, times.limit);
  RC_ASSERT((now >= end) == (plan.step == lease_step::expired || plan.step == lease_step::limit_reached));
  if (plan.step == lease_step::wait) RC_ASSERT(plan.when > now && plan.when <= end);
  if (plan.step == lease_step::renew) RC_ASSERT(!times.renewing);
}

}  // namespace
