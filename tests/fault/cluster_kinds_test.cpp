/// Every kind of lock on a cluster: its scripts keep to a slot, its messages go through the node that has the
/// lock, and it refuses names that can't work.
#include "support/cluster_servers.hpp"
#include "support/eventually.hpp"
#include "support/failure_of.hpp"
#include "support/subjects.hpp"

#include <holdfast/client.hpp>
#include <holdfast/expiring_semaphore.hpp>
#include <holdfast/fence.hpp>
#include <holdfast/inspect.hpp>
#include <holdfast/latch.hpp>
#include <holdfast/multi_mutex.hpp>
#include <holdfast/mutex.hpp>
#include <holdfast/semaphore.hpp>

#include <gmock/gmock.h>

#include <atomic>
#include <future>
#include <set>

#include "script/names.hpp"

namespace holdfast::test {
namespace {

cluster_servers& cluster() {
  static cluster_servers servers;
  return servers;
}

/// Longer than any wait of a test: no waiter gets its lock by a re-check.
constexpr auto never = 30s;
constexpr auto soon = 20s;

template <class F>
std::string refusal_of(F f) {
  auto const refusal = failure_of(f);
  EXPECT_EQ(refusal.code, std::errc::invalid_argument);
  return refusal.message;
}

class cluster_kinds : public testing::Test {
 protected:
  /// The number of subscribers to the inbox of `waiting_client` for locks with the tag of `name`.
  [[nodiscard]] std::int64_t listeners(client const& waiting_client, std::string const& name) {
    auto const channel = names::inbox(waiting_client.uuid(), name);
    return cluster().master_of(name).raw().command({"PUBSUB", "SHARDNUMSUB", channel}).elements.at(1).integer;
  }

  /// Returns when the acquisition waits.
  template <class Lock>
  [[nodiscard]] std::future<lease> start_waiting(Lock& lock) {
    auto const before = waiting_.stats().waits;
    auto promise = std::make_shared<std::promise<lease>>();
    auto pending = promise->get_future();
    lock.async_acquire([promise](std::optional<lease> acquired, std::exception_ptr const& failure) {
      if (failure) return promise->set_exception(failure);
      promise->set_value(std::move(*acquired));
    });
    EXPECT_TRUE(eventually(soon, [&] { return waiting_.stats().waits > before; }));
    return pending;
  }

  client holder_{cluster().url(), {.recheck = never}};
  client waiting_{cluster().url(), {.recheck = never}};
};

TEST_F(cluster_kinds, grant_counts_only_when_the_master_says_the_same) {
  mutex holder_mutex{holder_, "orders"};
  mutex waiting_mutex{waiting_, "orders"};
  auto lease = holder_mutex.acquire();
  auto pending = start_waiting(waiting_mutex);
  // As from a replica that was the master a moment ago, while the new master has granted the lock to another
  // owner.
  auto raw = cluster().master_of("orders").raw();
  std::string owner;
  ASSERT_TRUE(eventually(soon, [&] {
    auto const queue = raw.command({"ZRANGE", names::queue("orders"), "0", "-1"});
    if (queue.elements.empty() || listeners(waiting_, "orders") == 0) return false;
    owner = queue.elements.front().text;
    return true;
  }));
  auto const number = owner.substr(owner.find(':') + 1);
  EXPECT_EQ(raw.command({"SPUBLISH", names::inbox(waiting_.uuid(), "orders"),
                         "granted " + number + " 9000000000000000 1 orders"})
                .integer,
            1);
  ASSERT_TRUE(eventually(soon, [&] { return waiting_.stats().messages > 0; }));
  EXPECT_EQ(pending.wait_for(300ms), std::future_status::timeout);
  EXPECT_EQ(waiting_.stats().granted, 0U);
  (void)lease.release();
  EXPECT_TRUE(pending.get().valid());
}

class each_kind : public cluster_kinds, public testing::WithParamInterface<subject> {};

TEST_P(each_kind, is_passed_to_a_waiter_of_another_client) {
  std::string const name{GetParam().title};
  lock_options const options{.ttl = 60s, .wake = GetParam().wake};
  auto const holder_lock = GetParam().make(holder_, name, options);
  auto const waiting_lock = GetParam().make(waiting_, name, options);
  for (auto round = 0; round != 3; ++round) {
    auto lease = holder_lock->acquire();
    ASSERT_TRUE(lease.valid());
    auto pending = start_waiting(*waiting_lock);
    EXPECT_EQ(lease.release(), release_result::released);
    ASSERT_EQ(pending.wait_for(soon), std::future_status::ready);
    EXPECT_EQ(pending.get().release(), release_result::released);
  }
}

INSTANTIATE_TEST_SUITE_P(cluster, each_kind, testing::ValuesIn(subjects()),
                         [](auto const& info) { return std::string{info.param.title}; });

// In the first round the channel may open behind the release. After that it is open already, unless the
// machine has stood still for seconds.
TEST_F(cluster_kinds, tells_by_a_message_in_the_slot_of_the_lock) {
  for (std::string const name : {"a", "b", "{c}d", "e{f}"}) {
    mutex holder_mutex{holder_, name, {.ttl = 60s}};
    mutex waiting_mutex{waiting_, name, {.ttl = 60s}};
    auto const before = waiting_.stats().messages;
    auto lease = holder_mutex.acquire();
    auto pending = start_waiting(waiting_mutex);
    ASSERT_TRUE(eventually(soon, [&] { return listeners(waiting_, name) == 1; })) << name;
    lease.release();
    ASSERT_EQ(pending.wait_for(soon), std::future_status::ready) << name;
    pending.get().release();
    EXPECT_TRUE(eventually([&] { return waiting_.stats().messages == before + 1; })) << name;
  }
  EXPECT_EQ(waiting_.stats().rechecks, 0U);
}

TEST_F(cluster_kinds, takes_names_of_many_slots_together) {
  std::vector<std::string> names;
  std::set<std::uint16_t> slots;
  for (auto i = 0; i != 12; ++i) {
    names.push_back(i % 4 == 0 ? "{same}" + std::to_string(i) : "name" + std::to_string(i));
    slots.insert(cluster_servers::slot_of(names.back()));
  }
  multi_mutex holder_mutex{holder_, names};
  std::ranges::reverse(names);
  multi_mutex other_mutex{waiting_, names};
  auto lease = holder_mutex.acquire();
  EXPECT_EQ(lease.parts().size(), slots.size());
  for (auto const& name : names) EXPECT_GT(lease.token(name), 0) << name;
  EXPECT_FALSE(other_mutex.try_acquire());
  EXPECT_EQ(lease.release(), release_result::released);
  auto other_lease = other_mutex.try_acquire_for(soon);
  ASSERT_TRUE(other_lease);
  EXPECT_EQ(other_lease->release(), release_result::released);
}

// Programs acquire overlapping names in turns, over several slots: all of them succeed.
TEST_F(cluster_kinds, brings_all_through_that_take_overlapping_names) {
  client third{cluster().url()};
  std::vector<std::pair<client*, std::vector<std::string>>> const contenders{
      {&holder_, {"x", "y", "z"}}, {&waiting_, {"z", "x"}}, {&third, {"y", "z"}}};
  std::atomic<int> inside = 0;
  std::atomic<int> turns = 0;
  {
    std::vector<std::jthread> threads;
    for (auto const& [contender, contender_names] : contenders) {
      threads.emplace_back([&inside, &turns, contender, contender_names] {
        multi_mutex m{*contender, contender_names, {.ttl = 10s}};
        for (auto i = 0; i != 5; ++i) {
          auto const lease = m.acquire();
          EXPECT_EQ(inside.fetch_add(1), 0);  // each two contenders share a name
          inside.fetch_sub(1);
          ++turns;
        }
      });
    }
  }
  EXPECT_EQ(turns, 15);
}

TEST_F(cluster_kinds, renews_leases_in_all_slots) {
  std::vector<std::unique_ptr<mutex>> locks;
  std::vector<lease> leases;
  for (auto i = 0; i != 200; ++i) {
    auto name =
        i % 2 == 0 ? "renewed" + std::to_string(i) : "{" + std::to_string(i % 8) + "}" + std::to_string(i);
    locks.push_back(
        std::make_unique<mutex>(holder_, std::move(name), lock_options{.ttl = 60s, .renew_every = 1s}));
    leases.push_back(locks.back()->acquire());
  }
  EXPECT_TRUE(eventually(soon, [&] { return holder_.stats().renewals >= 600; }));
  EXPECT_EQ(holder_.stats().lost, 0U);
  EXPECT_TRUE(std::ranges::all_of(leases, &lease::valid));
}

TEST_F(cluster_kinds, finds_the_locks_of_all_masters) {
  std::vector<std::unique_ptr<mutex>> locks;
  std::vector<lease> leases;
  for (auto const protocol : {wire::plain, wire::redisson}) {
    std::set<std::string> expected;
    for (auto i = 0; i != 30; ++i) {
      auto const name = (protocol == wire::plain ? "seen" : "seen by java ") + std::to_string(i);
      expected.insert(name);
      locks.push_back(std::make_unique<mutex>(holder_, name, lock_options{.ttl = 60s, .wire = protocol}));
      leases.push_back(locks.back()->acquire());
    }
    std::set<std::string> found;
    for_each_lock(
        waiting_, "seen*",
        [&found](lock_state const& state) {
          found.insert(state.name);
          return true;
        },
        protocol);
    EXPECT_EQ(found, expected);
  }
}

TEST_F(cluster_kinds, asks_the_holder_before_it_releases_by_force) {
  for (auto const protocol : {wire::plain, wire::redisson}) {
    mutex holder_mutex{holder_, "forced", {.ttl = 60s, .wire = protocol}};
    auto lease = holder_mutex.acquire();
    std::atomic<loss_cause> reported_cause = loss_cause::none;
    lease.on_lost([&](loss_cause cause) {
      reported_cause = cause;
      lease.async_release({});
    });
    auto const result = force_release(waiting_, "forced", {.grace = soon});
    EXPECT_EQ(result, force_result::released_by_holder);
    EXPECT_EQ(reported_cause.load(), loss_cause::forced);
  }
}

TEST_F(cluster_kinds, counts_permits_and_opens_latches_over_clients) {
  semaphore first_semaphore{holder_, "permits"};
  semaphore second_semaphore{waiting_, "permits"};
  first_semaphore.try_set_permits(1);
  first_semaphore.acquire();
  auto waiting =
      std::async(std::launch::async, [&second_semaphore] { return second_semaphore.try_acquire_for(soon); });
  ASSERT_TRUE(eventually(soon, [&] { return waiting_.stats().waits == 1; }));
  first_semaphore.release();
  EXPECT_TRUE(waiting.get());
  second_semaphore.release();

  latch first_latch{holder_, "gate"};
  latch second_latch{waiting_, "gate"};
  first_latch.try_set_count(1);
  auto passing = std::async(std::launch::async, [&second_latch] { return second_latch.wait_for(soon); });
  ASSERT_TRUE(eventually(soon, [&] { return waiting_.stats().waits == 2; }));
  first_latch.count_down();
  EXPECT_TRUE(passing.get());
}

TEST_F(cluster_kinds, refuses_names_whose_side_keys_are_in_other_slots) {
  for (std::string const name : {"a{b", "a}b", "{}x"}) {
    EXPECT_THAT(refusal_of([&] { mutex{holder_, name}; }), testing::HasSubstr("can't be used in a cluster"));
    EXPECT_THAT(refusal_of([&] { multi_mutex{holder_, {"fine", name}}; }), testing::HasSubstr(name));
    EXPECT_THAT(refusal_of([&] { fence{holder_, name}; }), testing::HasSubstr("hash slot"));
  }
  EXPECT_THAT(refusal_of([&] { latch{holder_, "{a}b", {.wire = wire::redisson}}; }),
              testing::HasSubstr("Leave the braces out"));
}

TEST_F(cluster_kinds, fences_keys_of_the_same_slot) {
  fence guard{holder_, "orders"};
  EXPECT_EQ(guard.set("{orders}total", "1", 7), fence_result::written);
  EXPECT_EQ(guard.set("{orders}total", "2", 6), fence_result::refused_stale);
  EXPECT_EQ(guard.newest(), 7);
  EXPECT_THAT(refusal_of([&] { (void)guard.set("total", "1", 8); }), testing::HasSubstr("{orders}total"));
}

}  // namespace
}  // namespace holdfast::test
