/// RSemaphore and semaphore: permits of one number, taken and given by both.
#include "beside_redisson.hpp"

#include <holdfast/semaphore.hpp>

namespace holdfast::test {
namespace {

constexpr auto semaphore_channel = "redisson_sc:{uploads}";

class redisson_semaphore : public beside_each_redisson {
 protected:
  /// Waits for permits with nothing but messages to wake it.
  [[nodiscard]] std::future<bool> we_wait(std::int64_t permits = 1) {
    return meanwhile([this, permits] { return listening_ones_.try_acquire_for(long_enough, permits); });
  }

  semaphore ours_{redis_, "uploads"};
  semaphore listening_ones_{listening_, "uploads"};
};

INSTANTIATE_TEST_SUITE_P(all, redisson_semaphore,
                         testing::Values(redisson_version::current, redisson_version::v3_27_2),
                         name_of_version);

TEST_P(redisson_semaphore, has_permits_that_both_count_alike) {
  redisson java{server_, GetParam()};
  auto const theirs = java.semaphore("uploads");
  EXPECT_FALSE(ours_.exists());
  EXPECT_TRUE(ours_.try_set_permits(5));
  EXPECT_EQ(theirs.set(9), "false");
  EXPECT_EQ(theirs.acquire(3), "ok");
  EXPECT_EQ(ours_.available(), 2);
  EXPECT_FALSE(ours_.try_acquire(3));
  EXPECT_TRUE(ours_.try_acquire(2));
  EXPECT_EQ(theirs.available(), "0");
  EXPECT_EQ(theirs.try_acquire(), "false");
  ours_.release(4);  // who took them is nobody's business
  EXPECT_EQ(theirs.available(), "4");
  EXPECT_EQ(theirs.release(), "ok");
  EXPECT_EQ(theirs.add(2), "ok");
  EXPECT_EQ(ours_.drain(), 7);
  EXPECT_EQ(theirs.drain(), "0");
  ours_.add_permits(3);
  EXPECT_EQ(theirs.drain(), "3");
}

TEST_P(redisson_semaphore, wakes_us_when_they_release) {
  redisson java{server_, GetParam()};
  auto const theirs = java.semaphore("uploads");
  EXPECT_EQ(theirs.set(2), "true");
  EXPECT_EQ(theirs.acquire(2), "ok");
  auto one = we_wait();
  auto two = we_wait();
  EXPECT_TRUE(listen(semaphore_channel));
  EXPECT_FALSE(is_over(one) || is_over(two));
  EXPECT_EQ(theirs.release(2), "ok");
  EXPECT_TRUE(soon(one));
  EXPECT_TRUE(soon(two));
  EXPECT_EQ(theirs.available(), "0");
}

/// Theirs have nothing but messages: one that they miss would have them wait for ever.
TEST_P(redisson_semaphore, wakes_them_when_we_release) {
  redisson java{server_, GetParam()};
  redisson other{server_, GetParam()};
  EXPECT_TRUE(ours_.try_set_permits(3));
  ours_.acquire(3);
  auto const first = java.semaphore("uploads").acquire();
  auto const second = java.semaphore("uploads").by(2).acquire();
  auto const third = other.semaphore("uploads").try_acquire(1, 60s);
  EXPECT_TRUE(listen(semaphore_channel, 2));
  EXPECT_TRUE(always(300ms, [&] { return !first.is_answered() && !second.is_answered(); }));
  ours_.release(3);
  EXPECT_EQ(first, "ok");
  EXPECT_EQ(second, "ok");
  EXPECT_EQ(third, "true");
}

TEST_P(redisson_semaphore, gives_many_permits_to_who_wants_many_when_they_came_one_by_one) {
  redisson java{server_, GetParam()};
  auto const theirs = java.semaphore("uploads");
  EXPECT_TRUE(ours_.try_set_permits(0));
  auto const they = theirs.acquire(2);
  EXPECT_TRUE(listen(semaphore_channel));
  ours_.release();
  EXPECT_TRUE(always(300ms, [&] { return !they.is_answered(); }));
  ours_.release();
  EXPECT_EQ(they, "ok");
  auto we = we_wait(2);
  EXPECT_TRUE(listen(semaphore_channel));
  EXPECT_EQ(theirs.release(), "ok");
  EXPECT_TRUE(always(300ms, [&] { return !is_over(we); }));
  EXPECT_EQ(theirs.release(), "ok");
  EXPECT_TRUE(soon(we));
}

TEST_P(redisson_semaphore, never_given_permits_wakes_who_waits_when_the_other_side_gives_them) {
  redisson java{server_, GetParam()};
  auto const theirs = java.semaphore("uploads");
  EXPECT_EQ(theirs.try_acquire(1, 1s), "false");
  EXPECT_FALSE(ours_.try_acquire_for(50ms));
  auto const they = theirs.acquire();
  EXPECT_TRUE(listen(semaphore_channel));
  EXPECT_TRUE(ours_.try_set_permits(1));
  EXPECT_EQ(they, "ok");
  EXPECT_EQ(theirs.remove(), "true");
  auto we = we_wait();
  EXPECT_TRUE(listen(semaphore_channel));
  EXPECT_EQ(theirs.set(1), "true");
  EXPECT_TRUE(soon(we));
}

TEST_P(redisson_semaphore, goes_below_zero_by_either_and_both_wait_until_it_is_above) {
  redisson java{server_, GetParam()};
  auto const theirs = java.semaphore("uploads");
  EXPECT_TRUE(ours_.try_set_permits(0));
  auto const they = theirs.acquire();
  auto we = we_wait();
  EXPECT_TRUE(listen(semaphore_channel, 2));
  ours_.add_permits(-1);
  EXPECT_EQ(theirs.by(2).add(-1), "ok");  // a message that says -2
  EXPECT_EQ(theirs.by(2).available(), "-2");
  EXPECT_EQ(ours_.available(), -2);
  EXPECT_TRUE(always(300ms, [&] { return !they.is_answered() && !is_over(we); }));
  ours_.release(4);
  EXPECT_EQ(they, "ok");
  EXPECT_TRUE(soon(we));
  EXPECT_EQ(ours_.available(), 0);
}

TEST_P(redisson_semaphore, gives_nothing_to_the_dead_who_waited) {
  redisson java{server_, GetParam()};
  redisson killed{server_, GetParam()};
  EXPECT_TRUE(ours_.try_set_permits(0));
  auto const dead = killed.semaphore("uploads").acquire();
  auto const they = java.semaphore("uploads").acquire();
  auto we = we_wait();
  EXPECT_TRUE(listen(semaphore_channel, 3));
  killed.kill9();
  ours_.release();
  java.semaphore("uploads").by(2).release().answer();
  EXPECT_EQ(they, "ok");
  EXPECT_TRUE(soon(we));
  EXPECT_EQ(ours_.available(), 0);
}

}  // namespace
}  // namespace holdfast::test
