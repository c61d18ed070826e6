/// RCountDownLatch and latch: counted down by both, waited for by both.
#include "beside_redisson.hpp"

#include <holdfast/latch.hpp>

namespace holdfast::test {
namespace {

using testing::IsEmpty;

constexpr auto latch_channel = "redisson_countdownlatch__channel__{ready}";

class redisson_latch : public beside_each_redisson {
 protected:
  [[nodiscard]] std::future<bool> we_wait() {
    return meanwhile([this] { return listening_one_.wait_for(long_enough); });
  }

  latch ours_{redis_, "ready"};
  latch listening_one_{listening_, "ready"};
};

INSTANTIATE_TEST_SUITE_P(all, redisson_latch,
                         testing::Values(redisson_version::current, redisson_version::v3_27_2),
                         name_of_version);

TEST_P(redisson_latch, opens_for_both_when_they_count_last) {
  redisson java{server_, GetParam()};
  auto const theirs = java.latch("ready");
  EXPECT_TRUE(ours_.try_set_count(3));
  EXPECT_EQ(theirs.set(5), "false");
  auto const they = theirs.await();
  auto we = we_wait();
  EXPECT_TRUE(listen(latch_channel, 2));
  ours_.count_down(2);
  EXPECT_EQ(theirs.by(2).count(), "1");
  EXPECT_TRUE(always(300ms, [&] { return !they.is_answered() && !is_over(we); }));
  EXPECT_EQ(theirs.by(2).count_down(), "ok");
  EXPECT_EQ(they, "ok");
  EXPECT_TRUE(soon(we));
  EXPECT_TRUE(ours_.try_wait());
  EXPECT_EQ(theirs.await(), "ok");
}

/// Theirs have nothing but the message: it is sent once.
TEST_P(redisson_latch, opens_for_both_when_we_count_last) {
  redisson java{server_, GetParam()};
  redisson other{server_, GetParam()};
  auto const theirs = java.latch("ready");
  EXPECT_EQ(theirs.set(3), "true");
  EXPECT_FALSE(ours_.try_set_count(5));
  auto const first = theirs.await();
  auto const second = theirs.by(2).await();
  auto const third = other.latch("ready").await(60s);
  auto we = we_wait();
  EXPECT_TRUE(listen(latch_channel, 3));
  EXPECT_EQ(theirs.by(3).count_down(), "ok");
  EXPECT_EQ(ours_.count(), 2);
  EXPECT_FALSE(ours_.wait_for(50ms));
  EXPECT_EQ(theirs.by(3).await(1s), "false");
  ours_.count_down(2);
  EXPECT_EQ(first, "ok");
  EXPECT_EQ(second, "ok");
  EXPECT_EQ(third, "true");
  EXPECT_TRUE(soon(we));
}

TEST_P(redisson_latch, is_where_both_meet) {
  redisson java{server_, GetParam()};
  auto const theirs = java.latch("ready");
  EXPECT_TRUE(ours_.try_set_count(2));
  auto we = meanwhile([&] { listening_one_.arrive_and_wait(); });
  EXPECT_TRUE(listen(latch_channel));
  EXPECT_EQ(theirs.await(1s), "false");
  EXPECT_EQ(theirs.count_down(), "ok");
  EXPECT_EQ(theirs.await(), "ok");
  ASSERT_EQ(we.wait_for(patience), std::future_status::ready);
  soon(we);
}

TEST_P(redisson_latch, stays_open_whoever_counts_below_zero_and_can_be_set_again) {
  redisson java{server_, GetParam()};
  auto const theirs = java.latch("ready");
  ours_.count_down(3);
  EXPECT_EQ(theirs.count_down(), "ok");
  EXPECT_EQ(theirs.count(), "0");
  EXPECT_TRUE(ours_.try_wait());
  EXPECT_EQ(theirs.set(1), "true");
  EXPECT_FALSE(ours_.try_wait());
  ours_.count_down();
  EXPECT_EQ(theirs.await(), "ok");
  EXPECT_TRUE(ours_.try_set_count(1));
  EXPECT_EQ(theirs.await(1s), "false");
  auto const they = theirs.await();
  EXPECT_TRUE(listen(latch_channel));
  ours_.count_down();
  EXPECT_EQ(they, "ok");
}

TEST_P(redisson_latch, that_we_open_wakes_them_and_that_they_delete_lets_us_go_on) {
  redisson java{server_, GetParam()};
  auto const theirs = java.latch("ready");
  EXPECT_EQ(theirs.set(7), "true");
  auto const they = theirs.await();
  EXPECT_TRUE(listen(latch_channel));
  EXPECT_TRUE(ours_.open());
  EXPECT_EQ(they, "ok");

  EXPECT_TRUE(ours_.try_set_count(7));
  auto we = meanwhile([&] { return ours_.wait_for(long_enough); });
  EXPECT_TRUE(listen(latch_channel));
  EXPECT_EQ(theirs.remove(), "true");  // its message says that the latch is closed
  EXPECT_TRUE(soon(we));
  EXPECT_FALSE(raw_.exists("ready"));
}

TEST_P(redisson_latch, opens_for_the_others_when_one_of_either_side_was_killed_while_it_waited) {
  redisson java{server_, GetParam()};
  redisson killed{server_, GetParam()};
  EXPECT_TRUE(ours_.try_set_count(1));
  auto const dead = killed.latch("ready").await();
  auto const they = java.latch("ready").await();
  auto we = we_wait();
  EXPECT_TRUE(listen(latch_channel, 3));
  killed.kill9();
  ours_.count_down();
  EXPECT_EQ(they, "ok");
  EXPECT_TRUE(soon(we));
  EXPECT_FALSE(raw_.exists("ready"));
}

}  // namespace
}  // namespace holdfast::test
