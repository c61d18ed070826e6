/// A cluster whose nodes come and go: guests, proxies before them, masters that die and come back.
#include "clustered.hpp"

#include <memory>
#include <vector>

namespace holdfast::test {
namespace {

/// A master that has given its last slot away stays one.
class cluster_with_guests : public clustered {
 protected:
  cluster_with_guests()
      : clustered{{.masters = 3, .replicas_each = 0, .args = {"--cluster-allow-replica-migration", "no"}}} {}
};

TEST_F(cluster_with_guests, uses_a_node_that_joins_and_forgets_one_that_leaves) {
  auto& guest = nodes_.node(2);
  for (auto const number : {2U, 0U, 1U}) {  // it stops claiming them first
    nodes_.node(number).raw().command({"CLUSTER", "DELSLOTSRANGE", "10922", "16383"});
  }
  ASSERT_FALSE(nodes_.node(0).raw().command({"CLUSTER", "ADDSLOTSRANGE", "10922", "16383"}).is_error());
  ASSERT_TRUE(nodes_.wait_until_ok());
  client redis{"redis+cluster://" + nodes_.node(0).address()};
  mutex m{redis, name_, brisk_};
  auto const mine = m.acquire();
  ASSERT_TRUE(renews(redis));
  ASSERT_EQ(guest.raw().client_ids("normal").size(), 0U) << "it has nothing to be asked for";
  auto const go = [&](redis_server& to) { nodes_.migrate_slot(slot_, home(), to); };
  go(guest);
  EXPECT_TRUE(renews(redis));
  EXPECT_GT(guest.raw().calls_of("pexpire"), 0U);
  go(nodes_.node(1));
  EXPECT_TRUE(renews(redis));
  EXPECT_TRUE(eventually([&] { return guest.raw().client_ids("normal").empty(); })) << "nor has it now";
  guest.kill9();
  EXPECT_TRUE(always(1500ms, [&] { return mine.valid(); }));
  EXPECT_TRUE(renews(redis));
}

/// All nodes are behind proxies, and announce what can't be reached from here.
class cluster_behind_proxies : public clustered {
 protected:
  cluster_behind_proxies() {
    for (std::size_t i = 0; i != nodes_.size(); ++i) {
      proxies_.push_back(std::make_unique<flaky_proxy>(nodes_.node(i).socket_path()));
    }
  }
  [[nodiscard]] std::string url() const {
    std::string nat;
    for (std::size_t i = 0; i != proxies_.size(); ++i) {
      auto const port = std::to_string(const_cast<cluster_servers&>(nodes_).node(i).port());
      nat += (i == 0 ? "" : ",") + ("127.0.0.1:" + port + "/" + proxies_[i]->address());
    }
    return "redis+cluster://" + proxies_[0]->address() + "," + proxies_[1]->address() + "?nat=" + nat;
  }
  flaky_proxy& proxy_of(redis_server const& node) {
    for (std::size_t i = 0; i != nodes_.size(); ++i) {
      if (&nodes_.node(i) == &node) return *proxies_[i];
    }
    throw std::runtime_error{"no such node"};
  }

  std::vector<std::unique_ptr<flaky_proxy>> proxies_;
};

TEST_F(cluster_behind_proxies, is_reached_where_the_url_says) {
  client redis{url()};
  for (auto i = 0; i != 20; ++i) {
    mutex m{redis, "orders:" + std::to_string(i)};
    EXPECT_EQ(m.acquire().release(), release_result::released);
  }
  for (auto const& one : proxies_) EXPECT_GT(one->count("EVALSHA") + one->count("EVAL"), 0U);
}

TEST_F(cluster_behind_proxies, names_the_address_that_it_cannot_reach_and_the_remedy) {
  closed_port const nobody;
  auto const dead = std::to_string(nobody.number());
  auto const said = "127.0.0.1:" + std::to_string(home().port());
  client redis{"redis+cluster://" + proxies_[0]->address() + "?nat=" + said + "/127.0.0.1:" + dead,
               {.connect_timeout = 3s}};
  mutex m{redis, name_};
  auto const wrong = failure_of([&] { (void)m.acquire(); });
  EXPECT_EQ(wrong.code, errc::unreachable);
  EXPECT_TRUE(wrong.says("announces this node as " + said)) << wrong.what;
  EXPECT_TRUE(wrong.says("nat=" + said)) << wrong.what;
}

TEST_F(cluster_behind_proxies, a_node_that_is_cut_off_holds_up_its_own_locks_alone) {
  client redis{url(), {.connect_timeout = 3s, .reply_timeout = 3s}};
  mutex m{redis, name_, brisk_};
  std::string elsewhere_name;
  for (auto i = 0; elsewhere_name.empty(); ++i) {
    auto const one = "other:" + std::to_string(i);
    if (&nodes_.master_of(one) != &home()) elsewhere_name = one;
  }
  mutex others{redis, elsewhere_name, brisk_};
  m.acquire().release();
  others.acquire().release();
  auto& cut = proxy_of(home());
  cut.freeze();
  waiter stuck{m};
  for (auto i = 0; i != 20; ++i) EXPECT_EQ(others.acquire().release(), release_result::released);
  ASSERT_TRUE(eventually([&] { return stuck.done(); }));
  EXPECT_EQ(failure_of([&] { (void)stuck.take(); }).code, errc::unreachable);
  cut.thaw();
  EXPECT_TRUE(eventually([&] { return !failure_of([&] { m.acquire().release(); }).code; }));
}

class replicated_cluster : public clustered {
 protected:
  replicated_cluster() : clustered{cluster_options{}} {}
};

TEST_F(replicated_cluster, carries_a_lock_over_to_the_replica_of_a_master_that_dies) {
  client redis{nodes_.url()};
  client other{nodes_.url(), {.recheck = 500ms}};
  mutex m{redis, name_, {.ttl = 60s, .renew_every = 200ms}};
  mutex theirs{other, name_, {.ttl = 60s}};
  auto mine = m.acquire();
  waiter next{theirs};
  ASSERT_TRUE(waits(other));
  ASSERT_TRUE(nodes_.wait_until_replicated());
  auto& dead = home();
  dead.kill9();
  ASSERT_TRUE(nodes_.wait_for_another_master(slot_, dead));
  EXPECT_TRUE(renews(redis));
  EXPECT_TRUE(mine.valid());
  EXPECT_FALSE(next.done());
  auto const token = mine.token();
  EXPECT_EQ(mine.release(), release_result::released);
  ASSERT_TRUE(eventually([&] { return next.done(); }));
  EXPECT_GT(next.take().token(), token);
}

TEST_F(replicated_cluster, tells_what_the_new_master_does_not_know) {
  client redis{nodes_.url()};
  mutex m{redis, name_, {.ttl = 60s}};
  m.acquire().release();
  auto& dead = home();
  auto& heir = nodes_.replica_of(dead);
  heir.freeze();
  dead.raw().command(
      {"CLIENT", "KILL", "TYPE", "replica"});  // what is written now doesn't even reach its socket
  auto mine = m.acquire();
  dead.kill9();
  heir.thaw();
  ASSERT_TRUE(nodes_.wait_for_another_master(slot_, dead));
  EXPECT_TRUE(eventually([&] { return mine.lost().stop_requested(); }))
      << "long before the next renewal or the deadline";
  EXPECT_EQ(mine.lost_because(), loss_cause::key_gone);
}

TEST_F(replicated_cluster, repeats_a_release_that_the_new_master_does_not_know) {
  client redis{nodes_.url()};
  mutex m{redis, name_, {.ttl = 10min}};
  auto mine = m.acquire();
  ASSERT_TRUE(nodes_.wait_until_replicated());
  auto& dead = home();
  auto& heir = nodes_.replica_of(dead);
  heir.freeze();
  dead.raw().command({"CLIENT", "KILL", "TYPE", "replica"});
  EXPECT_EQ(mine.release(), release_result::released);
  dead.kill9();
  heir.thaw();
  ASSERT_TRUE(nodes_.wait_for_another_master(slot_, dead));
  client other{nodes_.url()};
  mutex theirs{other, name_};
  EXPECT_TRUE(theirs.try_acquire_for(bound_of_waits));
}

TEST_F(replicated_cluster, goes_on_beside_a_master_that_froze_and_comes_back) {
  client redis{nodes_.url(), {.connect_timeout = 1s, .reply_timeout = 1s}};
  mutex m{redis, name_, {.ttl = 60s, .renew_every = 200ms}};
  auto mine = m.acquire();
  ASSERT_TRUE(nodes_.wait_until_replicated());
  auto& frozen = home();
  frozen.freeze();
  ASSERT_TRUE(nodes_.wait_for_another_master(slot_, frozen));
  EXPECT_TRUE(renews(redis));
  frozen.thaw();
  ASSERT_TRUE(nodes_.wait_until_ok());
  EXPECT_TRUE(renews(redis));
  EXPECT_TRUE(mine.valid());
  EXPECT_EQ(mine.release(), release_result::released);
  EXPECT_TRUE(m.acquire().valid());
}

TEST_F(replicated_cluster, follows_a_change_of_masters_that_is_planned) {
  client redis{nodes_.url()};
  mutex m{redis, name_, brisk_};
  auto mine = m.acquire();
  auto& before = home();
  nodes_.failover(nodes_.replica_of(before));
  EXPECT_TRUE(renews(redis));
  EXPECT_TRUE(mine.valid());
  before.stop();
  EXPECT_TRUE(renews(redis));
  EXPECT_EQ(mine.release(), release_result::released);
}

TEST_F(replicated_cluster, believes_the_acknowledgement_of_the_replica_beside_the_master_alone) {
  client redis{nodes_.url()};
  mutex m{redis, name_, {.ttl = 20s, .replicas = 1}};
  m.acquire().release();
  nodes_.failover(nodes_.replica_of(home()));
  ASSERT_TRUE(nodes_.wait_until_replicated());
  auto const mine = m.acquire();
  auto replica = nodes_.replica_of(home()).raw();
  replica.command({"READONLY"});
  EXPECT_EQ(replica.get(name_), mine.owner());
}

}  // namespace
}  // namespace holdfast::test
