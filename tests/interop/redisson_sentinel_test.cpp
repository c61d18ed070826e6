/// RLock and mutex on a master that sentinels watch: who holds and who waits, also when another server takes
/// over.
#include "redisson_deployments.hpp"

#include <holdfast/mutex.hpp>

namespace holdfast::test {
namespace {

using testing::IsEmpty;

constexpr auto sentinel_lock_channel = "redisson_lock__channel:{orders}";

class redisson_sentinel : public redisson_on<sentinel_servers, redisson_version> {
 protected:
  [[nodiscard]] redisson_version version() const override { return GetParam(); }

  void fail_over() {
    ASSERT_TRUE(servers_.wait_until_replicated());
    servers_.failover();
  }
};

INSTANTIATE_TEST_SUITE_P(all, redisson_sentinel,
                         testing::Values(redisson_version::current, redisson_version::v3_27_2),
                         name_of_version);

TEST_P(redisson_sentinel, has_either_wait_for_the_other) {
  redisson java{servers_, version()};
  auto const theirs = java.lock("orders");
  mutex ours{listening_, "orders"};
  EXPECT_EQ(theirs.lock(), "ok");
  EXPECT_FALSE(ours.try_acquire());
  auto waiting = meanwhile([&] { return ours.try_acquire_for(long_enough); });
  EXPECT_TRUE(listen(sentinel_lock_channel));
  EXPECT_TRUE(we_sleep());
  EXPECT_FALSE(is_over(waiting));
  EXPECT_EQ(theirs.unlock(), "ok");
  auto mine = soon(waiting);
  ASSERT_TRUE(mine);
  EXPECT_EQ(theirs.try_lock(), "false");
  auto const they_wait = theirs.lock();
  EXPECT_TRUE(listen(sentinel_lock_channel));
  EXPECT_FALSE(they_wait.is_answered());
  EXPECT_EQ(mine->release(), release_result::released);
  EXPECT_EQ(they_wait, "ok");
  EXPECT_EQ(theirs.unlock(), "ok");
  EXPECT_THAT(keys(), IsEmpty());
}

TEST_P(redisson_sentinel, that_we_hold_is_theirs_after_a_failover_and_our_release) {
  redisson java{servers_, version()};
  auto mine = mutex{redis_, "orders", {.ttl = 15s}}.acquire();
  auto const waiting = java.lock("orders").lock();
  EXPECT_TRUE(listen(sentinel_lock_channel));
  fail_over();
  EXPECT_FALSE(waiting.is_answered());
  EXPECT_TRUE(mine.valid());
  // 3.27.2 doesn't, as a rule: whoever waits there looks again when the ttl that it saw is over.
  if (version() == redisson_version::current) {
    EXPECT_TRUE(listen(sentinel_lock_channel)) << "at the new master";
  }
  EXPECT_EQ(mine.release(), release_result::released);
  EXPECT_EQ(waiting, "ok");
  EXPECT_EQ(java.lock("orders").unlock(), "ok");
  EXPECT_THAT(keys(), IsEmpty());
}

TEST_P(redisson_sentinel, that_they_hold_is_ours_after_a_failover_and_their_unlock) {
  redisson java{servers_, version()};
  EXPECT_EQ(java.lock("orders").lock(), "ok");
  mutex ours{listening_, "orders"};
  auto waiting = meanwhile([&] { return ours.try_acquire_for(long_enough); });
  EXPECT_TRUE(listen(sentinel_lock_channel));
  fail_over();
  EXPECT_TRUE(listen(sentinel_lock_channel)) << "at the new master";
  EXPECT_FALSE(is_over(waiting));
  EXPECT_EQ(java.lock("orders").is_held(), "true");
  EXPECT_EQ(java.lock("orders").unlock(), "ok");
  auto const mine = soon(waiting);
  ASSERT_TRUE(mine);
  EXPECT_EQ(java.lock("orders").try_lock(), "false");
}

}  // namespace
}  // namespace holdfast::test
