/// Locks on the master that sentinels name, while it is killed, frozen and replaced.
#include "fault.hpp"

#include "support/sentinel_servers.hpp"

#include <holdfast/fair_mutex.hpp>

#include <gmock/gmock.h>

#include <deque>
#include <thread>

namespace holdfast::test {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

lock_options const busy_watchdog{.ttl = 30s, .renew_every = 100ms};

/// On a machine with more to do than it can, a failover takes its time.
constexpr auto patience = 40s;

class sentinel : public testing::Test {
 protected:
  explicit sentinel(sentinel_options options = {}) : servers_{std::move(options)} {}

  /// Whatever is written from now on the replicas don't get, until they are thawed.
  void stop_replication() {
    auto& master = servers_.master();
    for (std::size_t i = 0; i != servers_.size(); ++i) {
      if (&servers_.data(i) != &master) servers_.data(i).freeze();
    }
    (void)master.raw().command({"CLIENT", "KILL", "TYPE", "replica"});
  }
  void thaw_replicas() {
    for (std::size_t i = 0; i != servers_.size(); ++i) servers_.data(i).thaw();
  }
  [[nodiscard]] bool renews_again() {
    auto const before = redis_.stats().renewals;
    return eventually(patience, [&] { return redis_.stats().renewals > before + 2; });
  }
  /// By a client that has nothing to do with the others.
  [[nodiscard]] bool is_busy(std::string const& name) {
    client other{servers_.url()};
    mutex m{other, name};
    return !m.try_acquire().has_value();
  }

  sentinel_servers servers_;
  log_lines lines_;
  client redis_{servers_.url(), {.log = lines_.hook()}};
};

TEST_F(sentinel, lock_that_all_replicas_have_outlives_the_master) {
  auto options = busy_watchdog;
  options.replicas = 2;
  mutex m{redis_, "orders", options};
  auto const mine = acknowledged(m);
  auto& old = servers_.master();
  old.kill9();
  ASSERT_TRUE(servers_.wait_for_another_master(old, patience));
  EXPECT_TRUE(renews_again());
  EXPECT_TRUE(mine.valid());
  EXPECT_EQ(servers_.master().raw().get("orders"), mine.owner());
  EXPECT_TRUE(is_busy("orders"));
  EXPECT_EQ(redis_.stats().lost, 0u);
}

TEST_F(sentinel, frozen_master_is_left_and_not_believed_when_it_is_thawed) {
  auto options = busy_watchdog;
  options.replicas = 2;
  mutex m{redis_, "orders", options};
  auto mine = acknowledged(m);
  auto const token = mine.token();
  auto& old = servers_.master();
  old.freeze();
  ASSERT_TRUE(servers_.wait_for_another_master(old, patience));
  EXPECT_TRUE(renews_again());
  old.thaw();
  EXPECT_TRUE(renews_again());
  EXPECT_TRUE(mine.valid());
  EXPECT_EQ(mine.release(), release_result::released);
  mutex again{redis_, "orders"};
  auto const next = again.acquire();
  EXPECT_GT(next.token(), token);
  EXPECT_EQ(servers_.master().raw().get("orders"), next.owner());
}

TEST_F(sentinel, failover_is_heard_of_though_the_line_to_the_old_master_just_says_nothing) {
  client patient{servers_.url(), {.reply_timeout = 10min, .wake = wake::poll}};  // nothing else would tell
  mutex m{patient, "orders", busy_watchdog};
  auto const mine = m.acquire();
  ASSERT_TRUE(servers_.wait_until_replicated());
  auto& old = servers_.master();
  old.freeze();
  ASSERT_TRUE(servers_.wait_for_another_master(old, patience));
  auto const before = patient.stats().renewals;
  EXPECT_TRUE(eventually(patience, [&] { return patient.stats().renewals > before; }));
  EXPECT_TRUE(mine.valid());
  old.thaw();
}

TEST_F(sentinel, waiters_go_on_waiting_at_the_new_master) {
  client second{servers_.url()};
  mutex m{redis_, "orders", busy_watchdog};
  mutex theirs{second, "orders"};
  fair_mutex in_order{redis_, "queue", busy_watchdog};
  fair_mutex theirs_in_order{second, "queue"};
  auto mine = m.acquire();
  auto mine_in_order = in_order.acquire();
  auto const before = mine.token();
  waiter waits{theirs};
  ASSERT_TRUE(eventually([&] { return second.stats().waits == 1; }));
  ASSERT_TRUE(servers_.wait_until_replicated());
  servers_.failover();
  EXPECT_TRUE(renews_again());
  EXPECT_TRUE(mine.valid());
  EXPECT_FALSE(waits.done());
  mine.release();
  ASSERT_TRUE(eventually(patience, [&] { return waits.done(); }));
  EXPECT_GT(waits.take().token(), before);
  EXPECT_TRUE(mine_in_order.valid());
  mine_in_order.release();
  EXPECT_TRUE(theirs_in_order.try_acquire_for(patience).has_value());
}

TEST_F(sentinel, lock_that_no_replica_has_is_lost_and_told_and_tokens_grow_all_the_same) {
  mutex m{redis_, "orders", busy_watchdog};
  mutex once{redis_, "once", {.ttl = 10min, .watchdog = false}};
  stop_replication();
  auto const mine = m.acquire();
  auto const unrenewed = once.acquire();
  auto& old = servers_.master();
  old.kill9();
  thaw_replicas();
  ASSERT_TRUE(servers_.wait_for_another_master(old, patience));
  EXPECT_TRUE(eventually(patience,
                         [&] { return mine.lost().stop_requested() && unrenewed.lost().stop_requested(); }));
  EXPECT_EQ(mine.lost_because(), loss_cause::key_gone);
  EXPECT_EQ(unrenewed.lost_because(), loss_cause::key_gone);
  client other{servers_.url()};
  mutex theirs{other, "orders"};
  EXPECT_GT(theirs.acquire().token(), mine.token());
}

TEST_F(sentinel, waiter_of_a_lock_that_was_lost_with_the_master_gets_it) {
  client second{servers_.url()};
  mutex m{redis_, "orders", {.ttl = 10min}};
  mutex theirs{second, "orders"};
  stop_replication();
  auto const mine = m.acquire();
  waiter waits{theirs};
  ASSERT_TRUE(eventually([&] { return second.stats().waits == 1; }));
  auto& old = servers_.master();
  old.kill9();
  thaw_replicas();
  ASSERT_TRUE(eventually(patience, [&] { return waits.done(); }));
  EXPECT_GT(waits.take().token(), mine.token());
  EXPECT_TRUE(eventually(patience, [&] { return mine.lost().stop_requested(); }))
      << "by its first question to the new master, not by a renewal minutes later";
}

TEST_F(sentinel, release_that_was_lost_with_the_master_is_repeated_at_the_next) {
  mutex m{redis_, "orders", {.ttl = 10min}};
  auto mine = m.acquire();
  ASSERT_TRUE(servers_.wait_until_replicated());
  auto& old = servers_.master();
  stop_replication();
  EXPECT_EQ(mine.release(), release_result::released);
  old.kill9();
  thaw_replicas();
  ASSERT_TRUE(servers_.wait_for_another_master(old, patience));
  EXPECT_TRUE(eventually(patience, [&] { return !is_busy("orders"); }));
}

TEST_F(sentinel, planned_failover_leaves_no_lock_that_nobody_has) {
  std::deque<mutex> locks;
  for (auto i = 0; i != 16; ++i)
    locks.emplace_back(redis_, "orders:" + std::to_string(i), lock_options{.ttl = 10min});
  std::atomic<bool> over = false;
  std::jthread const planned{[&] {
    servers_.failover();
    over = true;
  }};
  // Some are held at any time; so are some at the moment of which the new master knows.
  while (!over) {
    std::vector<lease> mine;
    for (auto& one : locks) {
      try {
        if (auto got = one.try_acquire_for(patience)) mine.push_back(std::move(*got));
      } catch (error const& nobody_serves) {
        EXPECT_EQ(nobody_serves.code(), errc::unreachable) << nobody_serves.what();
      }
    }
  }
  // Its releases were more than it remembers; what is left of them is its own, and in its way.
  for (auto& one : locks) EXPECT_TRUE(one.try_acquire_for(patience));
  for (auto const& one : locks) EXPECT_TRUE(eventually(patience, [&] { return !is_busy(one.name()); }));
}

TEST_F(sentinel, dead_and_frozen_sentinels_are_done_without) {
  servers_.sentinel(2).kill9();
  client redis{servers_.url()};
  mutex m{redis, "orders", busy_watchdog};
  auto const mine = m.acquire();
  ASSERT_TRUE(servers_.wait_until_replicated());
  auto& old = servers_.master();
  old.kill9();
  ASSERT_TRUE(servers_.wait_for_another_master(old, patience));
  EXPECT_TRUE(eventually(patience, [&] { return servers_.master().raw().pttl("orders") > 29'000; }));
  EXPECT_TRUE(mine.valid());

  servers_.sentinel(0).freeze();
  EXPECT_TRUE(is_busy("orders")) << "by the word of the only one that is left";
}

/// It hears of both in their order when it is thawed, and announces each.
TEST_F(sentinel, that_was_frozen_through_two_failovers_takes_nobody_back) {
  auto options = busy_watchdog;
  options.replicas = 2;
  mutex m{redis_, "orders", options};
  auto const mine = acknowledged(m);
  servers_.sentinel(2).freeze();
  servers_.failover();
  EXPECT_TRUE(renews_again());
  ASSERT_TRUE(servers_.wait_until_replicated());
  servers_.failover();
  EXPECT_TRUE(renews_again());
  auto& now = servers_.master();
  auto const moves = lines_.of(log_level::info).size();
  auto& late = servers_.sentinel(2);
  late.thaw();
  ASSERT_TRUE(eventually(patience, [&] {
    auto const said = late.ask({"SENTINEL", "GET-MASTER-ADDR-BY-NAME", servers_.name()});
    return said.elements.size() == 2 && said.elements[1].text == std::to_string(now.port());
  }));
  EXPECT_TRUE(renews_again());
  EXPECT_TRUE(mine.valid());
  EXPECT_EQ(redis_.stats().lost, 0u);
  EXPECT_EQ(now.raw().get("orders"), mine.owner());
  EXPECT_THAT(lines_.of(log_level::info), SizeIs(moves)) << "nobody went anywhere";
}

TEST_F(sentinel, others_are_known_from_the_one_that_the_url_names) {
  client redis{"redis+sentinel://" + servers_.sentinel(0).address() + "/" + servers_.name()};
  mutex m{redis, "orders", busy_watchdog};
  auto const mine = m.acquire();
  ASSERT_TRUE(servers_.wait_until_replicated());
  servers_.sentinel(0).kill9();
  auto& old = servers_.master();
  old.kill9();
  ASSERT_TRUE(servers_.wait_for_another_master(old, patience));
  EXPECT_TRUE(eventually(patience, [&] { return servers_.master().raw().pttl("orders") > 29'000; }));
  EXPECT_TRUE(mine.valid());
}

TEST_F(sentinel, unknown_master_is_named_and_so_are_those_that_there_are) {
  auto url = servers_.url();
  url.replace(url.rfind('/') + 1, std::string::npos, "orders-db");
  client redis{url};
  auto const wrong = failure_of([&] { redis.connect(); });
  EXPECT_EQ(wrong.code, errc::bad_url);
  EXPECT_THAT(wrong.what, HasSubstr("the sentinels know no master \"orders-db\"; they know \"mymaster\""));
}

TEST_F(sentinel, url_of_a_sentinel_that_says_it_is_a_server_gets_advice) {
  auto const to = servers_.sentinel(0).address();
  client redis{"redis://" + to};
  mutex m{redis, "orders"};
  auto const wrong = failure_of([&] { (void)m.try_acquire(); });
  EXPECT_THAT(wrong.what, HasSubstr("redis+sentinel://host:26379/NAME"));
  auto const with_db = failure_of([&] { client{"redis://" + to + "/3"}.connect(); });
  EXPECT_THAT(with_db.what, HasSubstr("redis+sentinel://host:26379/NAME"));
}

TEST_F(sentinel, replica_refuses_with_advice_how_to_find_the_master) {
  client redis{"redis://" + servers_.replica().address()};
  mutex m{redis, "orders"};
  auto const wrong = failure_of([&] { (void)m.try_acquire(); });
  EXPECT_EQ(wrong.code, errc::refused);
  EXPECT_THAT(wrong.what, HasSubstr("redis+sentinel://"));
}

class guarded_sentinel : public sentinel {
 protected:
  guarded_sentinel() : sentinel{{.password = "data", .sentinel_password = "watch"}} {}
};

TEST_F(guarded_sentinel, passwords_of_both_are_told_apart) {
  mutex m{redis_, "orders", busy_watchdog};
  auto const mine = m.acquire();
  ASSERT_TRUE(servers_.wait_until_replicated());
  servers_.failover();
  EXPECT_TRUE(renews_again());
  EXPECT_TRUE(mine.valid());

  auto const refused = [&](std::string from, std::string const& to) {
    auto url = servers_.url();
    url.replace(url.find(from), from.size(), to);
    return failure_of([&] { client{url}.connect(); });
  };
  auto const of_sentinels = refused("sentinel_password=watch", "sentinel_password=wrong");
  EXPECT_EQ(of_sentinels.code, errc::unauthorized);
  EXPECT_THAT(of_sentinels.what, HasSubstr("sentinel_password="));
  EXPECT_THAT(of_sentinels.what, testing::Not(HasSubstr("wrong;")));
  auto const without = refused("?sentinel_password=watch", "");
  EXPECT_EQ(without.code, errc::unauthorized);
  EXPECT_THAT(without.what, HasSubstr("sentinel_password="));
  EXPECT_EQ(refused(":data@", ":wrong@").code, errc::unauthorized);
}

TEST(sentinels, that_cannot_be_reached_are_listed) {
  closed_port const nobody;
  closed_port const nobody_either;
  auto const one = std::to_string(nobody.number());
  auto const other = std::to_string(nobody_either.number());
  client redis{"redis+sentinel://127.0.0.1:" + one + ",127.0.0.1:" + other + "/mymaster"};
  auto const wrong = failure_of([&] { redis.connect(); });
  EXPECT_EQ(wrong.code, errc::unreachable);
  EXPECT_THAT(wrong.what, HasSubstr("127.0.0.1:" + one));
  EXPECT_THAT(wrong.what, HasSubstr("127.0.0.1:" + other));
}

TEST(sentinels, that_hold_data_are_none) {
  auto const server = redis_server::with({.on = server_options::listen::tcp});
  client redis{"redis+sentinel://" + server.address() + "/mymaster"};
  auto const wrong = failure_of([&] { redis.connect(); });
  EXPECT_EQ(wrong.code, errc::bad_url);
  EXPECT_THAT(wrong.what, HasSubstr("is no sentinel but a server with data: use redis://127.0.0.1:"));
}

}  // namespace
}  // namespace holdfast::test
