/// RFairLock and fair_mutex: one queue of both, in the order of requests.
#include "beside_redisson.hpp"

#include <holdfast/fair_mutex.hpp>

#include <optional>
#include <stop_token>

namespace holdfast::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class redisson_fair : public beside_each_redisson {
 protected:
  [[nodiscard]] std::vector<std::string> queue() { return list("redisson_lock_queue:{orders}"); }
  [[nodiscard]] std::vector<std::string> timeouts() { return sorted_set("redisson_lock_timeout:{orders}"); }
  [[nodiscard]] bool are_queued(std::size_t callers) {
    return eventually(time_limit, [&] { return queue().size() == callers; });
  }
  [[nodiscard]] bool are_waiting(std::size_t callers) { return are_queued(callers) && is_idle(); }
  [[nodiscard]] static std::future<std::optional<lease>> start_waiter(
      fair_mutex& lock, std::chrono::milliseconds time = acquire_timeout) {
    return run_async([&lock, time] { return lock.try_acquire_for(time); });
  }

  // Three clients, as if each were in a process of its own: only the first of several callers of one client
  // is in the queue.
  client third_{url_, {.recheck = 30s}};
  fair_mutex a_{redis_, "orders"};
  fair_mutex b_{listening_, "orders"};
  fair_mutex c_{third_, "orders"};
};

INSTANTIATE_TEST_SUITE_P(all, redisson_fair,
                         testing::Values(redisson_version::current, redisson_version::v3_27_2),
                         name_of_version);

TEST_P(redisson_fair, is_had_in_the_order_of_asking_when_we_hold_and_both_wait) {
  redisson java{server_, GetParam()};
  auto const java_lock = java.fair_lock("orders");
  auto first = a_.acquire();
  auto const second = java_lock.by(2).lock();
  ASSERT_TRUE(are_waiting(1));
  auto third = start_waiter(b_);
  ASSERT_TRUE(are_waiting(2));
  auto const fourth = java_lock.by(4).lock();
  ASSERT_TRUE(are_waiting(3));
  auto fifth = start_waiter(c_);
  ASSERT_TRUE(are_waiting(4));
  EXPECT_EQ(java_lock.by(6).try_lock(), "false");

  EXPECT_EQ(first.release(), release_result::released);
  EXPECT_EQ(second, "ok");
  EXPECT_FALSE(is_done(third) || fourth.is_answered() || is_done(fifth));
  EXPECT_EQ(java_lock.by(2).unlock(), "ok");
  auto third_lease = await_result(third);
  ASSERT_TRUE(third_lease);
  EXPECT_FALSE(fourth.is_answered() || is_done(fifth));
  EXPECT_EQ(third_lease->release(), release_result::released);
  EXPECT_EQ(fourth, "ok");
  EXPECT_FALSE(is_done(fifth));
  EXPECT_EQ(java_lock.by(4).unlock(), "ok");
  EXPECT_TRUE(await_result(fifth));
  EXPECT_THAT(keys(), IsEmpty());
}

TEST_P(redisson_fair, is_had_in_the_order_of_asking_when_they_hold_and_both_wait) {
  redisson java{server_, GetParam()};
  auto const java_lock = java.fair_lock("orders");
  EXPECT_EQ(java_lock.lock(), "ok");
  auto second = start_waiter(a_);
  ASSERT_TRUE(are_waiting(1));
  auto third = start_waiter(b_);
  ASSERT_TRUE(are_waiting(2));
  auto const fourth = java_lock.by(4).lock();
  ASSERT_TRUE(are_waiting(3));

  EXPECT_EQ(java_lock.unlock(), "ok");
  auto second_lease = await_result(second);
  ASSERT_TRUE(second_lease);
  EXPECT_FALSE(is_done(third) || fourth.is_answered());
  EXPECT_EQ(second_lease->release(), release_result::released);
  auto third_lease = await_result(third);
  ASSERT_TRUE(third_lease);
  EXPECT_FALSE(fourth.is_answered());
  EXPECT_EQ(third_lease->release(), release_result::released);
  EXPECT_EQ(fourth, "ok");
  EXPECT_EQ(java_lock.by(4).unlock(), "ok");
  EXPECT_THAT(keys(), IsEmpty());
}

TEST_P(redisson_fair, is_left_by_who_gives_up_and_keeps_the_places_of_the_others) {
  redisson java{server_, GetParam()};
  auto const java_lock = java.fair_lock("orders");
  auto const fourth_owner = java_lock.by(4).owner();
  auto lease = a_.acquire();
  auto const first = java_lock.by(1).try_lock(10s);
  ASSERT_TRUE(are_waiting(1));
  auto second = start_waiter(b_, 10s);
  ASSERT_TRUE(are_waiting(2));
  std::stop_source stop;
  auto third = run_async([&] { return c_.acquire(stop.get_token()); });
  ASSERT_TRUE(are_waiting(3));
  auto const fourth = java_lock.by(4).lock();
  ASSERT_TRUE(are_waiting(4));

  EXPECT_EQ(first, "false");
  EXPECT_FALSE(await_result(second));
  stop.request_stop();
  EXPECT_THROW((void)await_result(third), error);
  EXPECT_TRUE(are_waiting(1));
  EXPECT_THAT(queue(), ElementsAre(fourth_owner));
  EXPECT_THAT(timeouts(), ElementsAre(fourth_owner));
  EXPECT_EQ(lease.release(), release_result::released);
  EXPECT_EQ(fourth, "ok");
  EXPECT_THAT(queue(), IsEmpty());
  EXPECT_THAT(timeouts(), IsEmpty());
  EXPECT_EQ(java_lock.by(4).unlock(), "ok");
  EXPECT_THAT(keys(), IsEmpty());
}

/// A waiter of Redisson counts as alive for the time that it announced, a waiter of Holdfast for ten times
/// its recheck. Each time starts at the end of the previous waiter's.
TEST_P(redisson_fair, goes_past_the_dead_of_both_in_its_queue) {
  redisson killed{server_, GetParam()};
  redisson java{server_, GetParam()};
  auto lease = fair_mutex{redis_, "orders", {.ttl = 3s}}.acquire();
  auto first = holdfast_process("fair_mutex_inbox", "orders", 3s);
  first.write_line("acquire");
  ASSERT_TRUE(are_queued(1));
  first.kill9();
  auto const second = killed.fair_lock("orders").try_lock(5s);
  ASSERT_TRUE(are_queued(2));
  killed.kill9();
  auto third = start_waiter(b_);
  ASSERT_TRUE(are_queued(3));
  auto const fourth = java.fair_lock("orders").lock();
  ASSERT_TRUE(are_queued(4));
  EXPECT_EQ(lease.release(), release_result::released);
  auto third_lease = await_result(third, 2 * time_limit);  // up to 18 s for the dead waiters
  ASSERT_TRUE(third_lease);
  EXPECT_FALSE(fourth.is_answered());
  EXPECT_EQ(third_lease->release(), release_result::released);
  EXPECT_EQ(fourth, "ok");
  EXPECT_THAT(queue(), IsEmpty());
  EXPECT_THAT(timeouts(), IsEmpty());
}

TEST_P(redisson_fair, goes_to_the_next_in_the_queue_when_they_force_it_open) {
  redisson java{server_, GetParam()};
  auto lease = a_.acquire();
  auto next = start_waiter(b_);
  ASSERT_TRUE(are_waiting(1));
  EXPECT_EQ(java.fair_lock("orders").force_unlock(), "true");
  auto const next_lease = await_result(next);
  ASSERT_TRUE(next_lease);
  EXPECT_EQ(lease.release(), release_result::lost);
  EXPECT_TRUE(next_lease->valid());
}

}  // namespace
}  // namespace holdfast::test
