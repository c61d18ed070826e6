/// Locks on the master that sentinels name, while it is killed, frozen and replaced.
#include "sentinel.hpp"

#include <holdfast/fair_mutex.hpp>

#include <gmock/gmock.h>

#include <deque>
#include <thread>

namespace holdfast::test {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

TEST_F(sentinel, lock_that_all_replicas_have_outlives_the_master) {
  auto options = frequent_renewal;
  options.replicas = 2;
  mutex m{redis_, "orders", options};
  auto const lease = acknowledged(m);
  auto& old_master = servers_.master();
  old_master.kill9();
  ASSERT_TRUE(servers_.wait_for_another_master(old_master, failover_time));
  EXPECT_TRUE(renews_again());
  EXPECT_TRUE(lease.valid());
  EXPECT_EQ(servers_.master().raw().get("orders"), lease.owner());
  EXPECT_TRUE(is_busy("orders"));
  EXPECT_EQ(redis_.stats().lost, 0u);
}

TEST_F(sentinel, frozen_master_is_left_and_not_believed_when_it_is_thawed) {
  auto options = frequent_renewal;
  options.replicas = 2;
  mutex m{redis_, "orders", options};
  auto lease = acknowledged(m);
  auto const token = lease.token();
  auto& old_master = servers_.master();
  old_master.freeze();
  ASSERT_TRUE(servers_.wait_for_another_master(old_master, failover_time));
  EXPECT_TRUE(renews_again());
  old_master.thaw();
  EXPECT_TRUE(renews_again());
  EXPECT_TRUE(lease.valid());
  EXPECT_EQ(lease.release(), release_result::released);
  mutex again{redis_, "orders"};
  auto const next = again.acquire();
  EXPECT_GT(next.token(), token);
  EXPECT_EQ(servers_.master().raw().get("orders"), next.owner());
}

TEST_F(sentinel, failover_is_heard_of_though_the_line_to_the_old_master_just_says_nothing) {
  client redis{servers_.url(), {.reply_timeout = 10min, .wake = wake::poll}};  // nothing else would report it
  mutex m{redis, "orders", frequent_renewal};
  auto const lease = m.acquire();
  ASSERT_TRUE(servers_.wait_until_replicated());
  auto& old_master = servers_.master();
  old_master.freeze();
  ASSERT_TRUE(servers_.wait_for_another_master(old_master, failover_time));
  auto const before = redis.stats().renewals;
  EXPECT_TRUE(eventually(failover_time, [&] { return redis.stats().renewals > before; }));
  EXPECT_TRUE(lease.valid());
  old_master.thaw();
}

TEST_F(sentinel, waiters_go_on_waiting_at_the_new_master) {
  client other{servers_.url()};
  mutex m{redis_, "orders", frequent_renewal};
  mutex other_mutex{other, "orders"};
  fair_mutex fair{redis_, "queue", frequent_renewal};
  fair_mutex other_fair{other, "queue"};
  auto lease = m.acquire();
  auto fair_lease = fair.acquire();
  auto const before = lease.token();
  waiter next{other_mutex};
  ASSERT_TRUE(eventually([&] { return other.stats().waits == 1; }));
  ASSERT_TRUE(servers_.wait_until_replicated());
  servers_.failover();
  EXPECT_TRUE(renews_again());
  EXPECT_TRUE(lease.valid());
  EXPECT_FALSE(next.done());
  lease.release();
  ASSERT_TRUE(eventually(failover_time, [&] { return next.done(); }));
  EXPECT_GT(next.take().token(), before);
  EXPECT_TRUE(fair_lease.valid());
  fair_lease.release();
  EXPECT_TRUE(other_fair.try_acquire_for(failover_time).has_value());
}

TEST_F(sentinel, lock_that_no_replica_has_is_lost_and_told_and_tokens_grow_all_the_same) {
  mutex m{redis_, "orders", frequent_renewal};
  mutex unrenewed_mutex{redis_, "once", {.ttl = 10min, .watchdog = false}};
  stop_replication();
  auto const lease = m.acquire();
  auto const unrenewed = unrenewed_mutex.acquire();
  auto& old_master = servers_.master();
  old_master.kill9();
  thaw_replicas();
  ASSERT_TRUE(servers_.wait_for_another_master(old_master, failover_time));
  EXPECT_TRUE(eventually(failover_time,
                         [&] { return lease.lost().stop_requested() && unrenewed.lost().stop_requested(); }));
  EXPECT_EQ(lease.lost_because(), loss_cause::key_gone);
  EXPECT_EQ(unrenewed.lost_because(), loss_cause::key_gone);
  client other{servers_.url()};
  mutex other_mutex{other, "orders"};
  EXPECT_GT(other_mutex.acquire().token(), lease.token());
}

TEST_F(sentinel, waiter_of_a_lock_that_was_lost_with_the_master_gets_it) {
  client other{servers_.url()};
  mutex m{redis_, "orders", {.ttl = 10min}};
  mutex other_mutex{other, "orders"};
  stop_replication();
  auto const lease = m.acquire();
  waiter next{other_mutex};
  ASSERT_TRUE(eventually([&] { return other.stats().waits == 1; }));
  auto& old_master = servers_.master();
  old_master.kill9();
  thaw_replicas();
  ASSERT_TRUE(eventually(failover_time, [&] { return next.done(); }));
  EXPECT_GT(next.take().token(), lease.token());
  EXPECT_TRUE(eventually(failover_time, [&] { return lease.lost().stop_requested(); }))
      << "by its first question to the new master, not by a renewal minutes later";
}

TEST_F(sentinel, release_that_was_lost_with_the_master_is_repeated_at_the_next) {
  mutex m{redis_, "orders", {.ttl = 10min}};
  auto lease = m.acquire();
  ASSERT_TRUE(servers_.wait_until_replicated());
  auto& old_master = servers_.master();
  stop_replication();
  EXPECT_EQ(lease.release(), release_result::released);
  old_master.kill9();
  thaw_replicas();
  ASSERT_TRUE(servers_.wait_for_another_master(old_master, failover_time));
  EXPECT_TRUE(eventually(failover_time, [&] { return !is_busy("orders"); }));
}

TEST_F(sentinel, planned_failover_leaves_no_lock_that_nobody_has) {
  std::deque<mutex> locks;
  for (auto i = 0; i != 16; ++i)
    locks.emplace_back(redis_, "orders:" + std::to_string(i), lock_options{.ttl = 10min});
  std::atomic<bool> done = false;
  std::jthread const failover{[&] {
    servers_.failover();
    done = true;
  }};
  // Some locks are held at any time, so also at the moment of which the new master has the data.
  while (!done) {
    std::vector<lease> leases;
    for (auto& m : locks) {
      try {
        if (auto acquired = m.try_acquire_for(failover_time)) leases.push_back(std::move(*acquired));
      } catch (error const& unavailable) {
        EXPECT_EQ(unavailable.code(), errc::unreachable) << unavailable.what();
      }
    }
  }
  // The client released more locks than it remembers. The keys that are left are its own, and in its way.
  for (auto& m : locks) EXPECT_TRUE(m.try_acquire_for(failover_time));
  for (auto const& m : locks) EXPECT_TRUE(eventually(failover_time, [&] { return !is_busy(m.name()); }));
}

TEST_F(sentinel, dead_and_frozen_sentinels_are_done_without) {
  servers_.sentinel(2).kill9();
  client redis{servers_.url()};
  mutex m{redis, "orders", frequent_renewal};
  auto const lease = m.acquire();
  ASSERT_TRUE(servers_.wait_until_replicated());
  auto& old_master = servers_.master();
  old_master.kill9();
  ASSERT_TRUE(servers_.wait_for_another_master(old_master, failover_time));
  EXPECT_TRUE(eventually(failover_time, [&] { return servers_.master().raw().pttl("orders") > 29'000; }));
  EXPECT_TRUE(lease.valid());

  servers_.sentinel(0).freeze();
  EXPECT_TRUE(is_busy("orders")) << "by the word of the only one that is left";
}

/// When it is thawed it gets both failovers in order, and announces each.
TEST_F(sentinel, that_was_frozen_through_two_failovers_takes_nobody_back) {
  auto options = frequent_renewal;
  options.replicas = 2;
  mutex m{redis_, "orders", options};
  auto const lease = acknowledged(m);
  servers_.sentinel(2).freeze();
  servers_.failover();
  EXPECT_TRUE(renews_again());
  ASSERT_TRUE(servers_.wait_until_replicated());
  servers_.failover();
  EXPECT_TRUE(renews_again());
  auto& new_master = servers_.master();
  auto const moves = log_.of(log_level::info).size();
  auto& thawed = servers_.sentinel(2);
  thawed.thaw();
  ASSERT_TRUE(eventually(failover_time, [&] {
    auto const reply = thawed.try_command({"SENTINEL", "GET-MASTER-ADDR-BY-NAME", servers_.name()});
    return reply.elements.size() == 2 && reply.elements[1].text == std::to_string(new_master.port());
  }));
  EXPECT_TRUE(renews_again());
  EXPECT_TRUE(lease.valid());
  EXPECT_EQ(redis_.stats().lost, 0u);
  EXPECT_EQ(new_master.raw().get("orders"), lease.owner());
  EXPECT_THAT(log_.of(log_level::info), SizeIs(moves)) << "nobody went anywhere";
}

TEST_F(sentinel, others_are_known_from_the_one_that_the_url_names) {
  client redis{"redis+sentinel://" + servers_.sentinel(0).address() + "/" + servers_.name()};
  mutex m{redis, "orders", frequent_renewal};
  auto const lease = m.acquire();
  ASSERT_TRUE(servers_.wait_until_replicated());
  servers_.sentinel(0).kill9();
  auto& old_master = servers_.master();
  old_master.kill9();
  ASSERT_TRUE(servers_.wait_for_another_master(old_master, failover_time));
  EXPECT_TRUE(eventually(failover_time, [&] { return servers_.master().raw().pttl("orders") > 29'000; }));
  EXPECT_TRUE(lease.valid());
}

TEST_F(sentinel, unknown_master_is_named_and_so_are_those_that_there_are) {
  auto url = servers_.url();
  url.replace(url.rfind('/') + 1, std::string::npos, "orders-db");
  client redis{url};
  auto const failure = failure_of([&] { redis.connect(); });
  EXPECT_EQ(failure.code, errc::bad_url);
  EXPECT_THAT(failure.message,
              HasSubstr("the sentinels know no master \"orders-db\"; they know \"mymaster\""));
}

TEST_F(sentinel, url_of_a_sentinel_that_says_it_is_a_server_gets_advice) {
  auto const address = servers_.sentinel(0).address();
  client redis{"redis://" + address};
  mutex m{redis, "orders"};
  auto const failure = failure_of([&] { (void)m.try_acquire(); });
  EXPECT_THAT(failure.message, HasSubstr("redis+sentinel://host:26379/NAME"));
  auto const with_db = failure_of([&] { client{"redis://" + address + "/3"}.connect(); });
  EXPECT_THAT(with_db.message, HasSubstr("redis+sentinel://host:26379/NAME"));
}

TEST_F(sentinel, replica_refuses_with_advice_how_to_find_the_master) {
  client redis{"redis://" + servers_.replica().address()};
  mutex m{redis, "orders"};
  auto const failure = failure_of([&] { (void)m.try_acquire(); });
  EXPECT_EQ(failure.code, errc::refused);
  EXPECT_THAT(failure.message, HasSubstr("redis+sentinel://"));
}

class guarded_sentinel : public sentinel {
 protected:
  guarded_sentinel() : sentinel{{.password = "data", .sentinel_password = "watch"}} {}
};

TEST_F(guarded_sentinel, passwords_of_both_are_told_apart) {
  mutex m{redis_, "orders", frequent_renewal};
  auto const lease = m.acquire();
  ASSERT_TRUE(servers_.wait_until_replicated());
  servers_.failover();
  EXPECT_TRUE(renews_again());
  EXPECT_TRUE(lease.valid());

  auto const failure_with = [&](std::string from, std::string const& to) {
    auto url = servers_.url();
    url.replace(url.find(from), from.size(), to);
    return failure_of([&] { client{url}.connect(); });
  };
  auto const of_sentinels = failure_with("sentinel_password=watch", "sentinel_password=wrong");
  EXPECT_EQ(of_sentinels.code, errc::unauthorized);
  EXPECT_THAT(of_sentinels.message, HasSubstr("sentinel_password="));
  EXPECT_THAT(of_sentinels.message, testing::Not(HasSubstr("wrong;")));
  auto const without_password = failure_with("?sentinel_password=watch", "");
  EXPECT_EQ(without_password.code, errc::unauthorized);
  EXPECT_THAT(without_password.message, HasSubstr("sentinel_password="));
  EXPECT_EQ(failure_with(":data@", ":wrong@").code, errc::unauthorized);
}

TEST(sentinels, that_cannot_be_reached_are_listed) {
  closed_port const first;
  closed_port const second;
  auto const first_port = std::to_string(first.number());
  auto const second_port = std::to_string(second.number());
  client redis{"redis+sentinel://127.0.0.1:" + first_port + ",127.0.0.1:" + second_port + "/mymaster"};
  auto const failure = failure_of([&] { redis.connect(); });
  EXPECT_EQ(failure.code, errc::unreachable);
  EXPECT_THAT(failure.message, HasSubstr("127.0.0.1:" + first_port));
  EXPECT_THAT(failure.message, HasSubstr("127.0.0.1:" + second_port));
}

TEST(sentinels, that_hold_data_are_none) {
  auto const server = redis_server::with({.transport = server_transport::tcp});
  client redis{"redis+sentinel://" + server.address() + "/mymaster"};
  auto const failure = failure_of([&] { redis.connect(); });
  EXPECT_EQ(failure.code, errc::bad_url);
  EXPECT_THAT(failure.message, HasSubstr("is not a sentinel but a server with data: use redis://127.0.0.1:"));
}

}  // namespace
}  // namespace holdfast::test
