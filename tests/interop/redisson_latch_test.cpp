/// RCountDownLatch and latch: both count down, and both wait.
#include "beside_redisson.hpp"

#include <holdfast/latch.hpp>

namespace holdfast::test {
namespace {

using testing::IsEmpty;

constexpr auto latch_channel = "redisson_countdownlatch__channel__{ready}";

class redisson_latch : public beside_each_redisson {
 protected:
  [[nodiscard]] std::future<bool> start_waiter() {
    return run_async([this] { return listening_latch_.wait_for(acquire_timeout); });
  }

  latch latch_{redis_, "ready", {.wire = wire::redisson}};
  latch listening_latch_{listening_, "ready", {.wire = wire::redisson}};
};

INSTANTIATE_TEST_SUITE_P(all, redisson_latch,
                         testing::Values(redisson_version::current, redisson_version::v3_27_2),
                         name_of_version);

TEST_P(redisson_latch, opens_for_both_when_they_count_last) {
  redisson java{server_, GetParam()};
  auto const java_latch = java.latch("ready");
  EXPECT_TRUE(latch_.try_set_count(3));
  EXPECT_EQ(java_latch.set(5), "false");
  auto const java_waiter = java_latch.await();
  auto holdfast_waiter = start_waiter();
  EXPECT_TRUE(are_listening(latch_channel, 2));
  latch_.count_down(2);
  EXPECT_EQ(java_latch.by(2).count(), "1");
  EXPECT_TRUE(always(300ms, [&] { return !java_waiter.is_answered() && !is_done(holdfast_waiter); }));
  EXPECT_EQ(java_latch.by(2).count_down(), "ok");
  EXPECT_EQ(java_waiter, "ok");
  EXPECT_TRUE(await_result(holdfast_waiter));
  EXPECT_TRUE(latch_.try_wait());
  EXPECT_EQ(java_latch.await(), "ok");
}

/// Waiters of Redisson have nothing but the message, and it is sent once.
TEST_P(redisson_latch, opens_for_both_when_we_count_last) {
  redisson java{server_, GetParam()};
  redisson other{server_, GetParam()};
  auto const java_latch = java.latch("ready");
  EXPECT_EQ(java_latch.set(3), "true");
  EXPECT_FALSE(latch_.try_set_count(5));
  auto const first = java_latch.await();
  auto const second = java_latch.by(2).await();
  auto const third = other.latch("ready").await(60s);
  auto holdfast_waiter = start_waiter();
  EXPECT_TRUE(are_listening(latch_channel, 3));
  EXPECT_EQ(java_latch.by(3).count_down(), "ok");
  EXPECT_EQ(latch_.count(), 2);
  EXPECT_FALSE(latch_.wait_for(50ms));
  EXPECT_EQ(java_latch.by(3).await(1s), "false");
  latch_.count_down(2);
  EXPECT_EQ(first, "ok");
  EXPECT_EQ(second, "ok");
  EXPECT_EQ(third, "true");
  EXPECT_TRUE(await_result(holdfast_waiter));
}

TEST_P(redisson_latch, is_where_both_meet) {
  redisson java{server_, GetParam()};
  auto const java_latch = java.latch("ready");
  EXPECT_TRUE(latch_.try_set_count(2));
  auto holdfast_waiter = run_async([&] { listening_latch_.arrive_and_wait(); });
  EXPECT_TRUE(are_listening(latch_channel));
  EXPECT_EQ(java_latch.await(1s), "false");
  EXPECT_EQ(java_latch.count_down(), "ok");
  EXPECT_EQ(java_latch.await(), "ok");
  ASSERT_EQ(holdfast_waiter.wait_for(time_limit), std::future_status::ready);
  await_result(holdfast_waiter);
}

TEST_P(redisson_latch, stays_open_whoever_counts_below_zero_and_can_be_set_again) {
  redisson java{server_, GetParam()};
  auto const java_latch = java.latch("ready");
  latch_.count_down(3);
  EXPECT_EQ(java_latch.count_down(), "ok");
  EXPECT_EQ(java_latch.count(), "0");
  EXPECT_TRUE(latch_.try_wait());
  EXPECT_EQ(java_latch.set(1), "true");
  EXPECT_FALSE(latch_.try_wait());
  latch_.count_down();
  EXPECT_EQ(java_latch.await(), "ok");
  EXPECT_TRUE(latch_.try_set_count(1));
  EXPECT_EQ(java_latch.await(1s), "false");
  auto const java_waiter = java_latch.await();
  EXPECT_TRUE(are_listening(latch_channel));
  latch_.count_down();
  EXPECT_EQ(java_waiter, "ok");
}

TEST_P(redisson_latch, that_we_open_wakes_them_and_that_they_delete_lets_us_go_on) {
  redisson java{server_, GetParam()};
  auto const java_latch = java.latch("ready");
  EXPECT_EQ(java_latch.set(7), "true");
  auto const java_waiter = java_latch.await();
  EXPECT_TRUE(are_listening(latch_channel));
  EXPECT_TRUE(latch_.open());
  EXPECT_EQ(java_waiter, "ok");

  EXPECT_TRUE(latch_.try_set_count(7));
  auto holdfast_waiter = run_async([&] { return latch_.wait_for(acquire_timeout); });
  EXPECT_TRUE(are_listening(latch_channel));
  EXPECT_EQ(java_latch.remove(), "true");  // its message says that the latch is closed
  EXPECT_TRUE(await_result(holdfast_waiter));
  EXPECT_FALSE(raw_.exists("ready"));
}

TEST_P(redisson_latch, opens_for_the_others_when_one_of_either_side_was_killed_while_it_waited) {
  redisson java{server_, GetParam()};
  redisson killed{server_, GetParam()};
  EXPECT_TRUE(latch_.try_set_count(1));
  auto const dead = killed.latch("ready").await();
  auto const java_waiter = java.latch("ready").await();
  auto holdfast_waiter = start_waiter();
  EXPECT_TRUE(are_listening(latch_channel, 3));
  killed.kill9();
  latch_.count_down();
  EXPECT_EQ(java_waiter, "ok");
  EXPECT_TRUE(await_result(holdfast_waiter));
  EXPECT_FALSE(raw_.exists("ready"));
}

}  // namespace
}  // namespace holdfast::test
