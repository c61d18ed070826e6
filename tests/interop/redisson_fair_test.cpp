/// RFairLock and fair_mutex: one queue of both, in the order of asking.
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
    return eventually(patience, [&] { return queue().size() == callers; });
  }
  [[nodiscard]] bool wait(std::size_t callers) { return are_queued(callers) && all_is_quiet(); }
  [[nodiscard]] static std::future<std::optional<lease>> waiting_in(
      fair_mutex& ours, std::chrono::milliseconds time = long_enough) {
    return meanwhile([&ours, time] { return ours.try_acquire_for(time); });
  }

  // Three, as if each were in a process of its own: of several callers of one client the first is in the
  // queue.
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
  auto const theirs = java.fair_lock("orders");
  auto first = a_.acquire();
  auto const second = theirs.by(2).lock();
  ASSERT_TRUE(wait(1));
  auto third = waiting_in(b_);
  ASSERT_TRUE(wait(2));
  auto const fourth = theirs.by(4).lock();
  ASSERT_TRUE(wait(3));
  auto fifth = waiting_in(c_);
  ASSERT_TRUE(wait(4));
  EXPECT_EQ(theirs.by(6).try_lock(), "false");

  EXPECT_EQ(first.release(), release_result::released);
  EXPECT_EQ(second, "ok");
  EXPECT_FALSE(is_over(third) || fourth.is_answered() || is_over(fifth));
  EXPECT_EQ(theirs.by(2).unlock(), "ok");
  auto third_lease = soon(third);
  ASSERT_TRUE(third_lease);
  EXPECT_FALSE(fourth.is_answered() || is_over(fifth));
  EXPECT_EQ(third_lease->release(), release_result::released);
  EXPECT_EQ(fourth, "ok");
  EXPECT_FALSE(is_over(fifth));
  EXPECT_EQ(theirs.by(4).unlock(), "ok");
  EXPECT_TRUE(soon(fifth));
  EXPECT_THAT(keys(), IsEmpty());
}

TEST_P(redisson_fair, is_had_in_the_order_of_asking_when_they_hold_and_both_wait) {
  redisson java{server_, GetParam()};
  auto const theirs = java.fair_lock("orders");
  EXPECT_EQ(theirs.lock(), "ok");
  auto second = waiting_in(a_);
  ASSERT_TRUE(wait(1));
  auto third = waiting_in(b_);
  ASSERT_TRUE(wait(2));
  auto const fourth = theirs.by(4).lock();
  ASSERT_TRUE(wait(3));

  EXPECT_EQ(theirs.unlock(), "ok");
  auto second_lease = soon(second);
  ASSERT_TRUE(second_lease);
  EXPECT_FALSE(is_over(third) || fourth.is_answered());
  EXPECT_EQ(second_lease->release(), release_result::released);
  auto third_lease = soon(third);
  ASSERT_TRUE(third_lease);
  EXPECT_FALSE(fourth.is_answered());
  EXPECT_EQ(third_lease->release(), release_result::released);
  EXPECT_EQ(fourth, "ok");
  EXPECT_EQ(theirs.by(4).unlock(), "ok");
  EXPECT_THAT(keys(), IsEmpty());
}

TEST_P(redisson_fair, is_left_by_who_gives_up_and_keeps_the_places_of_the_others) {
  redisson java{server_, GetParam()};
  auto const theirs = java.fair_lock("orders");
  auto const fourth_owner = theirs.by(4).owner();
  auto mine = a_.acquire();
  auto const first = theirs.by(1).try_lock(10s);
  ASSERT_TRUE(wait(1));
  auto second = waiting_in(b_, 10s);
  ASSERT_TRUE(wait(2));
  std::stop_source stop;
  auto third = meanwhile([&] { return c_.acquire(stop.get_token()); });
  ASSERT_TRUE(wait(3));
  auto const fourth = theirs.by(4).lock();
  ASSERT_TRUE(wait(4));

  EXPECT_EQ(first, "false");
  EXPECT_FALSE(soon(second));
  stop.request_stop();
  EXPECT_THROW((void)soon(third), error);
  EXPECT_TRUE(wait(1));
  EXPECT_THAT(queue(), ElementsAre(fourth_owner));
  EXPECT_THAT(timeouts(), ElementsAre(fourth_owner));
  EXPECT_EQ(mine.release(), release_result::released);
  EXPECT_EQ(fourth, "ok");
  EXPECT_THAT(queue(), IsEmpty());
  EXPECT_THAT(timeouts(), IsEmpty());
  EXPECT_EQ(theirs.by(4).unlock(), "ok");
  EXPECT_THAT(keys(), IsEmpty());
}

/// Theirs counts as alive for as long as it said it would wait, ours for ten times its recheck, each from the
/// end of what the one before it has.
TEST_P(redisson_fair, goes_past_the_dead_of_both_in_its_queue) {
  redisson killed{server_, GetParam()};
  redisson java{server_, GetParam()};
  auto mine = fair_mutex{redis_, "orders", {.ttl = 3s}}.acquire();
  auto first = our_process("fair_mutex_inbox", "orders", 3s);
  first.say("acquire");
  ASSERT_TRUE(are_queued(1));
  first.kill9();
  auto const second = killed.fair_lock("orders").try_lock(5s);
  ASSERT_TRUE(are_queued(2));
  killed.kill9();
  auto third = waiting_in(b_);
  ASSERT_TRUE(are_queued(3));
  auto const fourth = java.fair_lock("orders").lock();
  ASSERT_TRUE(are_queued(4));
  EXPECT_EQ(mine.release(), release_result::released);
  auto third_lease = soon(third, 2 * patience);  // up to 18 s for the dead
  ASSERT_TRUE(third_lease);
  EXPECT_FALSE(fourth.is_answered());
  EXPECT_EQ(third_lease->release(), release_result::released);
  EXPECT_EQ(fourth, "ok");
  EXPECT_THAT(queue(), IsEmpty());
  EXPECT_THAT(timeouts(), IsEmpty());
}

TEST_P(redisson_fair, goes_to_the_next_in_the_queue_when_they_force_it_open) {
  redisson java{server_, GetParam()};
  auto mine = a_.acquire();
  auto next = waiting_in(b_);
  ASSERT_TRUE(wait(1));
  EXPECT_EQ(java.fair_lock("orders").force_unlock(), "true");
  auto const now = soon(next);
  ASSERT_TRUE(now);
  EXPECT_EQ(mine.release(), release_result::lost);
  EXPECT_TRUE(now->valid());
}

}  // namespace
}  // namespace holdfast::test
