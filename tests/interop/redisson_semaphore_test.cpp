/// RSemaphore and semaphore: permits of one number, taken and given by both.
#include "beside_redisson.hpp"

#include <holdfast/semaphore.hpp>

namespace holdfast::test {
namespace {

constexpr auto semaphore_channel = "redisson_sc:{uploads}";

class redisson_semaphore : public beside_each_redisson {
 protected:
  /// Starts a waiter that only messages wake.
  [[nodiscard]] std::future<bool> start_waiter(std::int64_t permits = 1) {
    return run_async(
        [this, permits] { return listening_semaphore_.try_acquire_for(acquire_timeout, permits); });
  }

  semaphore semaphore_{redis_, "uploads"};
  semaphore listening_semaphore_{listening_, "uploads"};
};

INSTANTIATE_TEST_SUITE_P(all, redisson_semaphore,
                         testing::Values(redisson_version::current, redisson_version::v3_27_2),
                         name_of_version);

TEST_P(redisson_semaphore, has_permits_that_both_count_alike) {
  redisson java{server_, GetParam()};
  auto const java_semaphore = java.semaphore("uploads");
  EXPECT_FALSE(semaphore_.exists());
  EXPECT_TRUE(semaphore_.try_set_permits(5));
  EXPECT_EQ(java_semaphore.set(9), "false");
  EXPECT_EQ(java_semaphore.acquire(3), "ok");
  EXPECT_EQ(semaphore_.available(), 2);
  EXPECT_FALSE(semaphore_.try_acquire(3));
  EXPECT_TRUE(semaphore_.try_acquire(2));
  EXPECT_EQ(java_semaphore.available(), "0");
  EXPECT_EQ(java_semaphore.try_acquire(), "false");
  semaphore_.release(4);  // any client may give permits back
  EXPECT_EQ(java_semaphore.available(), "4");
  EXPECT_EQ(java_semaphore.release(), "ok");
  EXPECT_EQ(java_semaphore.add(2), "ok");
  EXPECT_EQ(semaphore_.drain(), 7);
  EXPECT_EQ(java_semaphore.drain(), "0");
  semaphore_.add_permits(3);
  EXPECT_EQ(java_semaphore.drain(), "3");
}

TEST_P(redisson_semaphore, wakes_us_when_they_release) {
  redisson java{server_, GetParam()};
  auto const java_semaphore = java.semaphore("uploads");
  EXPECT_EQ(java_semaphore.set(2), "true");
  EXPECT_EQ(java_semaphore.acquire(2), "ok");
  auto first_waiter = start_waiter();
  auto second_waiter = start_waiter();
  EXPECT_TRUE(are_listening(semaphore_channel));
  EXPECT_FALSE(is_done(first_waiter) || is_done(second_waiter));
  EXPECT_EQ(java_semaphore.release(2), "ok");
  EXPECT_TRUE(await_result(first_waiter));
  EXPECT_TRUE(await_result(second_waiter));
  EXPECT_EQ(java_semaphore.available(), "0");
}

/// Waiters of Redisson have nothing but messages: after a missed message they would wait for ever.
TEST_P(redisson_semaphore, wakes_them_when_we_release) {
  redisson java{server_, GetParam()};
  redisson other{server_, GetParam()};
  EXPECT_TRUE(semaphore_.try_set_permits(3));
  semaphore_.acquire(3);
  auto const first = java.semaphore("uploads").acquire();
  auto const second = java.semaphore("uploads").by(2).acquire();
  auto const third = other.semaphore("uploads").try_acquire(1, 60s);
  EXPECT_TRUE(are_listening(semaphore_channel, 2));
  EXPECT_TRUE(always(300ms, [&] { return !first.is_answered() && !second.is_answered(); }));
  semaphore_.release(3);
  EXPECT_EQ(first, "ok");
  EXPECT_EQ(second, "ok");
  EXPECT_EQ(third, "true");
}

TEST_P(redisson_semaphore, gives_many_permits_to_who_wants_many_when_they_came_one_by_one) {
  redisson java{server_, GetParam()};
  auto const java_semaphore = java.semaphore("uploads");
  EXPECT_TRUE(semaphore_.try_set_permits(0));
  auto const java_waiter = java_semaphore.acquire(2);
  EXPECT_TRUE(are_listening(semaphore_channel));
  semaphore_.release();
  EXPECT_TRUE(always(300ms, [&] { return !java_waiter.is_answered(); }));
  semaphore_.release();
  EXPECT_EQ(java_waiter, "ok");
  auto holdfast_waiter = start_waiter(2);
  EXPECT_TRUE(are_listening(semaphore_channel));
  EXPECT_EQ(java_semaphore.release(), "ok");
  EXPECT_TRUE(always(300ms, [&] { return !is_done(holdfast_waiter); }));
  EXPECT_EQ(java_semaphore.release(), "ok");
  EXPECT_TRUE(await_result(holdfast_waiter));
}

TEST_P(redisson_semaphore, never_given_permits_wakes_who_waits_when_the_other_side_gives_them) {
  redisson java{server_, GetParam()};
  auto const java_semaphore = java.semaphore("uploads");
  EXPECT_EQ(java_semaphore.try_acquire(1, 1s), "false");
  EXPECT_FALSE(semaphore_.try_acquire_for(50ms));
  auto const java_waiter = java_semaphore.acquire();
  EXPECT_TRUE(are_listening(semaphore_channel));
  EXPECT_TRUE(semaphore_.try_set_permits(1));
  EXPECT_EQ(java_waiter, "ok");
  EXPECT_EQ(java_semaphore.remove(), "true");
  auto holdfast_waiter = start_waiter();
  EXPECT_TRUE(are_listening(semaphore_channel));
  EXPECT_EQ(java_semaphore.set(1), "true");
  EXPECT_TRUE(await_result(holdfast_waiter));
}

TEST_P(redisson_semaphore, goes_below_zero_by_either_and_both_wait_until_it_is_above) {
  redisson java{server_, GetParam()};
  auto const java_semaphore = java.semaphore("uploads");
  EXPECT_TRUE(semaphore_.try_set_permits(0));
  auto const java_waiter = java_semaphore.acquire();
  auto holdfast_waiter = start_waiter();
  EXPECT_TRUE(are_listening(semaphore_channel, 2));
  semaphore_.add_permits(-1);
  EXPECT_EQ(java_semaphore.by(2).add(-1), "ok");  // publishes -2
  EXPECT_EQ(java_semaphore.by(2).available(), "-2");
  EXPECT_EQ(semaphore_.available(), -2);
  EXPECT_TRUE(always(300ms, [&] { return !java_waiter.is_answered() && !is_done(holdfast_waiter); }));
  semaphore_.release(4);
  EXPECT_EQ(java_waiter, "ok");
  EXPECT_TRUE(await_result(holdfast_waiter));
  EXPECT_EQ(semaphore_.available(), 0);
}

TEST_P(redisson_semaphore, gives_nothing_to_the_dead_who_waited) {
  redisson java{server_, GetParam()};
  redisson killed{server_, GetParam()};
  EXPECT_TRUE(semaphore_.try_set_permits(0));
  auto const dead = killed.semaphore("uploads").acquire();
  auto const java_waiter = java.semaphore("uploads").acquire();
  auto holdfast_waiter = start_waiter();
  EXPECT_TRUE(are_listening(semaphore_channel, 3));
  killed.kill9();
  semaphore_.release();
  java.semaphore("uploads").by(2).release().answer();
  EXPECT_EQ(java_waiter, "ok");
  EXPECT_TRUE(await_result(holdfast_waiter));
  EXPECT_EQ(semaphore_.available(), 0);
}

}  // namespace
}  // namespace holdfast::test
