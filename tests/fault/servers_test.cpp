/// The fixtures of several servers, tested without the library.
#include "support/cluster_servers.hpp"
#include "support/eventually.hpp"
#include "support/independent_servers.hpp"
#include "support/sentinel_servers.hpp"

#include <gtest/gtest.h>

namespace holdfast::test {
namespace {

TEST(sentinel_servers, are_a_master_and_replicas_that_follow) {
  sentinel_servers servers;
  EXPECT_EQ(&servers.master(), &servers.data(0));
  servers.master().raw().command({"SET", "k", "v"});
  ASSERT_TRUE(servers.wait_until_replicated());
  for (std::size_t number = 0; number < servers.size(); ++number)
    EXPECT_EQ(servers.data(number).raw().get("k"), "v");
  EXPECT_EQ(servers.replica().role(), "slave");
}

TEST(sentinel_servers, fail_over_on_request) {
  sentinel_servers servers;
  auto const& old_master = servers.master();
  servers.failover();
  EXPECT_NE(&servers.master(), &old_master);
  EXPECT_EQ(servers.master().role(), "master");
  EXPECT_TRUE(eventually([&] { return old_master.role() == "slave"; }));
}

TEST(sentinel_servers, fail_over_though_one_of_the_sentinels_is_frozen) {
  sentinel_servers servers;
  auto const& old_master = servers.master();
  servers.sentinel(0).freeze();
  servers.failover();
  EXPECT_NE(&servers.master(), &old_master);
}

// As replicas of each other they would have no data to follow, and no sentinel would promote one of them.
TEST(sentinel_servers, come_back_as_what_they_were) {
  sentinel_servers servers;
  servers.failover();
  auto& promoted = servers.master();
  for (std::size_t i = 0; i != servers.sentinel_count(); ++i) servers.sentinel(i).freeze();
  promoted.kill9();
  promoted.start();
  EXPECT_EQ(promoted.role(), "master");
}

TEST(sentinel_servers, choose_another_master_when_it_is_frozen) {
  sentinel_servers servers{{.password = "data", .sentinel_password = "watch"}};
  EXPECT_NE(servers.url().find("redis+sentinel://:data@127.0.0.1:"), std::string::npos);
  auto& old_master = servers.master();
  old_master.freeze();
  ASSERT_TRUE(servers.wait_for_another_master(old_master));
  old_master.thaw();
  EXPECT_TRUE(eventually([&] { return old_master.role() == "slave"; }));
}

TEST(cluster_servers, serve_all_slots_and_move_one) {
  cluster_servers servers;
  EXPECT_EQ(servers.masters().size(), 3u);
  auto const slot = cluster_servers::slot_of("k");
  auto& from = servers.master_of(slot);
  auto& to = servers.another_master(slot);
  from.raw().command({"SET", "k", "v"});

  servers.begin_migration(slot, from, to);
  EXPECT_EQ(from.raw().get("k"), "v") << "what hasn't moved is where it was";
  servers.move_keys(slot, from, to);
  EXPECT_EQ(from.raw().command({"GET", "k"}).text, "ASK " + std::to_string(slot) + " " + to.address());
  servers.end_migration(slot, from, to);
  EXPECT_EQ(from.raw().command({"GET", "k"}).text, "MOVED " + std::to_string(slot) + " " + to.address());
  EXPECT_EQ(to.raw().get("k"), "v");
  EXPECT_EQ(&servers.master_of("k"), &to);
}

TEST(cluster_servers, settle_a_slot_whose_migration_was_interrupted) {
  cluster_servers servers;
  auto const slot = cluster_servers::slot_of("k");
  auto& from = servers.master_of(slot);
  auto& to = servers.another_master(slot);
  from.raw().command({"SET", "{k}1", "moved"});
  servers.begin_migration(slot, from, to);
  servers.move_keys(slot, from, to);
  to.raw().command({"ASKING"});
  to.raw().command({"SET", "{k}2", "copied"});
  from.raw().command({"CLUSTER", "SETSLOT", std::to_string(slot), "STABLE"});
  from.raw().command({"SET", "{k}2", "here"});
  from.raw().command({"CLUSTER", "SETSLOT", std::to_string(slot), "MIGRATING", servers.id_of(to)});
  ASSERT_EQ(from.raw().command({"MGET", "{k}1", "{k}2"}).text.rfind("TRYAGAIN", 0), 0u);

  servers.settle(slot);
  EXPECT_EQ(&servers.master_of(slot), &from);
  EXPECT_EQ(from.raw().get("{k}1"), "moved");
  EXPECT_EQ(from.raw().get("{k}2"), "here") << "what the server of the slot has is what counts";
  EXPECT_EQ(to.raw().command({"CLUSTER", "COUNTKEYSINSLOT", std::to_string(slot)}).integer, 0);
}

TEST(cluster_servers, settle_a_slot_that_nobody_serves) {
  cluster_servers servers;
  auto const slot = cluster_servers::slot_of("k");
  for (auto* master : servers.masters()) {
    master->raw().command({"CLUSTER", "DELSLOTS", std::to_string(slot)});
  }
  servers.settle(slot);
  EXPECT_TRUE(servers.wait_until_ok());
}

TEST(cluster_servers, fail_over_on_request_and_when_a_master_dies) {
  cluster_servers servers{{.password = "secret"}};
  auto const slot = cluster_servers::slot_of("k");
  auto& first = servers.master_of(slot);
  first.raw().command({"SET", "k", "v"});
  ASSERT_TRUE(servers.wait_until_replicated());
  auto& second = servers.replica_of(first);
  servers.failover(second);
  EXPECT_EQ(second.raw().get("k"), "v");
  ASSERT_TRUE(servers.wait_until_replicated());

  second.kill9();
  ASSERT_TRUE(servers.wait_for_another_master(slot, second));
  EXPECT_EQ(&servers.master_of(slot), &first);
  EXPECT_EQ(first.raw().get("k"), "v");
  second.start();
  EXPECT_TRUE(servers.wait_until_ok());
}

TEST(cluster_servers, may_be_one_node) {
  cluster_servers servers{{.masters = 1, .replicas_each = 0}};
  EXPECT_EQ(servers.masters().size(), 1u);
  EXPECT_EQ(&servers.master_of("k"), &servers.node(0));
}

TEST(independent_servers, know_nothing_of_each_other) {
  independent_servers servers;
  ASSERT_EQ(servers.size(), 5u);
  servers[0].raw().command({"SET", "k", "v"});
  for (std::size_t number = 1; number < servers.size(); ++number)
    EXPECT_FALSE(servers[number].raw().exists("k"));
  EXPECT_EQ(servers.url().find("redis+quorum://127.0.0.1:"), 0u);
}

}  // namespace
}  // namespace holdfast::test
