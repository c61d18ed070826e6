/// Finding locks by name.
#include "inspection.hpp"

#include "script/names_redisson.hpp"

#include <holdfast/semaphore.hpp>

#include <gmock/gmock.h>

#include <set>

namespace holdfast::test {
namespace {

using testing::ElementsAre;
using testing::UnorderedElementsAre;

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
  raw_.command({"ZADD", names::queue("waited for"), "1", std::string{uuid_} + ":1"});
  hold("foreign", "redsync's value");
  raw_.command({"SET", "never ours", "a value"});
  EXPECT_THAT(names_found("*"), UnorderedElementsAre("waited for", "foreign"));
  EXPECT_THAT(names_found("released"), ElementsAre());
  EXPECT_THAT(names_found("never ours"), ElementsAre());
}

TEST_F(inspection, finds_permits_that_are_out_for_longer_than_their_counter_lives) {
  client taker{server_.url(), with_long_timeouts()};
  for (auto const* const name : {"slots", "{slots}:2"}) {
    semaphore slots{taker, name, 3};
    slots.acquire(2);
    raw_.del(names::token_counter(name));  // as after a day
  }
  semaphore{taker, "fresh", 1}.acquire();
  raw_.command({"ZADD", "scores", "-2", "anna", "7", "holdfast_permits:3"});
  raw_.command({"ZADD", "times", "1", "ben"});
  EXPECT_THAT(names_found("*"), UnorderedElementsAre("slots", "{slots}:2", "fresh"));
  EXPECT_THAT(names_found("s*"), ElementsAre("slots"));
  EXPECT_THAT(names_found("slots"), ElementsAre("slots"));
  std::multiset<std::string> listed;
  EXPECT_FALSE(for_each_lock_on_wires(viewer_, "*slots*", [&listed](lock_state const& lock) {
    EXPECT_EQ(lock.available, 1);
    EXPECT_EQ(lock.ttl_left, std::nullopt);
    listed.insert(lock.name);
    return true;
  }));
  EXPECT_THAT(listed, UnorderedElementsAre("slots", "{slots}:2"));
}

TEST_F(inspection, takes_no_other_keys_for_token_counters) {
  for (auto const* const key : {":holdfast_token", "{}:holdfast_token", "plain::holdfast_token",
                                "a}:holdfast_token", "{a}b}:holdfast_token", "{a}x:holdfast_token"})
    raw_.command({"SET", key, "1"});
  for (auto const* const name : {"plain", "a", "a}b", "{a}"})
    raw_.command({"SET", name, std::string{uuid_} + ":1"});
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
    commands.push_back({"SET", name, std::string{uuid_} + ":" + std::to_string(i)});
    commands.push_back({"SET", names::token_counter(name), "1"});
  }
  raw_.pipeline(commands);
  raw_.command({"HSET", names::client_record(uuid_), "host", "web-3"});
  std::set<std::string> listed;
  for_each_lock(viewer_, "*", [&](lock_state const& lock) {
    EXPECT_EQ(lock.holder.host, "web-3");
    listed.insert(lock.name);
    return true;
  });
  EXPECT_EQ(listed, expected_names);
  EXPECT_EQ(raw_.calls_of("hgetall"), 1U + 1'000U)
      << "one for the client, and for each lock whether it is an election";
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
  raw_.command({"HSET", "orders", std::string{uuid_} + ":1", "1"});
  raw_.command({"SET", "licenses", "0"});
  raw_.command({"ZADD", names::redisson::permits("licenses"), "922337203685477", std::string(16, 'a')});
  raw_.command({"ZADD", names::queue("licenses"), "1", std::string{uuid_} + ":2"});
  std::multiset<std::string> listed;
  auto const visit = [&listed](lock_state const& lock) {
    listed.insert(lock.name + (lock.wire == wire::plain ? " plain" : " redisson"));
    return true;
  };
  EXPECT_FALSE(for_each_lock_on_wires(viewer_, "*", visit));
  EXPECT_THAT(listed, UnorderedElementsAre("plain one plain", "orders redisson", "licenses redisson",
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

}  // namespace
}  // namespace holdfast::test
