// The module replicates nothing where nobody listens. Whoever begins to listen has missed nothing all the
// same.

#include "module/effects.hpp"
#include "module/module_test.hpp"
#include "support/eventually.hpp"

#include <algorithm>

namespace holdfast::module_test {
namespace {

using std::chrono::seconds;
using test::eventually;

bool replicates(raw_redis& raw) { return raw.info("holdfast", "holdfast_replicates") != "0"; }

/// Those of which the module knows how somebody begins to listen.
bool is_understood(raw_redis& raw) {
  auto const valkey = raw.info("server", "valkey_version");
  auto const version = valkey.empty() ? raw.info("server", "redis_version") : valkey;
  return std::stod(version) < (valkey.empty() ? 7.5 : 8.1);
}

/// The module has looked for listeners just now: it does so once a second.
void wait_for_a_look(raw_redis& raw) {
  raw.command({"CONFIG", "SET", "slowlog-max-len", "128"});
  ASSERT_TRUE(eventually([&] { return !replicates(raw); }));
}

/// It has looked, and goes on replicating.
bool goes_on_replicating(raw_redis& raw) {
  return test::always(seconds{3}, [&] { return replicates(raw); });
}

words take(std::string const& name) { return {"HOLDFAST.TAKE", name, caller, "60000"}; }

/// Takes locks, and keeps them, until something has happened.
template <typename Predicate>
void take_until(raw_redis& raw, std::string const& name, Predicate const& happened) {
  auto number = 0;
  EXPECT_TRUE(eventually([&] {
    auto const done = happened();
    for (auto more = 0; more < 5; ++more) raw.command(take(name + std::to_string(number++)));
    return done;
  }));
}

class listeners_of_the_module : public testing::Test {
 protected:
  static std::unique_ptr<test::redis_server> make(words args) {
    words all{"--repl-diskless-sync-delay", "0", "--repl-timeout", "60"};
    all.insert(all.end(), args.begin(), args.end());
    return test::redis_server::make({.transport = test::server_transport::tcp, .args = std::move(all)});
  }
  static std::unique_ptr<test::redis_server> make_master(words const& args = {}) {
    return make(arguments(args));
  }
  static void follow(raw_redis& replica, test::redis_server const& master) {
    replica.command({"REPLICAOF", "127.0.0.1", std::to_string(master.port())});
  }
  static bool follows(raw_redis& replica) {
    return replica.info("replication", "master_link_status") == "up";
  }
  static void expect_equal(raw_redis& replica, raw_redis& master) {
    EXPECT_TRUE(eventually([&] {
      return replica.info("replication", "master_repl_offset") ==
             master.info("replication", "master_repl_offset");
    }));
    EXPECT_EQ(contents(replica), contents(master));
  }

  void SetUp() override {
    if (!is_understood(raw_)) GTEST_SKIP() << "on this server the module always replicates";
  }

  std::unique_ptr<test::redis_server> master_ = make_master();
  raw_redis raw_ = master_->raw();
};

TEST_F(listeners_of_the_module, are_looked_for) {
  wait_for_a_look(raw_);
  raw_.command(take("a"));
  EXPECT_EQ(raw_.info("replication", "master_repl_offset"), "0");
}

TEST_F(listeners_of_the_module, may_come_with_each_child) {
  raw_.command(take("a"));
  raw_.command({"CONFIG", "SET", "rdb-key-save-delay", "10000000"});
  wait_for_a_look(raw_);
  raw_.command({"BGSAVE"});
  EXPECT_TRUE(goes_on_replicating(raw_));
}

TEST_F(listeners_of_the_module, may_come_with_each_change_of_the_configuration_and_of_the_role) {
  wait_for_a_look(raw_);
  raw_.pipeline({{"MULTI"}, {"CONFIG", "SET", "slowlog-max-len", "100"}, {"INFO", "holdfast"}});
  EXPECT_THAT(raw_.command({"EXEC"}).elements.at(1).text, testing::HasSubstr("holdfast_replicates:1"));
  wait_for_a_look(raw_);
  test::closed_port const nobody;
  raw_.command({"REPLICAOF", "127.0.0.1", std::to_string(nobody.number())});
  EXPECT_TRUE(goes_on_replicating(raw_));
}

class listeners_of_the_module_that_come : public listeners_of_the_module,
                                          public testing::WithParamInterface<char const*> {};

TEST_P(listeners_of_the_module_that_come, get_all_that_was_done) {
  raw_.command({"CONFIG", "SET", "repl-diskless-sync", GetParam()});
  auto const server = make({});
  auto replica = server->raw();
  wait_for_a_look(raw_);
  use(*master_);
  wait_for_a_look(raw_);
  follow(replica, *master_);
  take_until(raw_, "while it comes", [&] { return follows(replica); });
  EXPECT_TRUE(replicates(raw_));
  expect_equal(replica, raw_);
}

INSTANTIATE_TEST_SUITE_P(with_and_without_a_file, listeners_of_the_module_that_come,
                         testing::Values("yes", "no"), [](auto const& each) {
                           return std::string{each.param} == "yes" ? "diskless" : "disk";
                         });

TEST_F(listeners_of_the_module, get_what_was_done_while_they_waited_for_others) {
  auto const server = make({});
  auto replica = server->raw();
  raw_.command({"CONFIG", "SET", "repl-diskless-sync", "yes", "repl-diskless-sync-delay", "2"});
  wait_for_a_look(raw_);
  follow(replica, *master_);
  take_until(raw_, "while it waits", [&] { return follows(replica); });
  expect_equal(replica, raw_);
}

// The snapshot of a server that is about to get a replica says at which place of its history it was made. If
// that weren't before what came then, the replica would go on from there when the server has lost it.
TEST_F(listeners_of_the_module, get_no_other_history_from_a_snapshot) {
  auto const server = make({});
  auto replica = server->raw();
  raw_.command({"CONFIG", "SET", "repl-diskless-sync", "yes", "repl-diskless-sync-delay", "2"});
  wait_for_a_look(raw_);
  follow(replica, *master_);
  ASSERT_TRUE(eventually([&] { return raw_.info("replication", "connected_slaves") == "1"; }));
  raw_.pipeline({{"SAVE"}, take("a")});
  ASSERT_TRUE(eventually([&] { return follows(replica); }));
  expect_equal(replica, raw_);
  master_->kill9();
  master_->start();
  EXPECT_TRUE(eventually([&] { return raw_.info("stats", "sync_full") == "1"; }));
  EXPECT_EQ(raw_.info("stats", "sync_partial_ok"), "0");
  ASSERT_TRUE(eventually([&] { return follows(replica); }));
  expect_equal(replica, raw_);
}

TEST_F(listeners_of_the_module, may_be_gone_for_a_while) {
  auto const server = make({});
  auto replica = server->raw();
  wait_for_a_look(raw_);
  follow(replica, *master_);
  ASSERT_TRUE(eventually([&] { return follows(replica); }));
  server->freeze();
  raw_.command({"CLIENT", "KILL", "TYPE", "replica"});
  EXPECT_TRUE(goes_on_replicating(raw_));
  use(*master_);
  server->thaw();
  EXPECT_TRUE(eventually([&] { return raw_.info("stats", "sync_partial_ok") == "1"; }));
  EXPECT_EQ(raw_.info("stats", "sync_full"), "1");
  expect_equal(replica, raw_);
}

TEST_F(listeners_of_the_module, are_forgotten_with_what_was_kept_for_them) {
  auto const server = make({});
  auto replica = server->raw();
  raw_.command({"CONFIG", "SET", "repl-backlog-ttl", "1"});
  follow(replica, *master_);
  ASSERT_TRUE(eventually([&] { return follows(replica); }));
  replica.command({"REPLICAOF", "NO", "ONE"});
  EXPECT_TRUE(eventually([&] { return !replicates(raw_); }));
  use(*master_);
  wait_for_a_look(raw_);
  follow(replica, *master_);
  take_until(raw_, "again", [&] { return follows(replica); });
  EXPECT_EQ(raw_.info("stats", "sync_partial_ok"), "0");
  expect_equal(replica, raw_);
}

TEST_F(listeners_of_the_module, may_go_on_where_a_restarted_server_was) {
  auto const master = make_master({"--save", "3600 1", "--shutdown-timeout", "0"});
  auto raw = master->raw();
  auto const server = make({});
  auto replica = server->raw();
  follow(replica, *master);
  ASSERT_TRUE(eventually([&] { return follows(replica); }));
  use(*master);
  expect_equal(replica, raw);
  server->freeze();
  master->stop();
  master->start();
  EXPECT_TRUE(goes_on_replicating(raw));
  for (auto const* const name : {"x", "y", "z"}) raw.command(take(name));
  server->thaw();
  EXPECT_TRUE(eventually([&] { return raw.info("stats", "sync_partial_ok") == "1"; }));
  EXPECT_EQ(raw.info("stats", "sync_full"), "0");
  expect_equal(replica, raw);
}

TEST_F(listeners_of_the_module, are_there_when_it_is_loaded) {
  auto const master = make({"--enable-module-command", "yes"});
  auto raw = master->raw();
  auto const server = make({});
  auto replica = server->raw();
  follow(replica, *master);
  ASSERT_TRUE(eventually([&] { return follows(replica); }));
  for (auto const* const name : {"a", "b", "c"})
    raw.pipeline({{"MODULE", "LOAD", module_file()}, take(name), {"MODULE", "UNLOAD", "holdfast"}});
  expect_equal(replica, raw);
  raw.pipeline({{"MODULE", "LOAD", module_file()}, take("d")});
  EXPECT_TRUE(goes_on_replicating(raw));
  use(*master);
  expect_equal(replica, raw);
}

// One that is still in memory, though it was unloaded, doesn't believe what it knew before.
TEST_F(listeners_of_the_module, are_looked_for_again_when_it_is_loaded_again) {
  auto const master = make({"--enable-module-command", "yes"});
  auto raw = master->raw();
  raw.command({"MODULE", "LOAD", module_file()});
  wait_for_a_look(raw);
  raw.pipeline({{"MODULE", "UNLOAD", "holdfast"}, {"MODULE", "LOAD", module_file()}, {"PING"}});
  auto const server = make({});
  auto replica = server->raw();
  wait_for_a_look(raw);
  raw.command({"MODULE", "UNLOAD", "holdfast"});
  follow(replica, *master);
  ASSERT_TRUE(eventually([&] { return follows(replica); }));
  raw.pipeline({{"MODULE", "LOAD", module_file()}, take("a")});
  expect_equal(replica, raw);
}

TEST_F(listeners_of_the_module, follow_a_replica_that_becomes_the_master) {
  auto const second = make_master();
  auto const third = make_master();
  auto replica = second->raw();
  auto last = third->raw();
  follow(replica, *master_);
  ASSERT_TRUE(eventually([&] { return follows(replica); }));
  follow(last, *second);
  ASSERT_TRUE(eventually([&] { return follows(last); }));
  use(*master_);
  expect_equal(last, raw_);
  EXPECT_TRUE(replicates(replica)) << "it has a replica of its own";
  replica.command({"REPLICAOF", "NO", "ONE"});
  for (auto const* const name : {"x", "y", "z"}) replica.command(take(name));
  follow(raw_, *second);
  take_until(replica, "later", [&] { return follows(raw_) && follows(last); });
  EXPECT_TRUE(goes_on_replicating(replica));
  expect_equal(last, replica);
  expect_equal(raw_, replica);
}

/// What a server without the module makes of the files of this one.
std::map<std::string, std::string> inherited(test::redis_server const& from) {
  test::redis_server const heir{{"--dir", from.folder().string(), "--appendonly", "yes"}};
  auto raw = heir.raw();
  return contents(raw);
}

bool has_written(raw_redis& raw) {
  for (auto const* const each_before_the_next :
       {"rdb_bgsave_in_progress", "aof_rewrite_scheduled", "aof_rewrite_in_progress"})
    if (raw.info("persistence", each_before_the_next) != "0") return false;
  return true;
}

TEST_F(listeners_of_the_module, may_be_a_file_from_one_request_to_the_next) {
  wait_for_a_look(raw_);
  use(*master_);
  wait_for_a_look(raw_);
  raw_.pipeline({{"CONFIG", "SET", "appendfsync", "always"},
                 take("x"),
                 {"CONFIG", "SET", "appendonly", "yes"},
                 take("y"),
                 {"HOLDFAST.GIVE", "x", caller},
                 take("z")});
  ASSERT_TRUE(eventually([&] { return has_written(raw_); }));
  EXPECT_TRUE(goes_on_replicating(raw_));
  raw_.command(take("later"));
  auto const wanted = contents(raw_);
  master_->kill9();
  EXPECT_EQ(inherited(*master_), wanted);
}

TEST_F(listeners_of_the_module, may_be_a_file_in_the_middle_of_a_transaction) {
  wait_for_a_look(raw_);
  raw_.pipeline({{"MULTI"},
                 take("x"),
                 {"CONFIG", "SET", "appendonly", "yes", "appendfsync", "always"},
                 take("y"),
                 {"EXEC"},
                 take("z")});
  ASSERT_TRUE(eventually([&] { return has_written(raw_); }));
  raw_.command(
      {"EVAL", "return redis.call('HOLDFAST.TAKE', KEYS[1], ARGV[1], 60000)", "1", "script", caller});
  auto const wanted = contents(raw_);
  master_->kill9();
  EXPECT_EQ(inherited(*master_), wanted);
}

TEST_F(listeners_of_the_module, may_be_a_file_that_waits_for_a_snapshot) {
  raw_.command(take("before"));
  wait_for_a_look(raw_);
  raw_.pipeline({{"CONFIG", "SET", "rdb-key-save-delay", "300000"},
                 {"BGSAVE"},
                 take("a"),
                 {"CONFIG", "SET", "appendonly", "yes", "appendfsync", "always", "rdb-key-save-delay", "0"},
                 take("b")});
  EXPECT_EQ(raw_.info("persistence", "aof_rewrite_scheduled"), "1");
  take_until(raw_, "while it waits", [&] { return has_written(raw_); });
  auto const wanted = contents(raw_);
  master_->kill9();
  EXPECT_EQ(inherited(*master_), wanted);
}

TEST_F(listeners_of_the_module, are_taken_for_granted_with_a_file_in_a_cluster_and_where_it_is_told_so) {
  auto const with_file = test::redis_server::make({.persistent = true, .args = arguments()});
  auto const in_cluster = test::redis_server::make(
      {.transport = test::server_transport::tcp, .args = arguments(), .cluster = true});
  test::redis_server const told{arguments({"always-replicate"})};
  for (test::redis_server const* const server :
       std::initializer_list<test::redis_server const*>{with_file.get(), in_cluster.get(), &told}) {
    auto raw = server->raw();
    EXPECT_TRUE(goes_on_replicating(raw)) << raw.info("cluster", "cluster_enabled");
  }
}

// Of save points.
TEST_F(listeners_of_the_module, are_no_reason_to_save_less_often) {
  wait_for_a_look(raw_);
  raw_.command({"SAVE"});
  wait_for_a_look(raw_);
  for (auto const* const name : {"x", "y", "z"}) raw_.command(take(name));
  EXPECT_TRUE(
      eventually([&] { return std::stoi(raw_.info("persistence", "rdb_changes_since_last_save")) >= 6; }));
  EXPECT_EQ(raw_.info("replication", "master_repl_offset"), "0");
}

/// FOUND 487: of a burst the server counted a thousand, and never saved.
TEST_F(listeners_of_the_module, counts_all_changes_of_a_burst_though_not_at_once) {
  wait_for_a_look(raw_);
  std::vector<std::vector<std::string>> many;
  many.reserve(3'000);
  for (auto i = 0; i < 3'000; ++i) many.push_back(take("x" + std::to_string(i)));
  raw_.pipeline(many);
  EXPECT_TRUE(eventually(
      [&] { return std::stoi(raw_.info("persistence", "rdb_changes_since_last_save")) >= 6'000; }));
}

}  // namespace
}  // namespace holdfast::module_test
