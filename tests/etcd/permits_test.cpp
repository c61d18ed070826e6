// Permits of Holdfast on three members of etcd.

#include "holder.hpp"
#include "permits_fixture.hpp"

#include <gmock/gmock.h>

#include <memory>
#include <optional>
#include <vector>

namespace holdfast::test {
namespace {

using testing::StartsWith;

TEST_F(etcd_permits, has_as_many_holders_as_there_are_permits) {
  expiring_semaphore here{first_, "few", 2};
  expiring_semaphore there{second_, "few", 2};
  auto one = here.acquire();
  auto two = there.try_acquire();
  ASSERT_TRUE(two);
  EXPECT_GT(two->token(), one.token());
  EXPECT_FALSE(here.try_acquire());
  EXPECT_FALSE(there.try_acquire());
  EXPECT_EQ(places("few"), 2);
  EXPECT_EQ(here.available(), 0);
  EXPECT_EQ(there.permits(), 2);
  EXPECT_EQ(there.acquired(), 2);
  EXPECT_EQ(one.release(), release_result::released);
  auto three = there.try_acquire();
  ASSERT_TRUE(three);
  EXPECT_GT(three->token(), two->token());
  EXPECT_EQ(two->release(), release_result::released);
  EXPECT_EQ(three->release(), release_result::released);
  EXPECT_TRUE(come_to_be("few", 0));
  EXPECT_EQ(here.available(), 2);
  EXPECT_TRUE(three_etcds().keys("permits/few/").empty());
}

TEST_F(etcd_permits, takes_several_as_one_lease_and_gives_them_back_together) {
  expiring_semaphore here{first_, "weights", 5};
  expiring_semaphore there{second_, "weights", 5};
  auto three = here.acquire(3);
  EXPECT_FALSE(there.try_acquire(3));
  auto two = there.try_acquire(2);
  ASSERT_TRUE(two);
  EXPECT_FALSE(here.try_acquire());
  EXPECT_EQ(here.acquired(), 5);
  EXPECT_EQ(three.release(), release_result::released);
  EXPECT_EQ(here.available(), 3);
  EXPECT_TRUE(here.try_acquire(3));
}

/// A caller that wants many isn't overtaken by one that wants few.
TEST_F(etcd_permits, goes_on_in_the_order_of_arrival) {
  expiring_semaphore here{first_, "order", 3};
  auto held = here.acquire(2);
  caller many{"order", 3, 3};
  ASSERT_TRUE(come_to_be("order", 2));
  EXPECT_FALSE(expiring_semaphore(second_, "order", 3).try_acquire());  // one is left, and somebody waits
  caller few{"order", 3, 1};
  ASSERT_TRUE(come_to_be("order", 3));
  EXPECT_EQ(held.release(), release_result::released);
  ASSERT_TRUE(eventually([&] { return many.holds(); }));
  EXPECT_FALSE(few.holds());
  many.leave();
  ASSERT_TRUE(eventually([&] { return few.holds(); }));
  EXPECT_GT(few.token(), many.token());
}

/// One release is enough for two of them.
TEST_F(etcd_permits, lets_in_all_for_whom_a_release_has_made_room) {
  expiring_semaphore here{first_, "room", 2};
  auto held = here.acquire(2);
  caller one{"room", 2, 1};
  ASSERT_TRUE(come_to_be("room", 2));
  caller two{"room", 2, 1};
  ASSERT_TRUE(come_to_be("room", 3));
  caller three{"room", 2, 1};
  ASSERT_TRUE(come_to_be("room", 4));
  EXPECT_EQ(held.release(), release_result::released);
  ASSERT_TRUE(eventually([&] { return one.holds() && two.holds(); }));
  EXPECT_FALSE(three.holds());
  two.leave();
  EXPECT_TRUE(eventually([&] { return three.holds(); }));
}

TEST_F(etcd_permits, lets_those_pass_who_came_behind_a_waiter_that_has_left) {
  expiring_semaphore here{first_, "left", 2};
  auto held = here.acquire();
  caller many{"left", 2, 2};
  ASSERT_TRUE(come_to_be("left", 2));
  caller few{"left", 2, 1};
  ASSERT_TRUE(come_to_be("left", 3));
  many.leave();
  EXPECT_TRUE(many.failed());
  EXPECT_TRUE(eventually([&] { return few.holds(); }));
  EXPECT_TRUE(held.valid());
}

TEST_F(etcd_permits, goes_on_when_a_holder_was_killed) {
  slot_process other{three_etcds().url("permits"), "killed", 2, 2s};
  ASSERT_THAT(other.read_line(), StartsWith("holds "));
  expiring_semaphore here{first_, "killed", 2};
  auto const held = here.acquire();
  caller waiter{"killed", 2, 1};
  ASSERT_TRUE(come_to_be("killed", 3));
  other.kill9();
  EXPECT_TRUE(eventually([&] { return waiter.holds(); }));
  EXPECT_EQ(here.acquired(), 2);
}

/// The waiter that is next, and another one behind it.
TEST_F(etcd_permits, goes_on_when_waiters_were_killed) {
  expiring_semaphore here{first_, "dead_waiters", 1};
  auto held = here.acquire();
  slot_process next{three_etcds().url("permits"), "dead_waiters", 1, 2s};
  ASSERT_TRUE(come_to_be("dead_waiters", 2));
  slot_process behind{three_etcds().url("permits"), "dead_waiters", 1, 2s};
  ASSERT_TRUE(come_to_be("dead_waiters", 3));
  caller last{"dead_waiters", 1, 1};
  ASSERT_TRUE(come_to_be("dead_waiters", 4));
  next.kill9();
  behind.kill9();
  EXPECT_EQ(held.release(), release_result::released);
  EXPECT_TRUE(eventually([&] { return last.holds(); }));
}

TEST_F(etcd_permits, leaves_no_key_of_a_caller_who_gave_up) {
  expiring_semaphore here{first_, "gave_up", 1};
  expiring_semaphore there{second_, "gave_up", 1};
  auto const held = here.acquire();
  EXPECT_FALSE(there.try_acquire_for(100ms));
  EXPECT_FALSE(there.try_acquire());
  EXPECT_TRUE(come_to_be("gave_up", 1));
}

/// Each holder counts itself, and what it holds.
TEST_F(etcd_permits, never_has_more_out_than_there_are) {
  constexpr int size = 4;
  constexpr int rounds = 10;
  std::atomic<int> out = 0;
  std::atomic<int> most = 0;
  std::vector<std::jthread> all;
  for (int i = 0; i != 9; ++i) {
    all.emplace_back([&, i] {
      expiring_semaphore slots{i % 3 == 0 ? first_ : i % 3 == 1 ? second_ : third_, "law", size};
      for (int n = 0; n != rounds; ++n) {
        auto const amount = 1 + (i + n) % 3;
        std::optional<lease> held;
        if ((i + n) % 4 == 0) {
          held = slots.try_acquire(amount);
        } else if ((i + n) % 5 == 0) {
          held = slots.try_acquire_for(5ms, amount);
        } else {
          held = slots.acquire(amount);
        }
        if (!held) continue;
        auto const now = out.fetch_add(amount) + amount;
        EXPECT_LE(now, size);
        for (auto seen = most.load(); seen < now && !most.compare_exchange_weak(seen, now);) {
        }
        out.fetch_sub(amount);
        EXPECT_EQ(held->release(), release_result::released);
      }
    });
  }
  all.clear();
  EXPECT_GT(most, 1);
  EXPECT_TRUE(come_to_be("law", 0));
}

/// A permit of a key is one of those that the newest waiter's predecessors need: whoever stands far behind is
/// disturbed by nobody.
TEST_F(etcd_permits, wakes_no_more_waiters_than_there_are_permits) {
  constexpr std::size_t waiters = 12;
  expiring_semaphore here{first_, "herd", 2};
  auto held = here.acquire();
  auto other = here.acquire();
  std::vector<std::unique_ptr<client>> clients;
  std::vector<std::jthread> all;
  std::atomic<std::size_t> entered = 0;
  for (std::size_t i = 0; i != waiters; ++i) {
    clients.push_back(std::make_unique<client>(three_etcds().url("permits"), options()));
    all.emplace_back([&, i](std::stop_token const& stop) {
      expiring_semaphore slots{*clients[i], "herd", 2};
      try {
        auto const permit = slots.acquire(stop);
        ++entered;
        (void)eventually([&] { return stop.stop_requested(); });
      } catch (error const&) {
        return;
      }
    });
    ASSERT_TRUE(come_to_be("herd", 3 + i));
    ASSERT_TRUE(eventually([&] { return clients[i]->stats().waits == 1; }));
  }
  auto const commands = [&] {
    std::uint64_t sum = 0;
    for (auto const& each : clients) sum += each->stats().commands;
    return sum;
  };
  auto const before = commands();
  EXPECT_EQ(held.release(), release_result::released);
  ASSERT_TRUE(eventually([&] { return entered == 1; }));
  // One look by each of the two that need it; one more if the first look of a wait was still under way.
  EXPECT_LE(commands() - before, 4);
  for (auto& each : all) each.request_stop();
}

TEST(etcd_permits_members, goes_on_when_the_leader_of_etcd_is_killed) {
  etcd_cluster all{{.members = 3}};
  client first{all.url(), {.patience = wait_limit}};
  client second{all.url(), {.patience = wait_limit}};
  expiring_semaphore here{first, "survives", 2, {.ttl = 15s}};
  expiring_semaphore there{second, "survives", 2, {.ttl = 15s}};
  auto one = here.acquire();
  auto two = here.acquire();
  std::atomic<bool> entered = false;
  std::jthread waiter{[&] {
    auto const held = there.acquire();
    EXPECT_TRUE(held.valid());
    entered = true;
  }};
  ASSERT_TRUE(eventually([&] { return all.keys("survives/").size() == 3; }));
  all.kill9(all.leader());
  auto const renewals = first.stats().renewals;
  ASSERT_TRUE(eventually(40s, [&] { return first.stats().renewals > renewals; }));
  EXPECT_TRUE(one.valid());
  EXPECT_FALSE(entered);
  EXPECT_EQ(one.release(), release_result::released);
  EXPECT_TRUE(eventually(40s, [&] { return entered.load(); }));
  EXPECT_TRUE(two.valid());
}

}  // namespace
}  // namespace holdfast::test
