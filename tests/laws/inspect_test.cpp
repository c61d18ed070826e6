/// Inspection of locks from outside, and release by force.
#include "law.hpp"

#include "script/names.hpp"
#include "script/names_redisson.hpp"

#include <holdfast/inspect.hpp>
#include <holdfast/mutex.hpp>

#include <gmock/gmock.h>
#include <unistd.h>

#include <set>
#include <thread>

namespace holdfast::test {
namespace {

using testing::ElementsAre;
using testing::UnorderedElementsAre;

constexpr char const* uuid = "11111111-1111-4111-8111-111111111111";

class inspection : public testing::Test {
 protected:
  /// Makes the lock look held by a client of Holdfast since the counter was written.
  void hold(std::string const& name, std::string const& owner = std::string{uuid} + ":1") {
    raw_.command({"SET", name, owner, "PX", "60000"});
    raw_.command({"SET", names::token_counter(name), std::to_string(server_micros())});
  }

  std::int64_t server_micros() {
    auto const time = raw_.command({"TIME"}).elements;
    return std::stoll(time.at(0).text) * 1'000'000 + std::stoll(time.at(1).text);
  }

  std::vector<std::string> names_found(std::string const& pattern) {
    std::vector<std::string> all;
    for_each_lock(viewer_, pattern, [&all](lock_state const& lock) {
      all.push_back(lock.name);
      return true;
    });
    return all;
  }

  deployment_under_test server_{};
  raw_servers raw_ = server_.raw();
  client viewer_{server_.url(), with_long_timeouts()};
};

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
  auto const unknown = [](auto const& waiter) { return waiter.who.label.empty(); };
  ASSERT_TRUE(eventually([&] { return std::ranges::none_of(inspect(viewer_, "orders").queue, unknown); }));
  auto const state = inspect(viewer_, "orders");
  ASSERT_EQ(state.queue.size(), 3U);
  for (std::size_t i = 0; i != 3; ++i) {
    EXPECT_EQ(state.queue[i].who.label, std::to_string(i));
    EXPECT_EQ(state.queue[i].who.owner.substr(0, 36), clients[i]->uuid());
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
  EXPECT_EQ(inspect(viewer_, "orders").holder.to_string(), "unknown (" + std::string{uuid} + ":1)");
  raw_.command({"SET", names::client_record(uuid), "nonsense"});
  EXPECT_EQ(inspect(viewer_, "orders").holder.host, "");
  raw_.del(names::client_record(uuid));
  raw_.command({"HSET", names::client_record(uuid), "host", "web-3", "pid", "many", "colour", "red"});
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
  HOLDFAST_ON_ONE_SERVER("it stops the one");
  client brisk{server_.url(), {.connect_timeout = 500ms}};
  EXPECT_TRUE(eventually([&] { return code_of([&] { (void)peek(brisk, "orders"); }) == std::error_code{}; }));
  server_.stop();
  EXPECT_EQ(code_of([&] { (void)peek(brisk, "orders"); }), errc::unreachable);
  EXPECT_EQ(code_of([&] { for_each_lock(brisk, "*", [](lock_state const&) { return true; }); }),
            errc::unreachable);
}

TEST_F(inspection, finds_locks_by_name_with_and_without_braces) {
  for (auto const* const name : {"orders:1", "orders:2", "{orders}:3", "orders:{4}", "stock", "a b\n"})
    hold(name);
  EXPECT_THAT(names_found("*"),
              UnorderedElementsAre("orders:1", "orders:2", "{orders}:3", "orders:{4}", "stock", "a b\n"));
  EXPECT_THAT(names_found("orders:*"), UnorderedElementsAre("orders:1", "orders:2", "orders:{4}"));
  EXPECT_THAT(names_found("orders:?"), UnorderedElementsAre("orders:1", "orders:2"));
  EXPECT_THAT(names_found("*[23]"), UnorderedElementsAre("orders:2", "{orders}:3"));
  EXPECT_THAT(names_found("{*"), ElementsAre("{orders}:3"));
  EXPECT_THAT(names_found("stock"), ElementsAre("stock"));
  EXPECT_THAT(names_found("sto"), ElementsAre());
  EXPECT_THAT(names_found(""), ElementsAre());
}

TEST_F(inspection, finds_only_what_is_held_or_waited_for) {
  hold("released");
  raw_.del("released");
  hold("waited for");
  raw_.del("waited for");
  raw_.command({"ZADD", names::queue("waited for"), "1", std::string{uuid} + ":1"});
  hold("foreign", "redsync's value");
  raw_.command({"SET", "never ours", "a value"});
  EXPECT_THAT(names_found("*"), UnorderedElementsAre("waited for", "foreign"));
  EXPECT_THAT(names_found("released"), ElementsAre());
  EXPECT_THAT(names_found("never ours"), ElementsAre());
}

TEST_F(inspection, takes_no_other_keys_for_token_counters) {
  for (auto const* const key : {":holdfast_token", "{}:holdfast_token", "plain::holdfast_token",
                                "a}:holdfast_token", "{a}b}:holdfast_token", "{a}x:holdfast_token"})
    raw_.command({"SET", key, "1"});
  for (auto const* const name : {"plain", "a", "a}b", "{a}"})
    raw_.command({"SET", name, std::string{uuid} + ":1"});
  EXPECT_THAT(names_found("*"), ElementsAre());
}

TEST_F(inspection, finds_all_of_many_locks_among_many_other_keys_and_asks_for_each_client_once) {
  HOLDFAST_ON_ONE_SERVER("it counts the commands of the one");
  std::vector<std::vector<std::string>> commands;
  std::set<std::string> expected_names;
  for (int i = 0; i < 20'000; ++i) commands.push_back({"SET", "session:" + std::to_string(i), "x"});
  for (int i = 0; i < 1'000; ++i) {
    auto const name = "job:" + std::to_string(i);
    expected_names.insert(name);
    commands.push_back({"SET", name, std::string{uuid} + ":" + std::to_string(i)});
    commands.push_back({"SET", names::token_counter(name), "1"});
  }
  raw_.pipeline(commands);
  raw_.command({"HSET", names::client_record(uuid), "host", "web-3"});
  std::set<std::string> listed;
  for_each_lock(viewer_, "*", [&](lock_state const& lock) {
    EXPECT_EQ(lock.holder.host, "web-3");
    listed.insert(lock.name);
    return true;
  });
  EXPECT_EQ(listed, expected_names);
  EXPECT_EQ(raw_.calls_of("hgetall"), 1U);
  EXPECT_EQ(raw_.calls_of("keys"), 0U);
  EXPECT_GT(raw_.calls_of("scan"), 60U) << "a step must be a small one";
}

TEST_F(inspection, stops_the_search_when_told) {
  for (auto const* const name : {"a", "b", "c"}) hold(name);
  int calls = 0;
  for_each_lock(viewer_, "*", [&calls](lock_state const&) { return ++calls < 2; });
  EXPECT_EQ(calls, 2);
}

TEST_F(inspection, searches_both_wires_at_once) {
  hold("plain one");
  raw_.command({"HSET", "orders", std::string{uuid} + ":1", "1"});
  raw_.command({"SET", "licenses", "0"});
  raw_.command({"ZADD", names::redisson::permits("licenses"), "922337203685477", std::string(16, 'a')});
  raw_.command({"ZADD", names::queue("licenses"), "1", std::string{uuid} + ":2"});
  std::multiset<std::string> listed;
  auto const visit = [&listed](lock_state const& lock) {
    listed.insert(lock.name + (lock.wire == wire::plain ? " plain" : " redisson"));
    return true;
  };
  EXPECT_FALSE(for_each_lock_on_wires(viewer_, "*", visit));
  EXPECT_THAT(listed, testing::UnorderedElementsAre("plain one plain", "orders redisson", "licenses redisson",
                                                    "licenses plain"));
  auto const states = peek_on_wires(viewer_, "licenses");
  EXPECT_TRUE(states.on_both());
  EXPECT_EQ(states.on(wire::automatic).kind, lock_kind::permits);
  EXPECT_EQ(states.on(wire::plain).waiting, 1);
  EXPECT_EQ(force_release(viewer_, "licenses", {.of = wire::plain}), force_result::not_held);
  EXPECT_EQ(force_release(viewer_, "licenses", {.of = wire::redisson}), force_result::deleted);
  EXPECT_FALSE(peek_on_wires(viewer_, "plain one").on_both());
}

TEST_F(inspection, of_both_wires_ends_with_what_its_caller_throws) {
  hold("orders");
  auto const own = failure_of([&] {
    (void)for_each_lock_on_wires(viewer_, "orders", [](lock_state const&) -> bool {
      throw error{errc::unauthorized, "the caller's own"};
    });
  });
  EXPECT_EQ(own.code, errc::unauthorized);
  EXPECT_EQ(own.message, "the caller's own");
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
  raw_.command({"ZADD", names::queue("orders"), "1", std::string{uuid} + ":2"});
  raw_.command({"HSET", names::client_record(uuid), "host", "web-3"});
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

class release_by_force : public inspection {
 protected:
  client redis_{server_.url(), with_long_timeouts()};
  mutex lock_{redis_, "orders"};
};

TEST_F(release_by_force, tells_the_holder_who_gives_it_back) {
  auto lease = lock_.acquire();
  std::atomic<int> notified = 0;
  lease.on_lost([&](loss_cause cause) {
    if (cause == loss_cause::forced) ++notified;
    lease.release();
  });
  EXPECT_EQ(force_release(viewer_, "orders", {.grace = 20s}), force_result::released_by_holder);
  EXPECT_EQ(notified, 1);
  EXPECT_FALSE(lease.valid());
  EXPECT_FALSE(raw_.exists("orders"));
}

TEST_F(release_by_force, deletes_the_lock_under_a_holder_that_does_not_let_go) {
  auto const lease = lock_.acquire();
  ASSERT_TRUE(eventually([&] { return raw_.listeners("holdfast_inbox:" + redis_.uuid()) >= 1; }));
  EXPECT_EQ(force_release(viewer_, "orders", {.grace = 1s}), force_result::deleted);
  EXPECT_TRUE(eventually([&] { return lease.lost_because() == loss_cause::forced; }));
  EXPECT_FALSE(raw_.exists("orders"));
}

TEST_F(release_by_force, deletes_the_lock_of_a_process_that_died) {
  hold("orders");
  EXPECT_EQ(force_release(viewer_, "orders", {.grace = 100ms}), force_result::deleted);
  EXPECT_FALSE(raw_.exists("orders"));
}

TEST_F(release_by_force, lets_the_next_waiter_have_it) {
  passes_in_one_round_of(
      10, [&] {  // a waiter tries again when its last request is older than a second and a half
        hold("orders");
        client other{server_.url(), with_long_timeouts({.recheck = 30s})};
        mutex wanted{other, "orders"};
        pending next;
        wanted.async_acquire(next.handler());
        ASSERT_TRUE(eventually([&] { return peek(viewer_, "orders").waiting == 1; }));
        ASSERT_TRUE(eventually([&] { return raw_.client_ids("pubsub").size() == 1; }));
        EXPECT_EQ(force_release(viewer_, "orders", {.grace = 10ms}), force_result::deleted);
        EXPECT_TRUE(eventually([&] { return next.done(); }));
        EXPECT_EQ(other.stats().granted, trusts_grant_messages() ? 1U : 0U);
      });
}

TEST_F(release_by_force, counts_as_given_back_when_a_waiter_has_it_at_once) {
  auto lease = lock_.acquire();
  lease.on_lost([&](loss_cause) { lease.release(); });
  client other{server_.url(), with_long_timeouts()};
  mutex remote{other, "orders"};
  pending next;
  remote.async_acquire(next.handler());
  ASSERT_TRUE(eventually([&] { return peek(viewer_, "orders").waiting == 1; }));
  EXPECT_EQ(force_release(viewer_, "orders", {.grace = 20s}), force_result::released_by_holder);
  EXPECT_TRUE(eventually([&] { return next.done(); }));
}

TEST_F(release_by_force, has_nothing_to_do_when_nobody_holds_it) {
  EXPECT_EQ(force_release(viewer_, "orders"), force_result::not_held);
}

TEST_F(release_by_force, deletes_a_foreign_key_only_when_told_to) {
  raw_.command({"SET", "orders", std::string(5'000, 'x')});
  EXPECT_EQ(force_release(viewer_, "orders"), force_result::refused_foreign);
  EXPECT_TRUE(raw_.exists("orders"));
  EXPECT_EQ(force_release(viewer_, "orders", {.foreign = true}), force_result::deleted);
  EXPECT_FALSE(raw_.exists("orders"));
}

TEST_F(release_by_force, never_deletes_what_is_no_lock) {
  raw_.command({"RPUSH", "orders", "1"});
  EXPECT_EQ(force_release(viewer_, "orders", {.foreign = true}), force_result::refused_other);
  EXPECT_TRUE(raw_.exists("orders"));
}

TEST_F(release_by_force, does_nothing_to_another_holder_than_the_one_meant) {
  auto const lease = lock_.acquire();
  EXPECT_EQ(force_release(viewer_, "orders", {.grace = 0ms, .owner = "somebody else"}),
            force_result::changed);
  EXPECT_TRUE(lease.valid());
  EXPECT_EQ(force_release(viewer_, "orders", {.grace = 0ms, .owner = lease.owner()}), force_result::deleted);
}

TEST_F(release_by_force, leaves_alone_who_takes_the_lock_while_the_holder_is_asked) {
  if (topology_under_test() == topology::cluster)
    GTEST_SKIP() << "nobody counts who heard the question there, so he passes for one who gave it back";
  hold("orders");
  std::jthread const taker{[&] {
    auto raw = server_.raw();
    ASSERT_TRUE(eventually([&] { return raw.calls_of("publish") > 0; }));
    raw.command({"SET", "orders", std::string{uuid} + ":2", "PX", "60000"});
  }};
  EXPECT_EQ(force_release(viewer_, "orders", {.grace = 20s}), force_result::changed);
  EXPECT_EQ(raw_.get("orders"), std::string{uuid} + ":2");
}

TEST_F(release_by_force, asks_again_through_a_connection_that_broke) {
  HOLDFAST_ON_ONE_SERVER("the proxy that breaks connections stands before one");
  flaky_proxy proxy{server_.socket_path()};
  client viewer{proxy.url(), with_long_timeouts()};
  auto lease = lock_.acquire();
  lease.on_lost([&](loss_cause) { lease.release(); });
  proxy.once([](request const& r) { return r.has("ask"); }, fate::cut_after());
  EXPECT_EQ(force_release(viewer, "orders", {.grace = 20s}), force_result::released_by_holder);
}

TEST_F(release_by_force, knows_that_it_deleted_the_lock_when_the_answer_is_lost) {
  HOLDFAST_ON_ONE_SERVER("the proxy that loses answers stands before one");
  flaky_proxy proxy{server_.socket_path()};
  client viewer{proxy.url(), with_long_timeouts()};
  hold("orders");
  pending next;
  lock_.async_acquire(next.handler());
  ASSERT_TRUE(eventually([&] { return raw_.client_ids("pubsub").size() == 1; }));
  ASSERT_TRUE(eventually([&] { return peek(viewer_, "orders").waiting == 1; }));
  auto const deletes = [](request const& r) { return r.name == "EVAL" && r.has("2000"); };
  proxy.once(deletes, fate::cut_after());
  EXPECT_EQ(force_release(viewer, "orders", {.grace = 0ms}), force_result::deleted);
  EXPECT_TRUE(eventually([&] { return next.done(); }));
}

}  // namespace
}  // namespace holdfast::test
