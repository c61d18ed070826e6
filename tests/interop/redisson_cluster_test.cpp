/// Redisson's objects and ours in a cluster, where messages about a lock travel in its shard.
#include "redisson_deployments.hpp"

#include <holdfast/multi_mutex.hpp>
#include <holdfast/semaphore.hpp>

#include <tuple>

namespace holdfast::test {
namespace {

using testing::IsEmpty;

struct cluster_kind {
  std::string_view title;
  their_lock (redisson::*theirs)(std::string name);
  std::string_view ours;      ///< a title of the registry
  std::string_view shown_in;  ///< the channel of those who wait; for a fair lock each has its own

  friend std::ostream& operator<<(std::ostream& out, cluster_kind const& k) { return out << k.title; }
};

constexpr cluster_kind cluster_plain{"RLock", &redisson::lock, "mutex_inbox",
                                     "redisson_lock__channel:{orders}"};
constexpr cluster_kind cluster_fair{"RFairLock", &redisson::fair_lock, "fair_mutex_inbox", ""};
constexpr cluster_kind cluster_writer{"RWriteLock", &redisson::write_lock, "shared_mutex_inbox",
                                      "redisson_rwlock:{orders}"};

/// How Redisson sends messages, and which it hears.
enum class messages : std::uint8_t {
  as_probed,  ///< 4.7.0: in the slot of the lock. 3.27.2: so, or to all nodes, depending on whom it probes
              ///< first
  to_all,
};

class redisson_cluster
    : public redisson_on<cluster_servers, std::tuple<redisson_version, cluster_kind, messages>> {
 protected:
  [[nodiscard]] redisson_version version() const override { return std::get<0>(GetParam()); }
  [[nodiscard]] static cluster_kind const& what() { return std::get<1>(GetParam()); }

  [[nodiscard]] whereabouts where() {
    whereabouts const usual{servers_};
    return std::get<2>(GetParam()) == messages::to_all ? usual.without_shards() : usual;
  }
  [[nodiscard]] static their_lock theirs(redisson& java) { return (java.*what().theirs)("orders"); }
  [[nodiscard]] std::unique_ptr<any_lock> ours(client& redis) {
    auto const& subject = subject_titled(what().ours);
    return subject.make(redis, "orders", {.wake = subject.wake});
  }

  /// One process waits, and sleeps.
  [[nodiscard]] bool one_waits() {
    if (!what().shown_in.empty()) return listen(std::string{what().shown_in});
    auto const queued = [&] {
      auto const queue = std::string{"redisson_lock_queue:{orders}"};
      return servers_.master_of(std::string{"orders"}).raw().command({"LLEN", queue}).integer == 1;
    };
    return eventually(patience, queued) && all_is_quiet();
  }
};

std::string name_of(testing::TestParamInfo<std::tuple<redisson_version, cluster_kind, messages>> const& of) {
  return std::string{std::get<1>(of.param).title} +
         (std::get<0>(of.param) == redisson_version::current ? "_current" : "_v3_27_2") +
         (std::get<2>(of.param) == messages::to_all ? "_that_tells_all" : "");
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
  redisson java{where(), version()};
  auto const lock = ours(listening_);
  EXPECT_EQ(theirs(java).lock(), "ok");
  EXPECT_FALSE(lock->try_acquire_for(0s));
  auto waiting = meanwhile([&] { return lock->try_acquire_for(long_enough); });
  EXPECT_TRUE(one_waits());
  EXPECT_TRUE(we_sleep());
  EXPECT_FALSE(is_over(waiting));
  EXPECT_EQ(theirs(java).unlock(), "ok");
  auto mine = soon(waiting);
  ASSERT_TRUE(mine);
  EXPECT_EQ(theirs(java).try_lock(), "false");
  auto const they_wait = theirs(java).lock();
  EXPECT_TRUE(one_waits());
  EXPECT_FALSE(they_wait.is_answered());
  EXPECT_EQ(mine->release(), release_result::released);
  EXPECT_EQ(they_wait, "ok");
  EXPECT_FALSE(ours(redis_)->try_acquire_for(0s));
  EXPECT_EQ(theirs(java).unlock(), "ok");
  EXPECT_THAT(keys(), IsEmpty());
}

TEST_P(redisson_cluster, loses_no_increment_of_a_counter_to_a_mixed_crowd) {
  redisson java{where(), version(), 10s};
  auto const our_process = [&] { return worker::session(url_, std::string{what().ours}, "orders", 10s); };
  auto one = our_process();
  auto two = our_process();
  // In the slot of the name, so that all find it at one server.
  auto const order =
      "increment " + servers_.master_of(std::string{"orders"}).socket_path() + " {orders}:counter 20";
  one.say(order);
  two.say(order);
  auto const first = theirs(java).increment("{orders}:counter", 20);
  auto const second = theirs(java).by(2).increment("{orders}:counter", 20);
  EXPECT_EQ(one.hear(90s), "ok");
  EXPECT_EQ(two.hear(90s), "ok");
  EXPECT_EQ(first.answer(90s), "ok");
  EXPECT_EQ(second.answer(90s), "ok");
  EXPECT_EQ(servers_.master_of(std::string{"orders"}).raw().get("{orders}:counter"), "80");
}

class redisson_in_shards : public redisson_on<cluster_servers, redisson_version> {
 protected:
  [[nodiscard]] redisson_version version() const override { return GetParam(); }
};

INSTANTIATE_TEST_SUITE_P(all, redisson_in_shards, testing::Values(redisson_version::current),
                         name_of_version);

TEST_P(redisson_in_shards, has_permits_that_wake_either) {
  redisson java{servers_, version()};
  auto const theirs = java.semaphore("uploads");
  semaphore ours{listening_, "uploads"};
  EXPECT_EQ(theirs.set(1), "true");
  EXPECT_EQ(theirs.acquire(), "ok");
  EXPECT_FALSE(ours.try_acquire());
  auto waiting = meanwhile([&] { return ours.try_acquire_for(long_enough); });
  EXPECT_TRUE(listen("redisson_sc:{uploads}"));
  EXPECT_TRUE(we_sleep());
  EXPECT_EQ(theirs.release(), "ok");
  EXPECT_TRUE(soon(waiting));
  auto const they_wait = theirs.acquire();
  EXPECT_TRUE(listen("redisson_sc:{uploads}"));
  EXPECT_FALSE(they_wait.is_answered());
  ours.release();
  EXPECT_EQ(they_wait, "ok");
}

TEST_P(redisson_in_shards, has_names_of_several_shards_taken_at_once_by_either) {
  redisson java{servers_, version()};
  ASSERT_NE(&servers_.master_of(std::string{"m1"}), &servers_.master_of(std::string{"m2"}));
  auto const theirs = java.multi_lock("m1,m2");
  multi_mutex ours{listening_, {"m2", "m1"}};
  EXPECT_EQ(theirs.lock(), "ok");
  EXPECT_FALSE(ours.try_acquire());
  auto waiting = meanwhile([&] { return ours.try_acquire_for(long_enough); });
  EXPECT_TRUE(we_sleep());
  EXPECT_FALSE(is_over(waiting));
  EXPECT_EQ(theirs.unlock(), "ok");
  auto mine = soon(waiting);
  ASSERT_TRUE(mine);
  EXPECT_EQ(theirs.try_lock(), "false");
  mine->release();
  EXPECT_EQ(theirs.try_lock(patience), "true");
  EXPECT_EQ(theirs.unlock(), "ok");
  EXPECT_THAT(keys(), IsEmpty());
}

}  // namespace
}  // namespace holdfast::test
