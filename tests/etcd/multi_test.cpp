// Several locks of Holdfast as one, on three members of etcd.

#include "clients_of_etcd.hpp"
#include "holder.hpp"
#include "support/eventually.hpp"

#include <gmock/gmock.h>

#include <holdfast/client.hpp>
#include <holdfast/inspect.hpp>
#include <holdfast/multi_mutex.hpp>
#include <holdfast/mutex.hpp>
#include <holdfast/shared_mutex.hpp>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

namespace holdfast::test {
namespace {

using testing::StartsWith;

class etcd_multi : public clients_of_etcd {
 protected:
  etcd_multi() : clients_of_etcd{"multi"} {}

  client third_ = another();
};

TEST_F(etcd_multi, takes_all_names_or_none) {
  multi_mutex both{first_, {"all_b", "all_a"}};
  mutex one{second_, "all_b"};
  auto held = both.acquire();
  EXPECT_EQ(places("all_a"), 1);
  EXPECT_EQ(places("all_b"), 1);
  EXPECT_FALSE(one.try_acquire());
  EXPECT_EQ(held.release(), release_result::released);
  EXPECT_EQ(places("all_a"), 0);
  EXPECT_EQ(places("all_b"), 0);
  auto const busy = one.acquire();
  EXPECT_FALSE(both.try_acquire());
  EXPECT_FALSE(both.try_acquire_for(100ms));
  EXPECT_TRUE(come_to_be("all_a", 0));
  EXPECT_TRUE(come_to_be("all_b", 1));
}

TEST_F(etcd_multi, has_one_token_for_all_that_grows_with_each_lease_of_a_name) {
  multi_mutex both{first_, {"token_a", "token_b"}};
  mutex one{second_, "token_b"};
  auto const before = one.acquire().token();
  auto const token = [&] {
    auto const held = both.acquire();
    EXPECT_EQ(held.token("token_a"), held.token("token_b"));
    return held.token("token_b");
  }();
  EXPECT_GT(token, before);
  EXPECT_GT(one.acquire().token(), token);
}

TEST_F(etcd_multi, is_woken_when_each_of_its_names_has_come_free) {
  mutex one{first_, "woken_a"};
  mutex other{second_, "woken_b"};
  auto a = one.acquire();
  auto b = other.acquire();
  std::atomic<bool> entered = false;
  std::jthread const waiter{[&] {
    multi_mutex both{third_, {"woken_a", "woken_b"}};
    auto const held = both.acquire();
    EXPECT_TRUE(held.valid());
    entered = true;
  }};
  ASSERT_TRUE(come_to_be("woken_a", 2));
  EXPECT_EQ(a.release(), release_result::released);
  EXPECT_FALSE(entered);
  EXPECT_EQ(b.release(), release_result::released);
  EXPECT_TRUE(eventually([&] { return entered.load(); }));
}

TEST_F(etcd_multi, wakes_those_that_wait_for_one_of_its_names) {
  multi_mutex both{first_, {"wakes_a", "wakes_b"}};
  auto held = both.acquire();
  std::atomic<int> entered = 0;
  std::vector<std::jthread> all;
  for (auto const* const name : {"wakes_a", "wakes_b"}) {
    all.emplace_back([&, name] {
      (void)mutex(second_, name).acquire();
      ++entered;
    });
    ASSERT_TRUE(come_to_be(name, 2));
  }
  EXPECT_EQ(entered, 0);
  EXPECT_EQ(held.release(), release_result::released);
  EXPECT_TRUE(eventually([&] { return entered == 2; }));
}

TEST_F(etcd_multi, waits_for_the_readers_of_a_name_and_they_for_it) {
  shared_mutex reads{second_, "read_b"};
  multi_mutex both{first_, {"read_a", "read_b"}};
  auto reading = reads.acquire_shared();
  EXPECT_FALSE(both.try_acquire());
  EXPECT_EQ(reading.release(), release_result::released);
  auto const held = both.acquire();
  EXPECT_FALSE(reads.try_acquire_shared());
}

/// With pairs of three names in all orders, and mutexes of each, by callers of three clients.
TEST_F(etcd_multi, never_has_two_holders_of_a_name_whatever_the_order_of_names) {
  constexpr int rounds = 8;
  std::vector<std::string> const names{"law_0", "law_1", "law_2"};
  std::vector<std::atomic<int>> inside(3);
  std::vector<std::jthread> all;
  for (std::size_t i = 0; i != 9; ++i) {
    all.emplace_back([&, i] {
      client& etcd = i % 3 == 0 ? first_ : i % 3 == 1 ? second_ : third_;
      for (std::size_t n = 0; n != rounds; ++n) {
        auto const from = (i + n) % 3;
        std::vector<std::size_t> wanted{from};
        if (n % 4 != 0) wanted.push_back((from + 1 + i % 2) % 3);
        std::vector<std::string> chosen;
        for (auto const each : wanted) chosen.push_back(names[each]);
        multi_mutex lock{etcd, chosen};
        auto held = n % 5 == 4 ? lock.try_acquire_for(5ms) : lock.acquire();
        if (!held) continue;
        for (auto const each : wanted) EXPECT_EQ(inside[each].fetch_add(1), 0);
        for (auto const each : wanted) inside[each].fetch_sub(1);
        EXPECT_EQ(held->release(), release_result::released);
      }
    });
  }
  all.clear();
  for (auto const& each : names) EXPECT_TRUE(come_to_be(each, 0)) << each;
}

/// Each process has them in the other order.
TEST_F(etcd_multi, of_several_processes_in_opposite_orders_gets_on) {
  auto const url = three_etcds().url("multi");
  several_process one{url, "process_a,process_b", 10s};
  ASSERT_THAT(one.read_line(), StartsWith("held "));
  several_process two{url, "process_b,process_a", 10s};
  ASSERT_TRUE(come_to_be("process_b", 2));
  several_process three{url, "process_a,process_b", 10s};
  ASSERT_TRUE(come_to_be("process_a", 3));
  for (auto* const each : {&one, &two, &three}) each->write_line("go on");
  EXPECT_EQ(one.read_line(), "released");
  for (auto* const each : {&two, &three}) {
    EXPECT_THAT(each->read_line(), StartsWith("held "));
    EXPECT_EQ(each->read_line(), "released");
  }
  EXPECT_TRUE(come_to_be("process_a", 0));
}

TEST_F(etcd_multi, of_a_killed_process_comes_free_after_its_ttl) {
  several_process other{three_etcds().url("multi"), "killed_a,killed_b", 2s};
  ASSERT_THAT(other.read_line(), StartsWith("held "));
  multi_mutex both{first_, {"killed_b", "killed_c"}};
  EXPECT_FALSE(both.try_acquire());
  std::jthread const kills{[&] {
    EXPECT_TRUE(come_to_be("killed_c", 1));
    other.kill9();
  }};
  EXPECT_TRUE(both.try_acquire_for(wait_limit));
}

/// This program takes them one by one, in the order in which the waiter would hold it up for ever.
TEST_F(etcd_multi, holds_up_nobody_for_ever_who_takes_the_names_one_by_one) {
  mutex a{first_, "steps_a"};
  mutex b{first_, "steps_b"};
  std::atomic<bool> entered = false;
  std::jthread waiter;
  auto const has_a = a.acquire();
  waiter = std::jthread{[&] {
    multi_mutex both{second_, {"steps_a", "steps_b"}};
    auto const held = both.acquire();
    entered = true;
  }};
  ASSERT_TRUE(come_to_be("steps_b", 1));
  auto const has_b = b.try_acquire_for(wait_limit);
  EXPECT_TRUE(has_b);
  EXPECT_FALSE(entered);
}

/// When it has stepped aside nobody else moves: it has to see for itself that all are free.
TEST_F(etcd_multi, gets_its_names_also_while_it_stands_aside) {
  mutex a{first_, "aside_a"};
  auto has_a = a.acquire();
  std::atomic<bool> entered = false;
  std::jthread const waiter{[&] {
    multi_mutex both{second_, {"aside_a", "aside_b"}};
    auto const held = both.acquire();
    entered = true;
  }};
  ASSERT_TRUE(come_to_be("aside_b", 1));
  ASSERT_TRUE(come_to_be("aside_b", 0));
  EXPECT_EQ(has_a.release(), release_result::released);
  EXPECT_TRUE(eventually([&] { return entered.load(); }));
}

TEST_F(etcd_multi, leaves_no_key_of_a_caller_who_was_cancelled) {
  mutex a{first_, "stop_a"};
  auto const busy = a.acquire();
  std::stop_source gives_up;
  std::jthread waiter{[&] {
    multi_mutex both{second_, {"stop_b", "stop_a"}};
    EXPECT_THROW((void)both.acquire(gives_up.get_token()), error);
  }};
  ASSERT_TRUE(come_to_be("stop_b", 1));
  gives_up.request_stop();
  waiter.join();
  EXPECT_TRUE(come_to_be("stop_b", 0));
  EXPECT_TRUE(come_to_be("stop_a", 1));
}

TEST_F(etcd_multi, is_lost_with_the_first_name_and_gives_the_others_back) {
  multi_mutex both{first_, {"lost_a", "lost_b", "lost_c"}, {.ttl = 60s, .renew_every = 25s}};
  auto held = both.acquire();
  held.renew();  // its keys are watched from then on
  three_etcds().ctl({"del", "multi/lost_b/", "--prefix"});
  EXPECT_TRUE(eventually([&] { return held.lost_because() == loss_cause::key_gone; }));
  EXPECT_FALSE(held.valid());
  EXPECT_EQ(held.release(), release_result::lost);
  EXPECT_TRUE(come_to_be("lost_a", 0));
  EXPECT_TRUE(come_to_be("lost_c", 0));
}

TEST_F(etcd_multi, is_held_for_longer_than_its_ttl_beside_other_locks) {
  multi_mutex both{first_, {"long_a", "long_b"}, {.ttl = 2s}};
  mutex alone{first_, "long_c", {.ttl = 2s}};
  auto const held = both.acquire();
  auto const too = alone.acquire();
  ASSERT_TRUE(eventually([&] { return first_.stats().renewals >= 8; }));
  EXPECT_TRUE(held.valid());
  EXPECT_TRUE(too.valid());
  EXPECT_EQ(places("long_a") + places("long_b"), 2);
}

TEST_F(etcd_multi, is_wanted_back_by_force_under_each_of_its_names) {
  for (auto const* const name : {"force_a", "force_b"}) {
    multi_mutex both{first_, {"force_a", "force_b"}};
    auto held = both.acquire();
    EXPECT_EQ(inspect(second_, name).kind, lock_kind::exclusive);
    std::jthread const gives_back{[&] {
      EXPECT_TRUE(eventually([&] { return !held.valid(); }));
      (void)held.release();
    }};
    EXPECT_EQ(force_release(second_, name, {.grace = wait_limit}), force_result::released_by_holder);
    EXPECT_TRUE(come_to_be("force_a", 0));
    EXPECT_TRUE(come_to_be("force_b", 0));
  }
}

TEST_F(etcd_multi, names_the_holder_of_the_first_busy_name) {
  mutex one{first_, "named_b"};
  auto const busy = one.acquire();
  multi_mutex both{second_, {"named_b", "named_a"}};
  ASSERT_FALSE(both.try_acquire());
  auto const seen = both.last_busy();
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->holder.owner, busy.owner());
}

TEST_F(etcd_multi, of_one_process_goes_from_caller_to_caller) {
  constexpr int rounds = 10;
  int count = 0;
  std::vector<std::jthread> all;
  for (int i = 0; i != 4; ++i) {
    all.emplace_back([&] {
      multi_mutex both{first_, {"callers_a", "callers_b"}};
      for (int n = 0; n != rounds; ++n) {
        std::scoped_lock const hold{both};
        ++count;
      }
    });
  }
  all.clear();
  EXPECT_EQ(count, 4 * rounds);
  EXPECT_TRUE(come_to_be("callers_a", 0));
}

TEST(etcd_multi_interop, excludes_etcdctl_and_is_excluded_by_it) {
  client etcd{three_etcds().url(), {.patience = wait_limit, .recheck = 30s}};
  multi_mutex both{etcd, {"ctl_a", "ctl_b"}};
  auto held = both.acquire();
  words command{"/usr/bin/env"};
  for (auto const& each : three_etcds().ctl_words({"lock", "ctl_b"})) command.push_back(each);
  line_process other{command};
  ASSERT_TRUE(eventually([] { return three_etcds().keys("ctl_b/").size() == 2; }));
  EXPECT_THROW((void)other.read_line(200ms), std::runtime_error);
  EXPECT_EQ(held.release(), release_result::released);
  EXPECT_THAT(other.read_line(), StartsWith("ctl_b/"));
  EXPECT_FALSE(both.try_acquire());
  std::atomic<bool> entered = false;
  std::jthread const waiter{[&] {
    auto const later = both.acquire();
    entered = true;
  }};
  ASSERT_TRUE(eventually([] { return three_etcds().keys("ctl_b/").size() == 2; }));
  EXPECT_FALSE(entered);
  ::kill(other.pid(), SIGINT);
  EXPECT_TRUE(eventually([&] { return entered.load(); }));
}

TEST(etcd_multi_members, goes_on_when_the_leader_of_etcd_is_killed) {
  etcd_cluster all{{.members = 3}};
  client first{all.url(), {.patience = wait_limit}};
  client second{all.url(), {.patience = wait_limit}};
  multi_mutex here{first, {"survives_a", "survives_b"}, {.ttl = 15s}};
  multi_mutex there{second, {"survives_b", "survives_c"}, {.ttl = 15s}};
  auto held = here.acquire();
  std::atomic<bool> entered = false;
  std::jthread const waiter{[&] {
    auto const later = there.acquire();
    EXPECT_TRUE(later.valid());
    entered = true;
  }};
  ASSERT_TRUE(eventually([&] { return all.keys("survives_b/").size() == 2; }));
  all.kill9(all.leader());
  auto const renewals = first.stats().renewals;
  ASSERT_TRUE(eventually(40s, [&] { return first.stats().renewals > renewals; }));
  EXPECT_TRUE(held.valid());
  EXPECT_FALSE(entered);
  EXPECT_EQ(held.release(), release_result::released);
  EXPECT_TRUE(eventually(40s, [&] { return entered.load(); }));
}

}  // namespace
}  // namespace holdfast::test
