/// RedissonRedLock and quorum_mutex over the same masters.
#include "redisson_deployments.hpp"

#include <holdfast/quorum_mutex.hpp>

namespace holdfast::test {
namespace {

using testing::IsEmpty;

constexpr auto redlock_channel = "redisson_lock__channel:{orders}";

class redisson_redlock : public redisson_on<independent_servers, redisson_version> {
 protected:
  [[nodiscard]] redisson_version version() const override { return GetParam(); }

  [[nodiscard]] std::size_t masters_that_have_it() {
    std::size_t count = 0;
    for (auto* const master : masters_of(servers_)) count += master->raw().exists("orders") ? 1 : 0;
    return count;
  }
};

INSTANTIATE_TEST_SUITE_P(all, redisson_redlock,
                         testing::Values(redisson_version::current, redisson_version::v3_27_2),
                         name_of_version);

TEST_P(redisson_redlock, is_ours_as_soon_as_they_unlock) {
  redisson java{servers_, version()};
  auto const theirs = java.red_lock("orders");
  quorum_mutex ours{listening_, "orders"};
  EXPECT_EQ(theirs.lock(), "ok");
  EXPECT_EQ(masters_that_have_it(), servers_.size());
  EXPECT_FALSE(ours.try_acquire());
  auto waiting = meanwhile([&] { return ours.try_acquire_for(long_enough); });
  EXPECT_TRUE(listen(redlock_channel));
  EXPECT_FALSE(is_over(waiting));
  EXPECT_EQ(theirs.unlock(), "ok");
  auto const mine = soon(waiting);
  ASSERT_TRUE(mine);
  EXPECT_EQ(theirs.try_lock(), "false");
}

TEST_P(redisson_redlock, is_theirs_after_our_release) {
  redisson java{servers_, version()};
  auto const theirs = java.red_lock("orders");
  auto mine = quorum_mutex{redis_, "orders"}.acquire();
  EXPECT_EQ(theirs.try_lock(), "false");
  EXPECT_TRUE(eventually(patience, [&] { return masters_that_have_it() == servers_.size(); }))
      << "what they took is given back, and what we hold stays";
  auto const waiting = theirs.try_lock(60s);
  EXPECT_TRUE(
      eventually(patience, [&] { return servers_[0].raw().info("clients", "pubsub_clients") != "0"; }));
  EXPECT_FALSE(waiting.is_answered());
  EXPECT_EQ(mine.release(), release_result::released);
  EXPECT_EQ(waiting, "true");
  EXPECT_FALSE(quorum_mutex(redis_, "orders").try_acquire());
  EXPECT_EQ(theirs.unlock(), "ok");
  EXPECT_TRUE(eventually(patience, [&] { return keys().empty(); }));
}

TEST_P(redisson_redlock, is_given_up_by_either_when_the_time_to_wait_is_over) {
  redisson java{servers_, version()};
  auto const theirs = java.red_lock("orders");
  {
    auto const mine = quorum_mutex{redis_, "orders"}.acquire();
    EXPECT_EQ(theirs.try_lock(1s), "false");
  }
  EXPECT_TRUE(eventually(patience, [&] { return keys().empty(); }));
  EXPECT_EQ(theirs.lock(), "ok");
  EXPECT_FALSE(quorum_mutex(redis_, "orders").try_acquire_for(300ms));
  EXPECT_EQ(theirs.unlock(), "ok");
  EXPECT_TRUE(eventually(patience, [&] { return keys().empty(); })) << "nobody waits any more";
}

TEST_P(redisson_redlock, goes_from_one_to_the_other_while_a_master_is_down) {
  redisson java{servers_, version()};
  auto const theirs = java.red_lock("orders");
  quorum_mutex ours{listening_, "orders"};
  servers_[4].kill9();
  EXPECT_EQ(theirs.try_lock(patience), "true");
  EXPECT_EQ(masters_that_have_it(), 4U);
  EXPECT_FALSE(ours.try_acquire());
  auto waiting = meanwhile([&] { return ours.try_acquire_for(long_enough); });
  EXPECT_TRUE(listen(redlock_channel));
  EXPECT_EQ(theirs.unlock(), "ok");
  auto mine = soon(waiting);
  ASSERT_TRUE(mine);
  EXPECT_EQ(theirs.try_lock(), "false");
  EXPECT_EQ(mine->release(), release_result::released);
  EXPECT_EQ(theirs.try_lock(patience), "true");
  EXPECT_EQ(theirs.unlock(), "ok");
  EXPECT_TRUE(eventually(patience, [&] { return keys().empty(); }));
}

/// Each takes what the other one has let go of, a majority at a time; the counter is at the first master.
TEST_P(redisson_redlock, loses_no_increment_of_a_counter_to_a_mixed_crowd) {
  redisson java{servers_, version(), 10s};
  auto const theirs = java.red_lock("orders").increment("counter", 10);
  quorum_mutex ours{redis_, "orders"};
  auto raw = servers_[0].raw();
  for (auto left = 10; left > 0; --left) {
    auto const mine = ours.try_acquire_for(long_enough);
    ASSERT_TRUE(mine);
    raw.command({"SET", "counter", std::to_string(std::stoi(raw.get("counter").value_or("0")) + 1)});
  }
  EXPECT_EQ(theirs.answer(90s), "ok");
  EXPECT_EQ(raw.get("counter"), "20");
}

}  // namespace
}  // namespace holdfast::test
