/// Looking at one lock from outside.
#include "inspection.hpp"

#include <holdfast/mutex.hpp>

#include <gmock/gmock.h>
#include <unistd.h>

namespace holdfast::test {
namespace {

TEST_F(inspection, shows_a_free_lock) {
  auto const state = inspect(viewer_, "orders");
  EXPECT_EQ(state.name, "orders");
  EXPECT_EQ(state.kind, lock_kind::free);
  EXPECT_EQ(state.type, "none");
  EXPECT_EQ(state.holder.owner, "");
  EXPECT_EQ(state.token, 0);
  EXPECT_FALSE(state.held_for);
  EXPECT_FALSE(state.ttl_left);
}

TEST_F(inspection, shows_who_holds_a_lock_and_since_when) {
  client redis{server_.url(), with_long_timeouts({.label = "nightly import"})};
  mutex lock{redis, "orders"};
  auto const before = server_micros();
  auto const lease = lock.acquire();
  ASSERT_TRUE(eventually([&] { return peek(viewer_, "orders").holder.pid != 0; }));
  auto const state = peek(viewer_, "orders");
  EXPECT_EQ(state.kind, lock_kind::exclusive);
  EXPECT_EQ(state.holder.owner, lease.owner());
  EXPECT_EQ(state.holder.pid, getpid());
  EXPECT_EQ(state.holder.label, "nightly import");
  EXPECT_FALSE(state.holder.host.empty());
  EXPECT_FALSE(state.holder.program.empty());
  ASSERT_TRUE(state.held_for && state.ttl_left);
  EXPECT_GT(state.held_for->count(), 0);
  EXPECT_LE(state.held_for->count(), server_micros() - before);
  EXPECT_THAT(state.ttl_left->count(), testing::AllOf(testing::Gt(15'000), testing::Le(30'000)));
  EXPECT_GE(state.token, lease.token());
}

TEST_F(inspection, shows_the_queue_in_order_with_the_time_that_each_has_waited) {
  client holder{server_.url(), with_long_timeouts()};
  auto const lease = mutex{holder, "orders"}.acquire();
  std::vector<std::unique_ptr<client>> clients;
  std::vector<std::unique_ptr<mutex>> locks;
  std::vector<pending> waiting(3);
  std::stop_source stop;
  for (std::size_t i = 0; i != waiting.size(); ++i) {
    clients.push_back(
        std::make_unique<client>(server_.url(), with_long_timeouts({.label = std::to_string(i)})));
    locks.push_back(std::make_unique<mutex>(*clients[i], "orders"));
    locks[i]->async_acquire(waiting[i].handler(), stop.get_token());
    ASSERT_TRUE(
        eventually([&] { return peek(viewer_, "orders").waiting == static_cast<std::int64_t>(i) + 1; }));
  }
  auto const unknown = [](auto const& waiter) { return waiter.process.label.empty(); };
  ASSERT_TRUE(eventually([&] { return std::ranges::none_of(inspect(viewer_, "orders").queue, unknown); }));
  auto const state = inspect(viewer_, "orders");
  ASSERT_EQ(state.queue.size(), 3U);
  for (std::size_t i = 0; i != 3; ++i) {
    EXPECT_EQ(state.queue[i].process.label, std::to_string(i));
    EXPECT_EQ(state.queue[i].process.owner.substr(0, 36), clients[i]->uuid());
    if (i != 0) {
      EXPECT_LT(state.queue[i].waited, state.queue[i - 1].waited);
    }
  }
  EXPECT_LT(state.queue[0].waited, *state.held_for);
  EXPECT_TRUE(peek(viewer_, "orders").queue.empty());
  stop.request_stop();
}

TEST_F(inspection, shows_clients_without_a_record_or_with_a_spoilt_one_as_unknown) {
  hold("orders");
  EXPECT_EQ(inspect(viewer_, "orders").holder.to_string(), "unknown (" + std::string{uuid_} + ":1)");
  raw_.command({"SET", names::client_record(uuid_), "nonsense"});
  EXPECT_EQ(inspect(viewer_, "orders").holder.host, "");
  raw_.del(names::client_record(uuid_));
  raw_.command({"HSET", names::client_record(uuid_), "host", "web-3", "pid", "many", "colour", "red"});
  auto const state = inspect(viewer_, "orders");
  EXPECT_EQ(state.holder.host, "web-3");
  EXPECT_EQ(state.holder.pid, 0);
}

TEST_F(inspection, does_not_believe_a_counter_that_is_no_time) {
  hold("orders");
  raw_.command({"SET", names::token_counter("orders"), "41"});
  EXPECT_FALSE(peek(viewer_, "orders").held_for);
  raw_.command({"SET", names::token_counter("orders"), std::to_string(server_micros() + 60'000'000)});
  EXPECT_FALSE(peek(viewer_, "orders").held_for);
}

TEST_F(inspection, tells_a_lock_of_another_library_from_what_is_no_lock) {
  raw_.command({"SET", "orders", "redsync's value"});
  auto const foreign = inspect(viewer_, "orders");
  EXPECT_EQ(foreign.kind, lock_kind::foreign);
  EXPECT_EQ(foreign.holder.owner, "redsync's value");
  EXPECT_FALSE(foreign.held_for);
  EXPECT_FALSE(foreign.ttl_left);
  raw_.del("orders");
  raw_.command({"RPUSH", "orders", "1"});
  auto const other = inspect(viewer_, "orders");
  EXPECT_EQ(other.kind, lock_kind::other);
  EXPECT_EQ(other.type, "list");
}

TEST_F(inspection, refuses_an_empty_name) {
  auto const invalid = std::make_error_code(std::errc::invalid_argument);
  EXPECT_EQ(code_of([&] { (void)inspect(viewer_, ""); }), invalid);
  EXPECT_EQ(code_of([&] { (void)force_release(viewer_, ""); }), invalid);
  EXPECT_EQ(code_of([&] { (void)force_release(viewer_, "orders", {.grace = -1ms}); }), invalid);
}

TEST_F(inspection, says_that_the_server_is_gone) {
  redis_server server;
  client brisk{server.url(), {.connect_timeout = 500ms}};
  EXPECT_TRUE(eventually([&] { return code_of([&] { (void)peek(brisk, "orders"); }) == std::error_code{}; }));
  server.stop();
  EXPECT_EQ(code_of([&] { (void)peek(brisk, "orders"); }), errc::unreachable);
  EXPECT_EQ(code_of([&] { for_each_lock(brisk, "*", [](lock_state const&) { return true; }); }),
            errc::unreachable);
}

TEST_F(inspection, says_which_rights_it_needs) {
  auto const expect_named = [&](std::string const& right, auto call) {
    raw_.command({"ACL", "SETUSER", "default", "+@all", "-" + right});
    auto const refusal = failure_of(call);
    EXPECT_EQ(refusal.code, errc::unauthorized) << right;
    EXPECT_TRUE(refusal.mentions("+" + right)) << refusal;
  };
  expect_named("scan", [&] { (void)names_found("*"); });
  expect_named("getrange", [&] {
    hold("orders");
    (void)inspect(viewer_, "orders");
  });
  expect_named("del", [&] { (void)force_release(viewer_, "orders", {.grace = 0ms}); });
}

TEST_F(inspection, needs_no_right_to_write) {
  HOLDFAST_ON_ONE_SERVER("it logs in to the one as somebody else");
  hold("orders");
  raw_.command({"ZADD", names::queue("orders"), "1", std::string{uuid_} + ":2"});
  raw_.command({"HSET", names::client_record(uuid_), "host", "web-3"});
  raw_.command({"ACL",       "SETUSER", "viewer",          "on",      ">secret",  "~*",      "resetchannels",
                "-@all",     "+ping",   "+client|setname", "+eval",   "+evalsha", "+scan",   "+type",
                "+getrange", "+pttl",   "+zcard",          "+zrange", "+time",    "+hgetall"});
  client viewer{"redis+unix://viewer:secret@" + server_.socket_path()};
  EXPECT_EQ(inspect(viewer, "orders").holder.host, "web-3");
  EXPECT_EQ(inspect(viewer, "orders").queue.size(), 1U);
  int calls = 0;
  for_each_lock(viewer, "*", [&calls](lock_state const&) { return ++calls; });
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace holdfast::test
