/// RedissonRedLock and quorum_mutex over the same masters.
#include "redisson_deployments.hpp"

#include <holdfast/quorum_mutex.hpp>

namespace holdfast::test {
namespace {

using testing::IsEmpty;

constexpr auto redlock_channel = "redisson_lock__channel:{orders}";

class redisson_redlock : public redisson_deployment<independent_servers, redisson_version> {
 protected:
  [[nodiscard]] redisson_version version() const override { return GetParam(); }

  [[nodiscard]] std::size_t masters_with_lock() {
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
  auto const java_lock = java.red_lock("orders");
  quorum_mutex holdfast_lock{listening_, "orders"};
  EXPECT_EQ(java_lock.lock(), "ok");
  EXPECT_EQ(masters_with_lock(), servers_.size());
  EXPECT_FALSE(holdfast_lock.try_acquire());
  auto waiting = run_async([&] { return holdfast_lock.try_acquire_for(acquire_timeout); });
  EXPECT_TRUE(are_listening(redlock_channel));
  EXPECT_FALSE(is_done(waiting));
  EXPECT_EQ(java_lock.unlock(), "ok");
  auto const lease = await_result(waiting);
  ASSERT_TRUE(lease);
  EXPECT_EQ(java_lock.try_lock(), "false");
}

TEST_P(redisson_redlock, is_theirs_after_our_release) {
  redisson java{servers_, version()};
  auto const java_lock = java.red_lock("orders");
  auto lease = quorum_mutex{redis_, "orders"}.acquire();
  EXPECT_EQ(java_lock.try_lock(), "false");
  EXPECT_TRUE(eventually(time_limit, [&] { return masters_with_lock() == servers_.size(); }))
      << "what they took is given back, and what we hold stays";
  auto const waiting = java_lock.try_lock(60s);
  EXPECT_TRUE(
      eventually(time_limit, [&] { return servers_[0].raw().info("clients", "pubsub_clients") != "0"; }));
  EXPECT_FALSE(waiting.is_answered());
  EXPECT_EQ(lease.release(), release_result::released);
  EXPECT_EQ(waiting, "true");
  EXPECT_FALSE(quorum_mutex(redis_, "orders").try_acquire());
  EXPECT_EQ(java_lock.unlock(), "ok");
  EXPECT_TRUE(eventually(time_limit, [&] { return keys().empty(); }));
}

TEST_P(redisson_redlock, is_given_up_by_either_when_the_time_to_wait_is_over) {
  redisson java{servers_, version()};
  auto const java_lock = java.red_lock("orders");
  {
    auto const lease = quorum_mutex{redis_, "orders"}.acquire();
    EXPECT_EQ(java_lock.try_lock(1s), "false");
  }
  EXPECT_TRUE(eventually(time_limit, [&] { return keys().empty(); }));
  EXPECT_EQ(java_lock.lock(), "ok");
  EXPECT_FALSE(quorum_mutex(redis_, "orders").try_acquire_for(300ms));
  EXPECT_EQ(java_lock.unlock(), "ok");
  EXPECT_TRUE(eventually(time_limit, [&] { return keys().empty(); })) << "nobody waits any more";
}

TEST_P(redisson_redlock, goes_from_one_to_the_other_while_a_master_is_down) {
  redisson java{servers_, version()};
  auto const java_lock = java.red_lock("orders");
  quorum_mutex holdfast_lock{listening_, "orders"};
  servers_[4].kill9();
  EXPECT_EQ(java_lock.try_lock(time_limit), "true");
  EXPECT_EQ(masters_with_lock(), 4U);
  EXPECT_FALSE(holdfast_lock.try_acquire());
  auto waiting = run_async([&] { return holdfast_lock.try_acquire_for(acquire_timeout); });
  EXPECT_TRUE(are_listening(redlock_channel));
  EXPECT_EQ(java_lock.unlock(), "ok");
  auto lease = await_result(waiting);
  ASSERT_TRUE(lease);
  EXPECT_EQ(java_lock.try_lock(), "false");
  EXPECT_EQ(lease->release(), release_result::released);
  EXPECT_EQ(java_lock.try_lock(time_limit), "true");
  EXPECT_EQ(java_lock.unlock(), "ok");
  EXPECT_TRUE(eventually(time_limit, [&] { return keys().empty(); }));
}

/// Each side takes what the other side released, a majority at a time. The counter is at the first master.
TEST_P(redisson_redlock, loses_no_increment_of_a_counter_to_a_mixed_crowd) {
  redisson java{servers_, version(), 10s};
  auto const java_run = java.red_lock("orders").increment("counter", 10);
  quorum_mutex holdfast_lock{redis_, "orders"};
  auto raw = servers_[0].raw();
  for (auto left = 10; left > 0; --left) {
    auto const lease = holdfast_lock.try_acquire_for(acquire_timeout);
    ASSERT_TRUE(lease);
    raw.command({"SET", "counter", std::to_string(std::stoi(raw.get("counter").value_or("0")) + 1)});
  }
  EXPECT_EQ(java_run.answer(90s), "ok");
  EXPECT_EQ(raw.get("counter"), "20");
}

}  // namespace
}  // namespace holdfast::test
