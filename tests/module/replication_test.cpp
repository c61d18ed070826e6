// What replicas and append-only files without the module make of its commands.

#include "module/effects.hpp"
#include "module/module_test.hpp"
#include "support/eventually.hpp"

namespace holdfast::module_test {
namespace {

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
  EXPECT_TRUE(test::eventually([&] {
    return copy.info("replication", "master_repl_offset") == raw.info("replication", "master_repl_offset");
  }));
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
