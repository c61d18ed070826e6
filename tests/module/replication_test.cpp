// What replicas and append-only files without the module make of its commands.

#include "module/module_test.hpp"
#include "support/eventually.hpp"

#include <map>

namespace holdfast::module_test {
namespace {

/// The value of each key as text, and when it expires.
std::map<std::string, std::string> contents(raw_redis& raw) {
  std::map<std::string, std::string> all;
  for (auto const& key : raw.keys()) {
    auto text = raw.command({"TYPE", key}).text;
    for (auto const& part : {raw.command({"GET", key}), raw.command({"HGETALL", key}),
                             raw.command({"ZRANGE", key, "0", "-1", "WITHSCORES"})}) {
      if (part.is_error()) continue;
      text += " " + part.text;
      for (auto const& element : part.elements) text += " " + element.text;
    }
    all[key] = text + " until " + std::to_string(raw.command({"PEXPIRETIME", key}).integer);
  }
  return all;
}

words fair_acquire(std::string const& owner) {
  return {"HOLDFAST.FAIR.ACQUIRE",
          "3",
          "f",
          "{f}:holdfast_token",
          "{f}:holdfast_queue",
          owner,
          "30000",
          "1",
          "join",
          "",
          "0",
          "20000",
          "PUBLISH"};
}

/// Takes, queues, grants, passes, renews and gives back, and leaves something of each behind.
void use(test::redis_server const& server) {
  auto raw = server.raw();
  auto const run = [&raw](words const& command) {
    EXPECT_FALSE(raw.command(command).is_error()) << command[0];
  };
  auto listener = server.raw();
  listener.command({"SUBSCRIBE", "{a}:holdfast_inbox:aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaaa"});
  run(acquire(caller));
  run(acquire(rival));
  run(acquire(waiter));
  run(renew(caller));
  run(release(caller, "0"));  // rival's process is gone, so the waiter has it
  EXPECT_EQ(raw.get("a"), waiter);
  run(acquire(rival));
  run({"HOLDFAST.EXCLUSIVE.ABANDON", "3", "a", "{a}:holdfast_token", "{a}:holdfast_queue", rival, "0",
       "20000", "PUBLISH"});
  run(acquire(caller));
  run(fair_acquire(caller));
  run(fair_acquire(rival));
  run({"HOLDFAST.FAIR.PASS", "3", "f", "{f}:holdfast_token", "{f}:holdfast_queue", caller, "20000", "PUBLISH",
       waiter, "30000", "1", "0"});
  run({"HOLDFAST.TAKE_SHARED", "m", std::string{caller} + ":r", "30000"});
  run({"HOLDFAST.TAKE_SHARED", "m", std::string{rival} + ":r", "40000"});
  run({"HOLDFAST.SHARED.RENEW", "2", "m", "{m}:holdfast_readers", "50000", std::string{rival} + ":r"});
  run({"HOLDFAST.GIVE_SHARED", "m", std::string{caller} + ":r"});
  run({"HOLDFAST.TAKE_PERMITS", "p", caller, "2", "30000", "5"});
  run({"HOLDFAST.TAKE_PERMITS", "p", rival, "1", "30000", "5"});
  run({"HOLDFAST.TAKE_PERMITS", "p", waiter, "2", "30000", "5"});
  run({"HOLDFAST.PERMITS.RENEW", "1", "p", "40000", rival});
  run({"HOLDFAST.GIVE_PERMITS", "p", caller});
  run({"HOLDFAST.REDISSON_LOCK.ACQUIRE", "1", "r", caller, "30000", "1"});
  run({"HOLDFAST.REDISSON_LOCK.RENEW", "1", "r", "40000", "at least", caller});
  run({"HOLDFAST.REDISSON_LOCK.ACQUIRE", "1", "s", caller, "30000", "1"});
  run({"HOLDFAST.REDISSON_LOCK.RELEASE", "1", "s", caller, "PUBLISH", "channel"});
  run({"SET", "gone", caller});
  run({"HOLDFAST.EXCLUSIVE.RELEASE_UNWANTED", "2", "gone", "{gone}:holdfast_queue", caller});
  run({"SET", "k", "x"});
  run({"CAS", "k", "x", "y", "PX", "50000"});
  run({"CAS", "k", "y", "z", "KEEPTTL"});
}

TEST(replication_of_the_module, makes_a_replica_without_it_equal) {
  auto const master = test::redis_server::make(
      {.transport = test::server_transport::tcp, .args = arguments({"--repl-diskless-sync-delay", "0"})});
  auto const replica =
      test::redis_server::make({.args = {"--replicaof", "127.0.0.1 " + std::to_string(master->port())}});
  auto copy = replica->raw();
  ASSERT_TRUE(test::eventually([&] { return copy.info("replication", "master_link_status") == "up"; }));
  use(*master);
  auto raw = master->raw();
  auto const wanted = contents(raw);
  ASSERT_EQ(wanted.size(), 12u);
  EXPECT_EQ(raw.command({"WAIT", "1", "30000"}).integer, 1);
  EXPECT_EQ(contents(copy), wanted);
  EXPECT_THAT(copy.command(renew(waiter)), is_error("ERR unknown command"));
  EXPECT_EQ(copy.calls_of("publish"), raw.calls_of("publish"))
      << "a replica repeats the messages, as of the scripts";
}

TEST(replication_of_the_module, makes_an_append_only_file_that_a_server_without_it_can_load) {
  auto options = test::server_options{.persistent = true, .args = {"--enable-module-command", "yes"}};
  auto const server = test::redis_server::make(options);
  auto raw = server->raw();
  ASSERT_FALSE(raw.command({"MODULE", "LOAD", module_file()}).is_error());
  use(*server);
  auto const wanted = contents(raw);
  server->kill9();
  server->start();
  auto restarted = server->raw();
  EXPECT_THAT(restarted.command(renew(waiter)), is_error("ERR unknown command"));
  EXPECT_EQ(contents(restarted), wanted);
}

}  // namespace
}  // namespace holdfast::module_test
