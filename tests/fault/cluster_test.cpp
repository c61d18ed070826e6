/// A cluster whose slots move, and which is reached in wrong ways.
#include "clustered.hpp"

#include <holdfast/expiring_semaphore.hpp>
#include <holdfast/multi_mutex.hpp>

#include <algorithm>
#include <thread>

namespace holdfast::test {
namespace {

TEST_F(clustered, locks_are_spread_over_its_masters) {
  client redis{nodes_.url()};
  redis.connect();
  for (auto i = 0; i != 60; ++i) {
    mutex m{redis, "orders:" + std::to_string(i)};
    auto mine = m.acquire();
    EXPECT_TRUE(mine.valid());
    EXPECT_EQ(mine.release(), release_result::released);
  }
  for (auto* const node : nodes_.masters()) EXPECT_GT(node->raw().calls_of("evalsha"), 20U);
}

/// A lock that is held and waited for, while its slot goes elsewhere.
class slot_under_way : public clustered {
 protected:
  /// It is held, renewed and waited for all the same, and goes to who waits.
  void outlives_its_move() {
    EXPECT_TRUE(renews(redis_, 5));
    EXPECT_TRUE(mine_.valid());
    EXPECT_FALSE(next_.done());
    EXPECT_TRUE(to_.raw().exists(name_));
    auto const token = mine_.token();
    EXPECT_EQ(mine_.release(), release_result::released);
    ASSERT_TRUE(eventually([&] { return next_.done(); }));
    EXPECT_GT(next_.take().token(), token);
  }

  client redis_{nodes_.url()};
  client other_{nodes_.url(), {.recheck = 500ms}};
  mutex m_{redis_, name_, brisk_};
  mutex theirs_{other_, name_, brisk_};
  lease mine_ = m_.acquire();
  waiter next_{theirs_};
  bool const waits_ = waits(other_);
  redis_server& from_ = home();
  redis_server& to_ = elsewhere();
};

TEST_F(slot_under_way, key_by_key_takes_the_lock_with_it) {
  ASSERT_TRUE(waits_);
  nodes_.begin_migration(slot_, from_, to_);
  EXPECT_TRUE(renews(redis_, 5)) << "the keys are still where they were";
  nodes_.move_keys(slot_, from_, to_);
  EXPECT_TRUE(renews(redis_, 5)) << "the keys are where only ASK leads";
  EXPECT_FALSE(next_.done());
  nodes_.end_migration(slot_, from_, to_);
  outlives_its_move();
}

TEST_F(slot_under_way, as_one_takes_the_lock_with_it) {
  ASSERT_TRUE(waits_);
  if (!nodes_.migrate_slot_as_one(slot_, from_, to_)) GTEST_SKIP() << "this server moves slots key by key";
  outlives_its_move();
}

TEST_F(clustered, gives_a_lock_back_that_is_on_its_way) {
  client redis{nodes_.url()};
  mutex m{redis, name_, brisk_};
  auto mine = m.acquire();
  auto& from = home();
  auto& to = elsewhere();
  nodes_.begin_migration(slot_, from, to);
  nodes_.move_keys(slot_, from, to);
  std::atomic<bool> released = false;
  mine.async_release([&](release_result how) { released = how == release_result::released; });
  EXPECT_FALSE(to.raw().command({"ASKING"}).is_error());
  (void)always(300ms, [] { return true; });  // both what goes through now and what has to wait
  nodes_.end_migration(slot_, from, to);
  EXPECT_TRUE(eventually([&] { return released.load(); }));
  EXPECT_FALSE(to.raw().exists(name_));
}

TEST_F(clustered, waits_with_a_new_lock_until_its_slot_has_moved) {
  client redis{nodes_.url(), {.connect_timeout = 3s}};
  auto& from = home();
  auto& to = elsewhere();
  nodes_.begin_migration(slot_, from, to);
  mutex m{redis, name_, brisk_};
  auto const wrong = failure_of([&] { (void)m.try_acquire(); });
  EXPECT_EQ(wrong.code, errc::refused);
  EXPECT_TRUE(wrong.says("TRYAGAIN")) << wrong.what;
  waiter patient{m};
  EXPECT_TRUE(always(4s, [&] { return !patient.done(); })) << "it is told to try again, and does";
  nodes_.end_migration(slot_, from, to);
  ASSERT_TRUE(eventually([&] { return patient.done(); }));
  EXPECT_TRUE(patient.take().valid());
}

TEST_F(clustered, waits_with_several_new_locks_until_the_slot_of_the_last_has_moved) {
  client redis{nodes_.url(), {.connect_timeout = 1s}};
  std::string before;
  for (auto i = 0; before.empty() || cluster_servers::slot_of(before) >= slot_; ++i)
    before = "before" + std::to_string(i);
  auto& from = home();
  auto& to = elsewhere();
  nodes_.begin_migration(slot_, from, to);
  multi_mutex m{redis, {before, name_}, brisk_};
  std::atomic<int> served = 0;
  std::atomic<int> failed = 0;
  m.async_acquire(
      [&](std::optional<multi_lease> got, std::exception_ptr const&) { ++(got ? served : failed); });
  std::jthread const thread{[&] { ++(failure_of([&] { m.acquire().release(); }).code ? failed : served); }};
  EXPECT_TRUE(always(4s, [&] { return served + failed == 0; })) << "told to try again, and waits";
  mutex alone{redis, before};
  EXPECT_TRUE(alone.try_acquire_for(20s).has_value()) << "and nothing is held meanwhile";
  nodes_.end_migration(slot_, from, to);
  EXPECT_TRUE(eventually([&] { return served == 2; }));
  EXPECT_EQ(failed, 0);
}

TEST_F(clustered, gives_a_semaphore_its_permits_when_the_slot_has_moved) {
  client redis{nodes_.url(), {.connect_timeout = 1s}};
  expiring_semaphore licenses{redis, name_};
  auto& from = home();
  auto& to = elsewhere();
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

TEST_F(clustered, keeps_locks_of_one_slot_that_are_on_both_sides_for_longer_than_their_ttl) {
  client redis{nodes_.url()};
  lock_options const how{.ttl = 5s, .renew_every = 200ms};
  std::vector<std::string> names;
  std::vector<lease> mine;
  for (auto i = 0; i != 6; ++i) {
    names.push_back('{' + name_ + "}:" + std::to_string(i));
    mine.push_back(mutex{redis, names.back(), how}.acquire());
  }
  auto& from = home();
  auto& to = elsewhere();
  nodes_.begin_migration(slot_, from, to);
  for (auto i = 0U; i != 3; ++i) {
    auto const moved =
        from.raw().command({"MIGRATE", "127.0.0.1", std::to_string(to.port()), names[i], "0", "5000"});
    ASSERT_EQ(moved.text, "OK");
  }
  auto const all_valid = [&] { return std::ranges::all_of(mine, &lease::valid); };
  EXPECT_TRUE(always(6s, all_valid)) << "together they are told to try again";
  nodes_.move_keys(slot_, from, to);
  nodes_.end_migration(slot_, from, to);
  EXPECT_TRUE(renews(redis, 6));
  EXPECT_TRUE(all_valid());
  for (auto& one : mine) EXPECT_EQ(one.release(), release_result::released);
}

/// As when only the source is told that its slot has moved.
TEST_F(clustered, bears_nodes_that_send_it_to_each_other_after_it_was_told_to_try_again) {
  client redis{nodes_.url(), {.connect_timeout = 5s}};
  auto& from = home();
  auto& to = elsewhere();
  nodes_.begin_migration(slot_, from, to);
  mutex m{redis, name_, brisk_};
  waiter patient{m};
  EXPECT_TRUE(always(6s, [&] { return !patient.done(); })) << "TRYAGAIN, for longer than connect_timeout";
  from.raw().command({"CLUSTER", "SETSLOT", std::to_string(slot_), "NODE", nodes_.id_of(to)});
  // MOVED, to a node that sends it back; some servers tell that one by themselves, sooner or later.
  (void)came_within(700ms, [&] { return patient.done(); });
  nodes_.end_migration(slot_, from, to);
  ASSERT_TRUE(eventually([&] { return patient.done(); }));
  EXPECT_TRUE(patient.take().valid());
}

TEST_F(clustered, tells_of_nodes_that_do_not_agree_who_serves_a_slot) {
  client redis{nodes_.url(), {.connect_timeout = 3s}};
  mutex m{redis, name_, brisk_};
  auto& one = home();
  auto& other = elsewhere();
  auto const says = [&](redis_server const& whose) {
    one.raw().command({"CLUSTER", "SETSLOT", std::to_string(slot_), "NODE", nodes_.id_of(whose)});
  };
  says(other);
  waiter patient{m};
  ASSERT_TRUE(eventually([&] { return patient.done(); }));
  auto const wrong = failure_of([&] { (void)patient.take(); });
  EXPECT_EQ(wrong.code, errc::unreachable);
  EXPECT_TRUE(wrong.says("hash slot " + std::to_string(slot_))) << wrong.what;
  EXPECT_TRUE(wrong.says("don't agree whose it is (MOVED")) << wrong.what;
  EXPECT_TRUE(wrong.says("CLUSTER NODES")) << wrong.what;
  says(one);
  EXPECT_TRUE(m.acquire().valid());
}

TEST_F(clustered, teaches_its_scripts_to_a_node_that_may_only_be_asked) {
  client redis{nodes_.url()};
  mutex m{redis, name_, brisk_};
  auto mine = m.acquire();
  ASSERT_TRUE(renews(redis));
  auto& from = home();
  auto& to = elsewhere();
  nodes_.begin_migration(slot_, from, to);
  nodes_.move_keys(slot_, from, to);
  EXPECT_TRUE(renews(redis));
  for (auto i = 0; i != 3; ++i) {
    to.raw().command({"SCRIPT", "FLUSH"});
    EXPECT_TRUE(renews(redis)) << "NOSCRIPT behind ASKING";
  }
  EXPECT_GT(to.raw().calls_of("eval"), 2U);
  EXPECT_TRUE(mine.valid());
  nodes_.end_migration(slot_, from, to);
  EXPECT_EQ(mine.release(), release_result::released);
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
        auto const wrong = failure_of([&] {
          auto const mine = m.acquire();
          if (++inside != 1) overlapped = true;
          ++rounds;
          --inside;
        });
        EXPECT_FALSE(wrong.code) << wrong.what;
      }
    });
  }
  for (auto trip = 0; trip != 6; ++trip) {
    auto& from = home();
    auto& to = elsewhere();
    auto const before = rounds.load();
    nodes_.migrate_slot(slot_, from, to);
    EXPECT_TRUE(eventually([&] { return rounds > before + 50; }));
  }
  threads.clear();
  EXPECT_FALSE(overlapped);
}

/// The re-check is far off, so a message it must be.
TEST_F(clustered, wakes_whom_it_should_by_the_channel_of_a_slot_that_has_moved) {
  client redis{nodes_.url() + "?wire=redisson", {.recheck = 30s}};
  client other{nodes_.url() + "?wire=redisson", {.recheck = 30s}};
  mutex m{redis, name_, {.ttl = 60s}};
  mutex theirs{other, name_, {.ttl = 60s}};
  for (auto trip = 0; trip != 3; ++trip) {
    auto mine = m.acquire();
    auto const waits_before = other.stats().waits;
    waiter next{theirs};
    ASSERT_TRUE(eventually([&] { return other.stats().waits > waits_before; }));
    auto const channel = "redisson_lock__channel:{" + name_ + "}";
    auto const heard_at = [&](redis_server& node) {
      auto const reply = node.raw().command({"PUBSUB", "SHARDNUMSUB", channel});
      return reply.elements.size() == 2 && reply.elements[1].integer == 1;
    };
    ASSERT_TRUE(eventually([&] { return heard_at(home()); }));
    auto& from = home();
    auto& to = elsewhere();
    nodes_.migrate_slot(slot_, from, to);
    ASSERT_TRUE(eventually([&] { return heard_at(to); })) << "the subscription follows";
    mine.release();
    ASSERT_TRUE(eventually([&] { return next.done(); }));
    next.take().release();
  }
}

TEST_F(clustered, says_which_slot_nobody_serves) {
  client redis{nodes_.url(), {.connect_timeout = 3s}};
  mutex m{redis, name_, brisk_};
  m.acquire().release();
  for (std::size_t i = 0; i != nodes_.size(); ++i) {
    nodes_.node(i).raw().command({"CLUSTER", "DELSLOTS", std::to_string(slot_)});
  }
  auto const wrong = failure_of([&] { (void)m.acquire(); });
  EXPECT_EQ(wrong.code, errc::refused);
  EXPECT_TRUE(wrong.says("no node serves the hash slot " + std::to_string(slot_))) << wrong.what;
  EXPECT_TRUE(wrong.says("CLUSTER INFO")) << wrong.what;
  for (std::size_t i = 0; i != nodes_.size(); ++i) {
    ASSERT_TRUE(eventually([&] {
      return nodes_.node(i).raw().command({"CLUSTER", "INFO"}).text.starts_with("cluster_state:fail");
    }));
  }
  client late{nodes_.url(), {.connect_timeout = 3s}};
  auto const down = failure_of([&] { late.connect(); });
  EXPECT_TRUE(down.says("cluster is down")) << down.what;
  EXPECT_TRUE(down.says(std::to_string(slot_))) << down.what;
}

TEST_F(clustered, advises_the_right_url_to_who_names_one_node) {
  client redis{home().url()};
  std::optional<failure> wrong;
  for (auto i = 0; i != 30 && !wrong; ++i) {
    mutex m{redis, "orders:" + std::to_string(i), brisk_};
    auto const what = failure_of([&] { (void)m.acquire(); });
    if (what.code) wrong = what;
  }
  ASSERT_TRUE(wrong);
  EXPECT_EQ(wrong->code, errc::refused);
  EXPECT_TRUE(wrong->says("redis+cluster://")) << wrong->what;
}

TEST(cluster_url, to_a_server_that_is_no_cluster_is_answered_with_the_right_one) {
  auto const server = redis_server::with({.on = server_options::listen::tcp});
  client redis{"redis+cluster://127.0.0.1:" + std::to_string(server.port())};
  for (auto const& wrong : {failure_of([&] { redis.connect(); }), failure_of([&] {
                              mutex m{redis, "orders"};
                              (void)m.acquire();
                            })}) {
    EXPECT_EQ(wrong.code, errc::refused);
    EXPECT_TRUE(wrong.says("is no node of a cluster")) << wrong.what;
    EXPECT_TRUE(wrong.says("use the URL redis://127.0.0.1:" + std::to_string(server.port()))) << wrong.what;
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
  client stranger{url.replace(url.find("secret"), 6, "wrong")};
  auto const wrong = failure_of([&] { stranger.connect(); });
  EXPECT_EQ(wrong.code, errc::unauthorized);
  EXPECT_FALSE(wrong.says("wrong@")) << "no password in messages: " << wrong.what;
}

TEST(cluster_url, to_nobody_fails_as_that_of_one_server_does) {
  closed_port const nobody;
  auto const port = std::to_string(nobody.number());
  client redis{"redis+cluster://127.0.0.1:" + port};
  auto const wrong = failure_of([&] { redis.connect(); });
  EXPECT_EQ(wrong.code, errc::unreachable);
  EXPECT_TRUE(wrong.says("127.0.0.1:" + port)) << wrong.what;
}

}  // namespace
}  // namespace holdfast::test
