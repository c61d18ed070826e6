// Locks of Holdfast on one member of etcd.

#include "holder.hpp"
#include "members.hpp"
#include "support/eventually.hpp"
#include "support/failure_of.hpp"

#include <gmock/gmock.h>

#include <holdfast/client.hpp>
#include <holdfast/fair_mutex.hpp>
#include <holdfast/mutex.hpp>
#include <holdfast/recursive_mutex.hpp>

#include <algorithm>
#include <atomic>
#include <iterator>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <utility>

namespace holdfast::test {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

client_options patient() { return {.patience = wait_limit, .recheck = 30s}; }

TEST(etcd_lock, has_a_key_under_its_name_until_it_is_given_back) {
  client etcd{shared_etcd().url("keys"), patient()};
  mutex lock{etcd, "key"};
  auto held = lock.acquire();
  EXPECT_THAT(shared_etcd().keys("keys/"), SizeIs(1));
  EXPECT_EQ(held.release(), release_result::released);
  EXPECT_THAT(shared_etcd().keys("keys/"), IsEmpty());
}

/// Its place in the queue is that of a caller before it, who has left, and whose ttl was another one.
TEST(etcd_lock, is_granted_for_the_ttl_of_the_caller_that_gets_it) {
  for (auto const& [first, second] : {std::pair{600s, 3s}, std::pair{3s, 600s}}) {
    SCOPED_TRACE(std::to_string(first.count()) + " s, then " + std::to_string(second.count()) + " s");
    client holder{shared_etcd().url(), patient()};
    client etcd{shared_etcd().url(), patient()};
    mutex theirs{holder, "ttl of its own"};
    auto held = theirs.acquire();
    mutex earlier{etcd, "ttl of its own", {.ttl = first}};
    mutex later{etcd, "ttl of its own", {.ttl = second}};
    std::optional<lease> granted;
    {
      std::stop_source leaves;
      std::jthread one_that_leaves{
          [&] { (void)failure_of([&] { (void)earlier.acquire(leaves.get_token()); }); }};
      ASSERT_TRUE(eventually([&] { return shared_etcd().keys("ttl of its own/").size() == 2; }));
      std::jthread waiter{[&] { granted = later.acquire(); }};
      ASSERT_TRUE(eventually([&] { return etcd.stats().waiting_now == 2; }));
      leaves.request_stop();
      one_that_leaves.join();
      EXPECT_TRUE(always(200ms, [&] { return etcd.stats().waiting_now == 1; }));
      EXPECT_EQ(held.release(), release_result::released);
    }
    ASSERT_TRUE(granted);
    EXPECT_LE(granted->remaining(), second);
    EXPECT_GT(granted->remaining(), second / 3);
    auto const renewals = etcd.stats().renewals;
    EXPECT_TRUE(always(500ms, [&] { return etcd.stats().renewals <= renewals + 1; }));
    EXPECT_EQ(granted->release(), release_result::released);
  }
}

/// The request that is granted was that of a caller before it, who left while it was under way.
TEST(etcd_lock, is_granted_for_that_ttl_though_it_was_asked_for_with_another) {
  etcd_cluster slow;
  client etcd{slow.url(), patient()};
  mutex earlier{etcd, "orders", {.ttl = 3s}};
  mutex later{etcd, "orders", {.ttl = 600s}};
  earlier.acquire().release();
  slow.freeze(0);
  std::stop_source leaves;
  std::optional<lease> granted;
  {
    std::jthread one_that_leaves{
        [&] { (void)failure_of([&] { (void)earlier.acquire(leaves.get_token()); }); }};
    ASSERT_TRUE(eventually([&] { return etcd.stats().waiting_now == 1; }));
    std::jthread waiter{[&] { granted = later.acquire(); }};
    ASSERT_TRUE(eventually([&] { return etcd.stats().waiting_now == 2; }));
    leaves.request_stop();
    EXPECT_TRUE(eventually([&] { return etcd.stats().waiting_now == 1; }));
    slow.thaw(0);
  }
  ASSERT_TRUE(granted);
  EXPECT_GT(granted->remaining(), 200s);
  auto const renewals = etcd.stats().renewals;
  EXPECT_TRUE(always(500ms, [&] { return etcd.stats().renewals <= renewals + 1; }));
  EXPECT_EQ(granted->release(), release_result::released);
  EXPECT_THAT(slow.keys("orders/"), IsEmpty());
}

TEST(etcd_lock, excludes_others_and_wakes_them_in_turn) {
  client first{shared_etcd().url(), patient()};
  client second{shared_etcd().url(), patient()};
  mutex here{first, "excludes"};
  mutex there{second, "excludes"};
  auto held = here.acquire();
  EXPECT_FALSE(there.try_acquire());
  std::atomic<std::int64_t> token{0};
  std::jthread waiter{[&] {
    auto const later = there.acquire();
    token = later.token();
  }};
  ASSERT_TRUE(eventually([&] { return shared_etcd().keys("excludes/").size() == 2; }));
  EXPECT_EQ(token, 0);
  auto const before = held.token();
  EXPECT_EQ(held.release(), release_result::released);
  ASSERT_TRUE(eventually([&] { return token != 0; }));
  EXPECT_GT(token, before);
}

TEST(etcd_lock, leaves_no_key_after_a_try_or_a_time_out) {
  client first{shared_etcd().url(), patient()};
  client second{shared_etcd().url(), patient()};
  mutex here{first, "leaves"};
  mutex there{second, "leaves"};
  auto const held = here.acquire();
  EXPECT_FALSE(there.try_acquire());
  EXPECT_FALSE(there.try_acquire_for(100ms));
  EXPECT_TRUE(eventually([] { return shared_etcd().keys("leaves/").size() == 1; }));
}

TEST(etcd_lock, names_the_holder_to_those_that_find_it_busy) {
  client first{shared_etcd().url(), patient()};
  client second{shared_etcd().url(), patient()};
  mutex here{first, "names"};
  mutex there{second, "names"};
  auto const held = here.acquire();
  ASSERT_FALSE(there.try_acquire());
  auto const busy = there.last_busy();
  ASSERT_TRUE(busy);
  EXPECT_EQ(busy->holder.owner, held.owner());
}

template <class Lock>
void count_under(std::string const& name) {
  constexpr int threads = 3;
  constexpr int rounds = 20;
  client first{shared_etcd().url(), patient()};
  client second{shared_etcd().url(), patient()};
  Lock here{first, name};
  Lock there{second, name};
  int count = 0;
  std::int64_t newest = 0;
  std::vector<std::jthread> all;
  for (int i = 0; i != 2 * threads; ++i) {
    all.emplace_back([&, i] {
      for (int n = 0; n != rounds; ++n) {
        auto const held = (i % 2 == 0 ? here : there).acquire();
        EXPECT_GT(held.token(), newest);
        newest = held.token();
        ++count;
      }
    });
  }
  all.clear();
  EXPECT_EQ(count, 2 * threads * rounds);
  EXPECT_TRUE(eventually([&] { return shared_etcd().keys(name + "/").empty(); }));
}

TEST(etcd_lock, has_one_holder_at_a_time_and_growing_tokens) { count_under<mutex>("counted"); }

TEST(etcd_lock, has_one_holder_at_a_time_where_each_caller_has_a_place) {
  count_under<fair_mutex>("counted_fair");
}

TEST(etcd_lock, serves_callers_of_fair_mutexes_in_the_order_in_which_they_came) {
  client first{shared_etcd().url(), patient()};
  client second{shared_etcd().url(), patient()};
  fair_mutex here{first, "fair"};
  fair_mutex there{second, "fair"};
  std::optional<lease> held{here.acquire()};
  std::vector<int> order;
  std::vector<std::jthread> all;
  for (int i = 0; i != 4; ++i) {
    all.emplace_back([&, i] {
      auto const mine = (i % 2 == 0 ? there : here).acquire();
      order.push_back(i);
    });
    // Callers of the process that has the lock queue up there.
    if (i % 2 == 0) {
      ASSERT_TRUE(
          eventually([&] { return second.stats().waiting_now == static_cast<std::size_t>(i / 2 + 1); }));
      ASSERT_TRUE(eventually([&] { return shared_etcd().keys("fair/").size() > 1; }));
    } else {
      ASSERT_TRUE(
          eventually([&] { return first.stats().waiting_now == static_cast<std::size_t>(i / 2 + 1); }));
    }
  }
  held.reset();
  all.clear();
  EXPECT_THAT(order, SizeIs(4));
  EXPECT_EQ(order.front(), 0);
}

TEST(etcd_lock, is_counted_by_a_recursive_mutex) {
  client etcd{shared_etcd().url(), patient()};
  recursive_mutex lock{etcd, "recursive"};
  lock.lock();
  EXPECT_TRUE(lock.try_lock());
  lock.unlock();
  EXPECT_THAT(shared_etcd().keys("recursive/"), SizeIs(1));
  lock.unlock();
  EXPECT_THAT(shared_etcd().keys("recursive/"), IsEmpty());
}

TEST(etcd_lock, of_a_killed_holder_comes_free_after_its_ttl) {
  client etcd{shared_etcd().url(), patient()};
  mutex lock{etcd, "killed", {.ttl = 3s}};
  holder other{shared_etcd().url(), "killed", 3s};
  ASSERT_THAT(other.read_line(), testing::StartsWith("held"));
  EXPECT_FALSE(lock.try_acquire());
  other.kill9();
  auto const held = lock.try_acquire_for(wait_limit);
  ASSERT_TRUE(held);
  EXPECT_TRUE(held->valid());
}

TEST(etcd_lock, is_held_for_longer_than_its_ttl) {
  client etcd{shared_etcd().url(), patient()};
  mutex lock{etcd, "renewed", {.ttl = 2s}};
  auto const held = lock.acquire();
  auto const first = held.remaining();
  // Two renewals: the deadline has moved by more than the ttl.
  ASSERT_TRUE(eventually([&] { return etcd.stats().renewals >= 4; }));
  EXPECT_TRUE(held.valid());
  EXPECT_GT(held.remaining(), 0s);
  EXPECT_LE(first, 2s);
  EXPECT_THAT(shared_etcd().keys("renewed/"), SizeIs(1));
}

TEST(etcd_lock, ends_with_its_ttl_without_a_watchdog_though_the_client_lives_on) {
  client etcd{shared_etcd().url(), patient()};
  mutex other{etcd, "watched", {.ttl = 2s}};
  mutex lock{etcd, "unwatched", {.ttl = 2s, .watchdog = false}};
  auto const kept_alive = other.acquire();
  auto const held = lock.acquire();
  EXPECT_TRUE(eventually([&] { return held.lost_because() == loss_cause::limit_reached; }));
  EXPECT_TRUE(eventually([] { return shared_etcd().keys("unwatched/").empty(); }));
  EXPECT_TRUE(kept_alive.valid());
}

TEST(etcd_lock, is_lost_at_once_when_its_lease_is_revoked) {
  client etcd{shared_etcd().url(), patient()};
  mutex lock{etcd, "revoked", {.ttl = 90s, .renew_every = 30s}};
  auto held = lock.acquire();
  held.renew();
  auto const key = shared_etcd().keys("revoked/").at(0);
  shared_etcd().ctl({"lease", "revoke", key.substr(key.rfind('/') + 1)});
  EXPECT_TRUE(eventually([&] { return held.lost_because() == loss_cause::key_gone; }));
  EXPECT_EQ(held.release(), release_result::lost);
  EXPECT_TRUE(lock.try_acquire_for(wait_limit));
}

TEST(etcd_lock, is_lost_when_its_key_is_deleted) {
  client etcd{shared_etcd().url(), patient()};
  mutex lock{etcd, "deleted", {.ttl = 3s}};
  auto const held = lock.acquire();
  shared_etcd().ctl({"del", "deleted/", "--prefix"});
  EXPECT_TRUE(eventually([&] { return held.lost_because() == loss_cause::key_gone; }));
}

TEST(etcd_lock, is_given_back_rather_than_kept) {
  client etcd{shared_etcd().url(), patient()};
  mutex lock{etcd, "kept"};
  auto held = lock.acquire();
  EXPECT_EQ(held.keep_until_expiry(), release_result::released);
  EXPECT_THAT(shared_etcd().keys("kept/"), IsEmpty());
  auto again = lock.acquire();
  EXPECT_EQ(again.keep_for(1h), release_result::released);
  EXPECT_THAT(shared_etcd().keys("kept/"), IsEmpty());
}

/// The end of a client waits for its requests for a short time only, in which a busy machine may not carry
/// them out. Then the lease ends by itself, so another client has to show it.
TEST(etcd_lock, leaves_neither_keys_nor_leases_when_its_client_ends) {
  auto const leases = [] {
    std::istringstream text{shared_etcd().ctl({"lease", "list"})};
    std::string line;
    std::getline(text, line);  // how many there are; then each has a line
    return std::set<std::string>{std::istream_iterator<std::string>{text}, {}};
  };
  EXPECT_TRUE(eventually([&] {
    auto made = leases();
    {
      client etcd{shared_etcd().url(), patient()};
      mutex lock{etcd, "residue"};
      auto const before = std::exchange(made, {});
      (void)lock.acquire().release();
      std::ranges::set_difference(leases(), before, std::inserter(made, made.end()));
      EXPECT_THAT(made, SizeIs(1));
    }
    return std::ranges::none_of(made, [left = leases()](auto const& lease) { return left.contains(lease); });
  }));
  EXPECT_THAT(shared_etcd().keys("residue/"), IsEmpty());
}

}  // namespace
}  // namespace holdfast::test
