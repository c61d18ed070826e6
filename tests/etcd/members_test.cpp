// Three members, of which one ends or stands still.

#include "members.hpp"
#include "support/eventually.hpp"

#include <gmock/gmock.h>

#include <holdfast/client.hpp>
#include <holdfast/inspect.hpp>
#include <holdfast/mutex.hpp>

#include <atomic>
#include <thread>

namespace holdfast::test {
namespace {

class etcd_members : public testing::Test {
 protected:
  /// One holds the lock and another waits, while `happens` happens to the leader. Then the lock goes on.
  template <class F>
  void hold_and_wait(F happens) {
    client first{all_.url(), {.patience = wait_limit}};
    client second{all_.url(), {.patience = wait_limit}};
    mutex here{first, "survives", {.ttl = 15s}};
    mutex there{second, "survives", {.ttl = 15s}};
    auto held = here.acquire();
    std::atomic<bool> entered = false;
    std::jthread waiter{[&] {
      auto const later = there.acquire();
      EXPECT_TRUE(later.valid());
      entered = true;
    }};
    ASSERT_TRUE(eventually([&] { return all_.keys("survives/").size() == 2; }));
    auto const renewals = first.stats().renewals;
    happens();
    ASSERT_TRUE(eventually(40s, [&] { return first.stats().renewals > renewals; }));
    EXPECT_TRUE(held.valid());
    EXPECT_FALSE(entered);
    EXPECT_EQ(held.release(), release_result::released);
    EXPECT_TRUE(eventually(40s, [&] { return entered.load(); }));
  }

  /// A release by force asks for a lock while the member that has its holder's watch stands still, and ends
  /// then: no watch tells the holder.
  void ask_behind_the_watch(lock_options const& options) {
    auto const leader = all_.leader();
    auto const watched = (leader + 1) % 3;
    auto const other = (leader + 2) % 3;
    client etcd{"etcd://" + all_.endpoint(watched) + "," + all_.endpoint(other), {.patience = wait_limit}};
    client outside{"etcd://" + all_.endpoint(leader) + "," + all_.endpoint(other), {.patience = wait_limit}};
    EXPECT_EQ(force_release(outside, "asked"), force_result::not_held);
    mutex lock{etcd, "asked", options};
    all_.freeze(other);  // so the holder asks the one that is to be frozen
    auto held = lock.acquire();
    held.renew();  // the watch begins
    all_.thaw(other);
    all_.freeze(watched);
    std::jthread const asks{[&] {
      EXPECT_EQ(force_release(outside, "asked", {.grace = 2 * wait_limit}), force_result::released_by_holder);
    }};
    EXPECT_TRUE(eventually(
        [&] { return all_.ctl({"get", "--prefix", "asked/"}).find("\nasked ") != std::string::npos; }));
    all_.kill9(watched);
    EXPECT_TRUE(eventually([&] { return !held.valid(); }));
    EXPECT_EQ(held.lost_because(), loss_cause::forced);
    (void)held.release();
  }

  etcd_cluster all_{{.members = 3}};
};

TEST_F(etcd_members, go_on_when_the_leader_is_killed) {
  hold_and_wait([this] { all_.kill9(all_.leader()); });
}

TEST_F(etcd_members, go_on_when_the_leader_is_frozen) {
  auto const leader = all_.leader();
  hold_and_wait([&] { all_.freeze(leader); });
  all_.thaw(leader);
}

/// A second one is killed then: what the new one has learnt is needed for a majority.
TEST_F(etcd_members, go_on_when_the_leader_is_replaced) {
  auto const leader = all_.leader();
  hold_and_wait([&] {
    all_.replace(leader);
    all_.kill9((leader + 1) % 3);
  });
}

/// FOUND 634.
TEST_F(etcd_members, that_end_with_the_watch_of_a_holder_do_not_keep_a_release_by_force_from_it) {
  ask_behind_the_watch({.ttl = 60s});
}

TEST_F(etcd_members, that_end_do_not_keep_it_from_a_holder_without_a_watchdog_either) {
  ask_behind_the_watch({.ttl = 60s, .watchdog = false});
}

TEST(etcd_member, that_was_restarted_tells_of_a_deletion_though_it_has_compacted_what_was_before) {
  etcd_cluster one;
  client etcd{one.url(), {.patience = wait_limit}};
  mutex lock{etcd, "compacted", {.ttl = 90s, .renew_every = 40s}};
  auto held = lock.acquire();
  for (int i = 0; i != 5; ++i) one.ctl({"put", "filler", std::to_string(i)});
  one.ctl({"compact", std::to_string(held.token() + 4)});
  one.kill9(0);
  one.start_again(0);
  held.renew();  // the watch begins anew
  one.ctl({"del", "--prefix", "compacted/"});
  EXPECT_TRUE(eventually([&] { return held.lost_because() == loss_cause::key_gone; }));
}

/// FOUND 464.
TEST_F(etcd_members, that_stand_still_leave_time_for_another_one_to_be_asked) {
  auto const leader = all_.leader();
  auto const asked = (leader + 1) % 3;
  auto const other = (leader + 2) % 3;
  client etcd{"etcd://" + all_.endpoint(asked) + "," + all_.endpoint(other), {.reply_timeout = 20s}};
  mutex lock{etcd, "still", {.ttl = 60s}};
  all_.freeze(other);  // so the client asks the one that is to be frozen
  (void)lock.acquire().release();
  all_.thaw(other);
  all_.freeze(asked);
  EXPECT_TRUE(lock.try_acquire());
  all_.thaw(asked);
}

TEST_F(etcd_members, are_asked_again_when_a_majority_is_back) {
  client etcd{all_.url(), {.patience = wait_limit}};
  mutex lock{etcd, "majority", {.ttl = 30s}};
  (void)lock.acquire().release();
  all_.kill9(0);
  all_.kill9(1);
  std::atomic<bool> entered = false;
  std::jthread waiter{[&] {
    auto const held = lock.acquire();
    entered = true;
  }};
  EXPECT_TRUE(always(300ms, [&] { return !entered; }));
  all_.start_again(0);
  EXPECT_TRUE(eventually(60s, [&] { return entered.load(); }));
}

}  // namespace
}  // namespace holdfast::test
