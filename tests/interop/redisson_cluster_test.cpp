/// Objects of Redisson and Holdfast in a cluster, in which messages about a lock travel in its shard.
#include "redisson_deployments.hpp"

#include <holdfast/multi_mutex.hpp>
#include <holdfast/semaphore.hpp>

#include <tuple>

namespace holdfast::test {
namespace {

using testing::IsEmpty;

struct cluster_kind {
  std::string_view title;
  r_lock (redisson::*java_lock)(std::string name);
  std::string_view subject_title;  ///< a title of a subject
  std::string_view channel;        ///< the channel of the waiters; empty: fair, each waiter has its own

  friend std::ostream& operator<<(std::ostream& out, cluster_kind const& k) { return out << k.title; }
};

constexpr cluster_kind cluster_plain{"RLock", &redisson::lock, "mutex_inbox",
                                     "redisson_lock__channel:{orders}"};
constexpr cluster_kind cluster_fair{"RFairLock", &redisson::fair_lock, "fair_mutex_inbox", ""};
constexpr cluster_kind cluster_writer{"RWriteLock", &redisson::write_lock, "shared_mutex_redisson",
                                      "redisson_rwlock:{orders}"};

/// How Redisson sends messages, and which messages it receives.
enum class messages : std::uint8_t {
  as_probed,  ///< 4.7.0: in the slot of the lock. 3.27.2: in the slot, or to all nodes, depending on the node
              ///< that it probes first
  to_all,
};

class redisson_cluster
    : public redisson_deployment<cluster_servers, std::tuple<redisson_version, cluster_kind, messages>> {
 protected:
  [[nodiscard]] redisson_version version() const override { return std::get<0>(GetParam()); }
  [[nodiscard]] static cluster_kind const& kind() { return std::get<1>(GetParam()); }

  [[nodiscard]] redis_location location() {
    redis_location const usual{servers_};
    return std::get<2>(GetParam()) == messages::to_all ? usual.without_shards() : usual;
  }
  [[nodiscard]] static r_lock java_lock(redisson& java) { return (java.*kind().java_lock)("orders"); }
  [[nodiscard]] std::unique_ptr<any_lock> holdfast_lock(client& redis) {
    auto const& subject = subject_titled(kind().subject_title);
    return subject.make(redis, "orders", {.wake = subject.wake});
  }

  /// Whether one process waits, and sleeps.
  [[nodiscard]] bool waiter_sleeps() {
    if (!kind().channel.empty()) return are_listening(std::string{kind().channel});
    auto const queued = [&] {
      auto const queue = std::string{"redisson_lock_queue:{orders}"};
      return servers_.master_of(std::string{"orders"}).raw().command({"LLEN", queue}).integer == 1;
    };
    return eventually(time_limit, queued) && is_idle();
  }
};

std::string name_of(
    testing::TestParamInfo<std::tuple<redisson_version, cluster_kind, messages>> const& info) {
  return std::string{std::get<1>(info.param).title} +
         (std::get<0>(info.param) == redisson_version::current ? "_current" : "_v3_27_2") +
         (std::get<2>(info.param) == messages::to_all ? "_that_tells_all" : "");
}

INSTANTIATE_TEST_SUITE_P(current, redisson_cluster,
                         testing::Combine(testing::Values(redisson_version::current),
                                          testing::Values(cluster_plain, cluster_fair, cluster_writer),
                                          testing::Values(messages::as_probed, messages::to_all)),
                         name_of);
INSTANTIATE_TEST_SUITE_P(old, redisson_cluster,
                         testing::Combine(testing::Values(redisson_version::v3_27_2),
                                          testing::Values(cluster_plain),
                                          testing::Values(messages::as_probed)),
                         name_of);

TEST_P(redisson_cluster, has_either_wait_for_the_other) {
  redisson java{location(), version()};
  auto const lock = holdfast_lock(listening_);
  EXPECT_EQ(java_lock(java).lock(), "ok");
  EXPECT_FALSE(lock->try_acquire_for(0s));
  auto waiting = run_async([&] { return lock->try_acquire_for(acquire_timeout); });
  EXPECT_TRUE(waiter_sleeps());
  EXPECT_TRUE(holdfast_waiter_sleeps());
  EXPECT_FALSE(is_done(waiting));
  EXPECT_EQ(java_lock(java).unlock(), "ok");
  auto lease = await_result(waiting);
  ASSERT_TRUE(lease);
  EXPECT_EQ(java_lock(java).try_lock(), "false");
  auto const java_waiter = java_lock(java).lock();
  EXPECT_TRUE(waiter_sleeps());
  EXPECT_FALSE(java_waiter.is_answered());
  EXPECT_EQ(lease->release(), release_result::released);
  EXPECT_EQ(java_waiter, "ok");
  EXPECT_FALSE(holdfast_lock(redis_)->try_acquire_for(0s));
  EXPECT_EQ(java_lock(java).unlock(), "ok");
  EXPECT_THAT(keys(), IsEmpty());
}

TEST_P(redisson_cluster, loses_no_increment_of_a_counter_to_a_mixed_crowd) {
  redisson java{location(), version(), 10s};
  auto const holdfast_process = [&] {
    return worker::session(url_, std::string{kind().subject_title}, "orders", 10s);
  };
  auto first_process = holdfast_process();
  auto second_process = holdfast_process();
  // In the slot of the name, so that all processes find it at one server.
  auto const order =
      "increment " + servers_.master_of(std::string{"orders"}).socket_path() + " {orders}:counter 20";
  first_process.write_line(order);
  second_process.write_line(order);
  auto const first = java_lock(java).increment("{orders}:counter", 20);
  auto const second = java_lock(java).by(2).increment("{orders}:counter", 20);
  EXPECT_EQ(first_process.read_line(90s), "ok");
  EXPECT_EQ(second_process.read_line(90s), "ok");
  EXPECT_EQ(first.answer(90s), "ok");
  EXPECT_EQ(second.answer(90s), "ok");
  EXPECT_EQ(servers_.master_of(std::string{"orders"}).raw().get("{orders}:counter"), "80");
}

class redisson_in_shards : public redisson_deployment<cluster_servers, redisson_version> {
 protected:
  [[nodiscard]] redisson_version version() const override { return GetParam(); }
};

INSTANTIATE_TEST_SUITE_P(all, redisson_in_shards, testing::Values(redisson_version::current),
                         name_of_version);

TEST_P(redisson_in_shards, has_permits_that_wake_either) {
  redisson java{servers_, version()};
  auto const java_semaphore = java.semaphore("uploads");
  semaphore holdfast_semaphore{listening_, "uploads"};
  EXPECT_EQ(java_semaphore.set(1), "true");
  EXPECT_EQ(java_semaphore.acquire(), "ok");
  EXPECT_FALSE(holdfast_semaphore.try_acquire());
  auto waiting = run_async([&] { return holdfast_semaphore.try_acquire_for(acquire_timeout); });
  EXPECT_TRUE(are_listening("redisson_sc:{uploads}"));
  EXPECT_TRUE(holdfast_waiter_sleeps());
  EXPECT_EQ(java_semaphore.release(), "ok");
  EXPECT_TRUE(await_result(waiting));
  auto const java_waiter = java_semaphore.acquire();
  EXPECT_TRUE(are_listening("redisson_sc:{uploads}"));
  EXPECT_FALSE(java_waiter.is_answered());
  holdfast_semaphore.release();
  EXPECT_EQ(java_waiter, "ok");
}

TEST_P(redisson_in_shards, has_names_of_several_shards_taken_at_once_by_either) {
  redisson java{servers_, version()};
  ASSERT_NE(&servers_.master_of(std::string{"m1"}), &servers_.master_of(std::string{"m2"}));
  auto const java_lock = java.multi_lock("m1,m2");
  multi_mutex holdfast_lock{listening_, {"m2", "m1"}};
  EXPECT_EQ(java_lock.lock(), "ok");
  EXPECT_FALSE(holdfast_lock.try_acquire());
  auto waiting = run_async([&] { return holdfast_lock.try_acquire_for(acquire_timeout); });
  EXPECT_TRUE(holdfast_waiter_sleeps());
  EXPECT_FALSE(is_done(waiting));
  EXPECT_EQ(java_lock.unlock(), "ok");
  auto lease = await_result(waiting);
  ASSERT_TRUE(lease);
  EXPECT_EQ(java_lock.try_lock(), "false");
  lease->release();
  EXPECT_EQ(java_lock.try_lock(time_limit), "true");
  EXPECT_EQ(java_lock.unlock(), "ok");
  EXPECT_THAT(keys(), IsEmpty());
}

}  // namespace
}  // namespace holdfast::test
