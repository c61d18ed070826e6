/// A cluster whose slots move, and whose URL or state is wrong.
#include "clustered.hpp"

#include <holdfast/expiring_semaphore.hpp>
#include <holdfast/multi_mutex.hpp>
#include <holdfast/shared_mutex.hpp>

#include <algorithm>
#include <thread>

namespace holdfast::test {
namespace {

TEST_F(clustered, locks_are_spread_over_its_masters) {
  client redis{nodes_.url(), {.cas = cas::lua}};
  redis.connect();
  for (auto i = 0; i != 60; ++i) {
    mutex m{redis, "orders:" + std::to_string(i)};
    auto lease = m.acquire();
    EXPECT_TRUE(lease.valid());
    EXPECT_EQ(lease.release(), release_result::released);
  }
  for (auto* const node : nodes_.masters()) EXPECT_GT(node->raw().calls_of("evalsha"), 20U);
}

/// A lock that is held and waited for while its slot moves.
class slot_under_way : public clustered {
 protected:
  /// After the move it is still held, renewed and waited for, and goes to the waiter.
  void outlives_its_move() {
    EXPECT_TRUE(renews(redis_, 5));
    EXPECT_TRUE(lease_.valid());
    EXPECT_FALSE(next_.done());
    EXPECT_TRUE(to_.raw().exists(name_));
    auto const token = lease_.token();
    EXPECT_EQ(lease_.release(), release_result::released);
    ASSERT_TRUE(eventually([&] { return next_.done(); }));
    EXPECT_GT(next_.take().token(), token);
  }

  client redis_{nodes_.url()};
  client other_{nodes_.url(), {.recheck = 500ms}};
  mutex mutex_{redis_, name_, frequent_renewal_};
  mutex other_mutex_{other_, name_, frequent_renewal_};
  lease lease_ = mutex_.acquire();
  waiter next_{other_mutex_};
  bool const waiting_ = waits(other_);
  redis_server& from_ = slot_master();
  redis_server& to_ = another_master();
};

TEST_F(slot_under_way, key_by_key_takes_the_lock_with_it) {
  ASSERT_TRUE(waiting_);
  nodes_.begin_migration(slot_, from_, to_);
  EXPECT_TRUE(renews(redis_, 5)) << "the keys are still where they were";
  nodes_.move_keys(slot_, from_, to_);
  EXPECT_TRUE(renews(redis_, 5)) << "the keys are where only ASK leads";
  EXPECT_FALSE(next_.done());
  nodes_.end_migration(slot_, from_, to_);
  outlives_its_move();
}

TEST_F(slot_under_way, as_one_takes_the_lock_with_it) {
  ASSERT_TRUE(waiting_);
  if (!nodes_.migrate_slot_as_one(slot_, from_, to_)) GTEST_SKIP() << "this server moves slots key by key";
  outlives_its_move();
}

TEST_F(clustered, gives_a_lock_back_that_is_on_its_way) {
  client redis{nodes_.url()};
  mutex m{redis, name_, frequent_renewal_};
  auto lease = m.acquire();
  auto& from = slot_master();
  auto& to = another_master();
  nodes_.begin_migration(slot_, from, to);
  nodes_.move_keys(slot_, from, to);
  std::atomic<bool> released = false;
  lease.async_release([&](release_result result) { released = result == release_result::released; });
  EXPECT_FALSE(to.raw().command({"ASKING"}).is_error());
  (void)always(300ms, [] { return true; });  // both a release that goes through now and one that waits
  nodes_.end_migration(slot_, from, to);
  EXPECT_TRUE(eventually([&] { return released.load(); }));
  EXPECT_FALSE(to.raw().exists(name_));
}

TEST_F(clustered, waits_with_a_new_lock_until_its_slot_has_moved) {
  client redis{nodes_.url(), {.connect_timeout = 3s}};
  auto& from = slot_master();
  auto& to = another_master();
  nodes_.begin_migration(slot_, from, to);
  mutex m{redis, name_, frequent_renewal_};
  auto const failure = failure_of([&] { (void)m.try_acquire(); });
  // What the nodes said last, when the time was up: a slow machine may be between the two.
  EXPECT_TRUE(failure.mentions("TRYAGAIN") || failure.mentions("ASK")) << failure;
  waiter next{m};
  EXPECT_TRUE(always(4s, [&] { return !next.done(); })) << "it is told to try again, and does";
  nodes_.end_migration(slot_, from, to);
  ASSERT_TRUE(eventually([&] { return next.done(); }));
  EXPECT_TRUE(next.take().valid());
}

TEST_F(clustered, waits_with_several_new_locks_until_the_slot_of_the_last_has_moved) {
  client redis{nodes_.url(), {.connect_timeout = 1s}};
  std::string lower_name;
  for (auto i = 0; lower_name.empty() || cluster_servers::slot_of(lower_name) >= slot_; ++i)
    lower_name = "before" + std::to_string(i);
  auto& from = slot_master();
  auto& to = another_master();
  nodes_.begin_migration(slot_, from, to);
  multi_mutex m{redis, {lower_name, name_}, frequent_renewal_};
  std::atomic<int> served = 0;
  std::atomic<int> failed = 0;
  m.async_acquire([&](std::optional<multi_lease> acquired, std::exception_ptr const&) {
    ++(acquired ? served : failed);
  });
  std::jthread const thread{[&] { ++(failure_of([&] { m.acquire().release(); }).code ? failed : served); }};
  EXPECT_TRUE(always(4s, [&] { return served + failed == 0; })) << "told to try again, and waits";
  mutex single_mutex{redis, lower_name};
  EXPECT_TRUE(single_mutex.try_acquire_for(20s).has_value()) << "and nothing is held meanwhile";
  nodes_.end_migration(slot_, from, to);
  EXPECT_TRUE(eventually([&] { return served == 2; }));
  EXPECT_EQ(failed, 0);
}

TEST_F(clustered, gives_a_semaphore_its_permits_when_the_slot_has_moved) {
  client redis{nodes_.url(), {.connect_timeout = 500ms, .reply_timeout = 500ms}};
  expiring_semaphore licenses{redis, name_};
  auto& from = slot_master();
  auto& to = another_master();
  nodes_.begin_migration(slot_, from, to);
  std::atomic<bool> set = false;
  std::atomic<bool> failed = false;
  std::jthread const thread{
      [&] { failed = failure_of([&] { set = licenses.try_set_permits(3); }).code != std::error_code{}; }};
  EXPECT_TRUE(always(3s, [&] { return !set && !failed; }));
  nodes_.end_migration(slot_, from, to);
  EXPECT_TRUE(eventually([&] { return set.load(); }));
  EXPECT_EQ(licenses.available(), 3);
}

/// A node refuses scripts of whose keys some aren't there, as long as a slot is on its way.
TEST_F(clustered, renews_what_is_held_in_any_way_while_its_slot_is_on_its_way) {
  client redis{nodes_.url()};
  shared_mutex readers{redis, "{orders}read"};
  readers.acquire_shared().release();  // the next time perhaps without a script
  auto reading = readers.acquire_shared();
  shared_mutex both{redis, "{orders}upgraded"};
  auto upgraded = both.acquire_upgrade();
  both.upgrade(upgraded);
  upgraded.renew();
  multi_mutex kinds{redis, {write("{orders}1"), read("{orders}2"), permits("{orders}3", 1, 2)}};
  auto several = kinds.acquire();
  expiring_semaphore slots{redis, "{orders}permits", 1};
  auto permit = slots.acquire();
  auto const renew_all = [&] {
    for (auto* const lease : {&reading, &upgraded, &permit}) EXPECT_NO_THROW(lease->renew());
    EXPECT_NO_THROW(several.renew());
  };
  auto& from = slot_master();
  auto& to = another_master();
  nodes_.begin_migration(slot_, from, to);
  renew_all();
  nodes_.move_keys(slot_, from, to);
  renew_all();
  nodes_.end_migration(slot_, from, to);
  renew_all();
  for (auto* const lease : {&reading, &upgraded, &permit})
    EXPECT_EQ(lease->release(), release_result::released);
  EXPECT_EQ(several.release(), release_result::released);
}

TEST_F(clustered, keeps_locks_of_one_slot_that_are_on_both_sides_for_longer_than_their_ttl) {
  client redis{nodes_.url()};
  lock_options const options{.ttl = 5s, .renew_every = 200ms};
  std::vector<std::string> names;
  std::vector<lease> leases;
  for (auto i = 0; i != 6; ++i) {
    names.push_back('{' + name_ + "}:" + std::to_string(i));
    leases.push_back(mutex{redis, names.back(), options}.acquire());
  }
  auto& from = slot_master();
  auto& to = another_master();
  nodes_.begin_migration(slot_, from, to);
  for (auto i = 0U; i != 3; ++i) {
    auto const reply =
        from.raw().command({"MIGRATE", "127.0.0.1", std::to_string(to.port()), names[i], "0", "5000"});
    ASSERT_EQ(reply.text, "OK");
  }
  auto const all_valid = [&] { return std::ranges::all_of(leases, &lease::valid); };
  EXPECT_TRUE(always(6s, all_valid)) << "together they are told to try again";
  nodes_.move_keys(slot_, from, to);
  nodes_.end_migration(slot_, from, to);
  EXPECT_TRUE(renews(redis, 6));
  EXPECT_TRUE(all_valid());
  for (auto& each : leases) EXPECT_EQ(each.release(), release_result::released);
}

/// As when only the source knows that its slot has moved.
TEST_F(clustered, bears_nodes_that_send_it_to_each_other_after_it_was_told_to_try_again) {
  client redis{nodes_.url(), {.connect_timeout = 5s}};
  auto& from = slot_master();
  auto& to = another_master();
  nodes_.begin_migration(slot_, from, to);
  mutex m{redis, name_, frequent_renewal_};
  waiter next{m};
  EXPECT_TRUE(always(6s, [&] { return !next.done(); })) << "TRYAGAIN, for longer than connect_timeout";
  from.raw().command({"CLUSTER", "SETSLOT", std::to_string(slot_), "NODE", nodes_.id_of(to)});
  // MOVED, to a node that redirects back. Some servers inform that node by themselves, sooner or later.
  (void)true_within(700ms, [&] { return next.done(); });
  nodes_.end_migration(slot_, from, to);
  ASSERT_TRUE(eventually([&] { return next.done(); }));
  EXPECT_TRUE(next.take().valid());
}

TEST_F(clustered, tells_of_nodes_that_do_not_agree_who_serves_a_slot) {
  client redis{nodes_.url(), {.connect_timeout = 3s}};
  mutex m{redis, name_, frequent_renewal_};
  auto& first = slot_master();
  auto& second = another_master();
  auto const assign_slot = [&](redis_server const& owner) {
    first.raw().command({"CLUSTER", "SETSLOT", std::to_string(slot_), "NODE", nodes_.id_of(owner)});
  };
  assign_slot(second);
  waiter next{m};
  ASSERT_TRUE(eventually([&] { return next.done(); }));
  auto const failure = failure_of([&] { (void)next.take(); });
  EXPECT_EQ(failure.code, errc::unreachable);
  EXPECT_TRUE(failure.mentions("hash slot " + std::to_string(slot_))) << failure.message;
  EXPECT_TRUE(failure.mentions("don't agree whose it is (MOVED")) << failure.message;
  EXPECT_TRUE(failure.mentions("CLUSTER NODES")) << failure.message;
  assign_slot(first);
  EXPECT_TRUE(m.acquire().valid());
}

TEST_F(clustered, teaches_its_scripts_to_a_node_that_may_only_be_asked) {
  client redis{nodes_.url(), {.cas = cas::lua}};
  mutex m{redis, name_, frequent_renewal_};
  auto lease = m.acquire();
  ASSERT_TRUE(renews(redis));
  auto& from = slot_master();
  auto& to = another_master();
  nodes_.begin_migration(slot_, from, to);
  nodes_.move_keys(slot_, from, to);
  EXPECT_TRUE(renews(redis));
  for (auto i = 0; i != 3; ++i) {
    to.raw().command({"SCRIPT", "FLUSH"});
    EXPECT_TRUE(renews(redis)) << "NOSCRIPT behind ASKING";
  }
  EXPECT_GT(to.raw().calls_of("eval"), 2U);
  EXPECT_TRUE(lease.valid());
  nodes_.end_migration(slot_, from, to);
  EXPECT_EQ(lease.release(), release_result::released);
}

TEST_F(clustered, lets_one_in_at_a_time_while_the_slot_goes_to_and_fro) {
  client redis{nodes_.url()};
  client other{nodes_.url()};
  std::atomic<int> inside = 0;
  std::atomic<int> rounds = 0;
  std::atomic<bool> overlapped = false;
  std::vector<std::jthread> threads;
  for (auto i = 0; i != 8; ++i) {
    threads.emplace_back([&, i](std::stop_token const& stop) {
      mutex m{i % 2 == 0 ? redis : other, name_, {.ttl = 20s}};
      while (!stop.stop_requested()) {
        auto const failure = failure_of([&] {
          auto const lease = m.acquire();
          if (++inside != 1) overlapped = true;
          ++rounds;
          --inside;
        });
        EXPECT_FALSE(failure.code) << failure.message;
      }
    });
  }
  for (auto trip = 0; trip != 6; ++trip) {
    auto& from = slot_master();
    auto& to = another_master();
    auto const before = rounds.load();
    nodes_.migrate_slot(slot_, from, to);
    EXPECT_TRUE(eventually([&] { return rounds > before + 50; }));
  }
  threads.clear();
  EXPECT_FALSE(overlapped);
}

/// The re-check is far off, so only a message can wake the waiter.
TEST_F(clustered, wakes_whom_it_should_by_the_channel_of_a_slot_that_has_moved) {
  client redis{nodes_.url() + "?wire=redisson", {.recheck = 30s}};
  client other{nodes_.url() + "?wire=redisson", {.recheck = 30s}};
  mutex m{redis, name_, {.ttl = 60s}};
  mutex other_mutex{other, name_, {.ttl = 60s}};
  for (auto trip = 0; trip != 3; ++trip) {
    auto lease = m.acquire();
    auto const waits_before = other.stats().waits;
    waiter next{other_mutex};
    ASSERT_TRUE(eventually([&] { return other.stats().waits > waits_before; }));
    auto const channel = "redisson_lock__channel:{" + name_ + "}";
    auto const subscribed_at = [&](redis_server& node) {
      auto const reply = node.raw().command({"PUBSUB", "SHARDNUMSUB", channel});
      return reply.elements.size() == 2 && reply.elements[1].integer == 1;
    };
    ASSERT_TRUE(eventually([&] { return subscribed_at(slot_master()); }));
    auto& from = slot_master();
    auto& to = another_master();
    nodes_.migrate_slot(slot_, from, to);
    ASSERT_TRUE(eventually([&] { return subscribed_at(to); })) << "the subscription follows";
    lease.release();
    ASSERT_TRUE(eventually([&] { return next.done(); }));
    next.take().release();
  }
}

TEST_F(clustered, says_which_slot_nobody_serves) {
  client redis{nodes_.url(), {.connect_timeout = 3s}};
  mutex m{redis, name_, frequent_renewal_};
  m.acquire().release();
  for (std::size_t i = 0; i != nodes_.size(); ++i) {
    nodes_.node(i).raw().command({"CLUSTER", "DELSLOTS", std::to_string(slot_)});
  }
  auto const failure = failure_of([&] { (void)m.acquire(); });
  EXPECT_EQ(failure.code, errc::refused);
  EXPECT_TRUE(failure.mentions("no node serves the hash slot " + std::to_string(slot_))) << failure.message;
  EXPECT_TRUE(failure.mentions("CLUSTER INFO")) << failure.message;
  for (std::size_t i = 0; i != nodes_.size(); ++i) {
    ASSERT_TRUE(eventually([&] {
      return nodes_.node(i).raw().command({"CLUSTER", "INFO"}).text.starts_with("cluster_state:fail");
    }));
  }
  client late{nodes_.url(), {.connect_timeout = 3s}};
  auto const down = failure_of([&] { late.connect(); });
  EXPECT_TRUE(down.mentions("cluster is down")) << down.message;
  EXPECT_TRUE(down.mentions(std::to_string(slot_))) << down.message;
}

TEST_F(clustered, advises_the_right_url_to_who_names_one_node) {
  client redis{slot_master().url()};
  std::optional<failure> refusal;
  for (auto i = 0; i != 30 && !refusal; ++i) {
    mutex m{redis, "orders:" + std::to_string(i), frequent_renewal_};
    auto const attempt = failure_of([&] { (void)m.acquire(); });
    if (attempt.code) refusal = attempt;
  }
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->code, errc::refused);
  EXPECT_TRUE(refusal->mentions("redis+cluster://")) << refusal->message;
}

TEST(cluster_url, to_a_server_that_is_no_cluster_is_answered_with_the_right_one) {
  auto const server = redis_server::with({.transport = server_transport::tcp});
  client redis{"redis+cluster://127.0.0.1:" + std::to_string(server.port())};
  for (auto const& failure : {failure_of([&] { redis.connect(); }), failure_of([&] {
                                mutex m{redis, "orders"};
                                (void)m.acquire();
                              })}) {
    EXPECT_EQ(failure.code, errc::refused);
    EXPECT_TRUE(failure.mentions("is not a node of a cluster")) << failure.message;
    EXPECT_TRUE(failure.mentions("use the URL redis://127.0.0.1:" + std::to_string(server.port())))
        << failure.message;
  }
}

TEST(cluster_url, has_the_password_of_all_nodes) {
  cluster_servers nodes{{.masters = 3, .replicas_each = 0, .password = "secret"}};
  client redis{nodes.url()};
  for (auto i = 0; i != 20; ++i) {
    mutex m{redis, "orders:" + std::to_string(i)};
    EXPECT_EQ(m.acquire().release(), release_result::released);
  }
  auto url = nodes.url();
  client unauthorized{url.replace(url.find("secret"), 6, "wrong")};
  auto const failure = failure_of([&] { unauthorized.connect(); });
  EXPECT_EQ(failure.code, errc::unauthorized);
  EXPECT_FALSE(failure.mentions("wrong@")) << "no password in messages: " << failure.message;
}

TEST(cluster_url, to_nobody_fails_as_that_of_one_server_does) {
  closed_port const unused;
  auto const port = std::to_string(unused.number());
  client redis{"redis+cluster://127.0.0.1:" + port};
  auto const failure = failure_of([&] { redis.connect(); });
  EXPECT_EQ(failure.code, errc::unreachable);
  EXPECT_TRUE(failure.mentions("127.0.0.1:" + port)) << failure.message;
}

}  // namespace
}  // namespace holdfast::test
