/// Every kind of lock on a cluster: its scripts keep to a slot, its messages go by the node that has the
/// lock, and names that can't work are refused.
#include "support/cluster_servers.hpp"
#include "support/eventually.hpp"
#include "support/registry.hpp"

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
  static cluster_servers all;
  return all;
}

/// So long that nobody who waits for less has got it by asking again.
constexpr auto never = 30s;
constexpr auto soon = 20s;

template <class F>
std::string refusal_of(F f) {
  try {
    f();
  } catch (error const& why) {
    EXPECT_EQ(why.code(), std::errc::invalid_argument);
    return why.what();
  }
  return "it was not refused";
}

class cluster_kinds : public testing::Test {
 protected:
  /// How many listen to the inbox of that client for locks with the tag of `name`.
  [[nodiscard]] std::int64_t listeners(client const& of, std::string const& name) {
    auto const channel = names::inbox(of.uuid(), name);
    return cluster().master_of(name).raw().command({"PUBSUB", "SHARDNUMSUB", channel}).elements.at(1).integer;
  }

  /// It waits when this returns.
  template <class Lock>
  [[nodiscard]] std::future<lease> waits_for(Lock& what) {
    auto const before = there_.stats().waits;
    auto got = std::make_shared<std::promise<lease>>();
    auto coming = got->get_future();
    what.async_acquire([got](std::optional<lease> one, std::exception_ptr const& failure) {
      if (failure) return got->set_exception(failure);
      got->set_value(std::move(*one));
    });
    EXPECT_TRUE(eventually(soon, [&] { return there_.stats().waits > before; }));
    return coming;
  }

  client here_{cluster().url(), {.recheck = never}};
  client there_{cluster().url(), {.recheck = never}};
};

TEST_F(cluster_kinds, grant_counts_only_when_the_master_says_the_same) {
  mutex held{here_, "orders"};
  mutex wanted{there_, "orders"};
  auto lease = held.acquire();
  auto coming = waits_for(wanted);
  // As a replica repeats it that was the master a moment ago: the new one has given the lock to somebody
  // else.
  auto raw = cluster().master_of("orders").raw();
  std::string owner;
  ASSERT_TRUE(eventually(soon, [&] {
    auto const queue = raw.command({"ZRANGE", names::queue("orders"), "0", "-1"});
    if (queue.elements.empty() || listeners(there_, "orders") == 0) return false;
    owner = queue.elements.front().text;
    return true;
  }));
  auto const number = owner.substr(owner.find(':') + 1);
  EXPECT_EQ(raw.command({"SPUBLISH", names::inbox(there_.uuid(), "orders"),
                         "granted " + number + " 9000000000000000 1 orders"})
                .integer,
            1);
  ASSERT_TRUE(eventually(soon, [&] { return there_.stats().messages > 0; }));
  EXPECT_EQ(coming.wait_for(300ms), std::future_status::timeout);
  EXPECT_EQ(there_.stats().granted, 0U);
  (void)lease.release();
  EXPECT_TRUE(coming.get().valid());
}

class each_kind : public cluster_kinds, public testing::WithParamInterface<subject> {};

TEST_P(each_kind, is_passed_to_a_waiter_of_another_client) {
  std::string const name{GetParam().title};
  lock_options const options{.ttl = 60s, .wake = GetParam().wake};
  auto const mine = GetParam().make(here_, name, options);
  auto const its = GetParam().make(there_, name, options);
  for (auto round = 0; round != 3; ++round) {
    auto held = mine->acquire();
    ASSERT_TRUE(held.valid());
    auto coming = waits_for(*its);
    EXPECT_EQ(held.release(), release_result::released);
    ASSERT_EQ(coming.wait_for(soon), std::future_status::ready);
    EXPECT_EQ(coming.get().release(), release_result::released);
  }
}

INSTANTIATE_TEST_SUITE_P(cluster, each_kind, testing::ValuesIn(registry()),
                         [](auto const& one) { return std::string{one.param.title}; });

// The first time its channel may be opened behind the release; after that it is open already, unless the
// machine has stood still for seconds.
TEST_F(cluster_kinds, tells_by_a_message_in_the_slot_of_the_lock) {
  for (std::string const name : {"a", "b", "{c}d", "e{f}"}) {
    mutex mine{here_, name, {.ttl = 60s}};
    mutex its{there_, name, {.ttl = 60s}};
    auto const before = there_.stats().messages;
    auto held = mine.acquire();
    auto coming = waits_for(its);
    ASSERT_TRUE(eventually(soon, [&] { return listeners(there_, name) == 1; })) << name;
    held.release();
    ASSERT_EQ(coming.wait_for(soon), std::future_status::ready) << name;
    coming.get().release();
    EXPECT_TRUE(eventually([&] { return there_.stats().messages == before + 1; })) << name;
  }
  EXPECT_EQ(there_.stats().rechecks, 0U);
}

TEST_F(cluster_kinds, takes_names_of_many_slots_together) {
  std::vector<std::string> names;
  std::set<std::uint16_t> slots;
  for (auto i = 0; i != 12; ++i) {
    names.push_back(i % 4 == 0 ? "{same}" + std::to_string(i) : "name" + std::to_string(i));
    slots.insert(cluster_servers::slot_of(names.back()));
  }
  multi_mutex mine{here_, names};
  std::ranges::reverse(names);
  multi_mutex its{there_, names};
  auto held = mine.acquire();
  EXPECT_EQ(held.parts().size(), slots.size());
  for (auto const& name : names) EXPECT_GT(held.token(name), 0) << name;
  EXPECT_FALSE(its.try_acquire());
  EXPECT_EQ(held.release(), release_result::released);
  auto again = its.try_acquire_for(soon);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->release(), release_result::released);
}

// Programs that take overlapping names in turns, over slots: all come through.
TEST_F(cluster_kinds, brings_all_through_that_take_overlapping_names) {
  client third{cluster().url()};
  std::vector<std::pair<client*, std::vector<std::string>>> const wishes{
      {&here_, {"x", "y", "z"}}, {&there_, {"z", "x"}}, {&third, {"y", "z"}}};
  std::atomic<int> inside = 0;
  std::atomic<int> turns = 0;
  {
    std::vector<std::jthread> all;
    for (auto const& [who, which] : wishes) {
      all.emplace_back([&inside, &turns, who, which] {
        multi_mutex m{*who, which, {.ttl = 10s}};
        for (auto i = 0; i != 5; ++i) {
          auto const held = m.acquire();
          EXPECT_EQ(inside.fetch_add(1), 0);  // each two of them share a name
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
        std::make_unique<mutex>(here_, std::move(name), lock_options{.ttl = 60s, .renew_every = 1s}));
    leases.push_back(locks.back()->acquire());
  }
  EXPECT_TRUE(eventually(soon, [&] { return here_.stats().renewals >= 600; }));
  EXPECT_EQ(here_.stats().lost, 0U);
  EXPECT_TRUE(std::ranges::all_of(leases, &lease::valid));
}

TEST_F(cluster_kinds, finds_the_locks_of_all_masters) {
  std::vector<std::unique_ptr<mutex>> locks;
  std::vector<lease> leases;
  for (auto const of : {wire::plain, wire::redisson}) {
    std::set<std::string> wanted;
    for (auto i = 0; i != 30; ++i) {
      auto const name = (of == wire::plain ? "seen" : "seen by java ") + std::to_string(i);
      wanted.insert(name);
      locks.push_back(std::make_unique<mutex>(here_, name, lock_options{.ttl = 60s, .wire = of}));
      leases.push_back(locks.back()->acquire());
    }
    std::set<std::string> found;
    for_each_lock(
        there_, "seen*",
        [&found](lock_state const& one) {
          found.insert(one.name);
          return true;
        },
        of);
    EXPECT_EQ(found, wanted);
  }
}

TEST_F(cluster_kinds, asks_the_holder_before_it_releases_by_force) {
  for (auto const of : {wire::plain, wire::redisson}) {
    mutex mine{here_, "forced", {.ttl = 60s, .wire = of}};
    auto held = mine.acquire();
    std::atomic<loss_cause> told = loss_cause::none;
    held.on_lost([&](loss_cause why) {
      told = why;
      held.async_release({});
    });
    auto const result = force_release(there_, "forced", {.grace = soon});
    EXPECT_EQ(result, force_result::released_by_holder);
    EXPECT_EQ(told.load(), loss_cause::forced);
  }
}

TEST_F(cluster_kinds, counts_permits_and_opens_latches_over_clients) {
  semaphore mine{here_, "permits"};
  semaphore its{there_, "permits"};
  mine.try_set_permits(1);
  mine.acquire();
  auto waiting = std::async(std::launch::async, [&its] { return its.try_acquire_for(soon); });
  ASSERT_TRUE(eventually(soon, [&] { return there_.stats().waits == 1; }));
  mine.release();
  EXPECT_TRUE(waiting.get());
  its.release();

  latch gate{here_, "gate"};
  latch same{there_, "gate"};
  gate.try_set_count(1);
  auto passing = std::async(std::launch::async, [&same] { return same.wait_for(soon); });
  ASSERT_TRUE(eventually(soon, [&] { return there_.stats().waits == 2; }));
  gate.count_down();
  EXPECT_TRUE(passing.get());
}

TEST_F(cluster_kinds, refuses_names_whose_side_keys_are_in_other_slots) {
  for (std::string const name : {"a{b", "a}b", "{}x"}) {
    EXPECT_THAT(refusal_of([&] { mutex{here_, name}; }), testing::HasSubstr("can't be used in a cluster"));
    EXPECT_THAT(refusal_of([&] { multi_mutex{here_, {"fine", name}}; }), testing::HasSubstr(name));
    EXPECT_THAT(refusal_of([&] { fence{here_, name}; }), testing::HasSubstr("hash slot"));
  }
  EXPECT_THAT(refusal_of([&] { latch{here_, "{a}b"}; }), testing::HasSubstr("Leave the braces out"));
}

TEST_F(cluster_kinds, fences_keys_of_the_same_slot) {
  fence guard{here_, "orders"};
  EXPECT_EQ(guard.set("{orders}total", "1", 7), fence_result::written);
  EXPECT_EQ(guard.set("{orders}total", "2", 6), fence_result::refused_stale);
  EXPECT_EQ(guard.newest(), 7);
  EXPECT_THAT(refusal_of([&] { (void)guard.set("total", "1", 8); }), testing::HasSubstr("{orders}total"));
}

}  // namespace
}  // namespace holdfast::test
