// What `holdfast serve` keeps of locks, without a server.
#include "serve/chosen_locks.hpp"
#include "serve/expected_traces.hpp"
#include "serve/feed.hpp"
#include "serve/lock_times.hpp"
#include "serve/store.hpp"

#include <gmock/gmock.h>

#include <chrono>
#include <string>

namespace {

using namespace std::chrono_literals;
using namespace holdfast::cli;
using holdfast::lock_kind;
using holdfast::lock_state;
using holdfast::wire;
using testing::HasSubstr;
using testing::Not;

lock_store::day_time const store_day{std::chrono::hours{12}};

lock_state stored_hold(std::string name, std::string owner, std::int64_t waiting = 0) {
  lock_state lock{.name = std::move(name), .kind = lock_kind::exclusive, .type = "string"};
  lock.holder.owner = owner;
  lock.holders.push_back({.process = {.owner = owner}});
  lock.holding = 1;
  lock.held_for = 1s;
  lock.ttl_left = 30s;
  lock.waiting = waiting;
  return lock;
}

lock_state stored_release(std::string name) { return {.name = std::move(name), .type = "none"}; }

TEST(serve_store, orders_by_contention_and_filters) {
  lock_store store{"here"};
  store.saw(stored_hold("a", "x:1"), 1s, store_day);
  store.saw(stored_hold("b", "x:2", 3), 1s, store_day);
  store.saw(stored_release("never held"), 1s, store_day);
  auto const [all, count] = chosen_locks(store, {}, 0, 10);
  ASSERT_EQ(count, 2U);
  EXPECT_EQ(all[0]->state.name, "b");
  EXPECT_EQ(chosen_locks(store, {.text = "a"}, 0, 10).first[0]->state.name, "a");
  EXPECT_EQ(chosen_locks(store, {}, 1, 10).first.size(), 1U);
  EXPECT_EQ(chosen_locks(store, {.kind = "permits"}, 0, 10).second, 0U);
}

TEST(serve_store, counts_long_holds_by_the_longest_prefix) {
  lock_store store{"here"};
  for (std::string const name : {"deploy", "deploy:db", "orders:1", "other"})
    store.saw(stored_hold(name, "x:1"), 0s, store_day);
  long_hold_rules const rules{.otherwise = 1min,
                              .by_prefix = {{"deploy:", 1h}, {"deploy", 10min}, {"orders:", 5s}}};
  auto const after = [&](lock_store::time const passed) { return store.count(passed, rules)[0].long_holds; };
  EXPECT_EQ(after(3s), 0U);
  EXPECT_EQ(after(10s), 1U);
  EXPECT_EQ(after(5min), 2U);
  EXPECT_EQ(after(20min), 3U);
  EXPECT_EQ(after(2h), 4U);
}

TEST(serve_store, tells_elections_from_other_locks) {
  lock_store store{"here"};
  auto lock = stored_hold("a", "x:1");
  store.saw(lock, 1s, store_day);
  lock.leads = holdfast::leadership{.value = "web-3", .term = 7};
  EXPECT_TRUE(store.saw(lock, 2s, store_day)) << "which pages are told";
  EXPECT_FALSE(store.saw(lock, 3s, store_day));
  EXPECT_EQ(chosen_locks(store, {.kind = "election"}, 0, 10).second, 1U);
  EXPECT_EQ(chosen_locks(store, {.kind = "exclusive"}, 0, 10).second, 0U);
}

TEST(serve_store, notes_who_had_it_and_for_how_long) {
  lock_store store{"here"};
  EXPECT_TRUE(store.saw(stored_hold("a", "x:1"), 10s, store_day));
  EXPECT_FALSE(store.saw(stored_hold("a", "x:1"), 11s, store_day));
  EXPECT_TRUE(store.saw(stored_hold("a", "y:1"), 12s, store_day));
  EXPECT_TRUE(store.saw(stored_release("a"), 13s, store_day));
  auto const id = lock_id("here", wire::plain, "a");
  auto const changes = store.changes_of(id, 10);
  ASSERT_EQ(changes.size(), 2U);
  EXPECT_EQ(changes[1]->held_ms, 2'000);
  EXPECT_THAT(changes[0]->before, HasSubstr("y:1"));
  EXPECT_EQ(store.count(13s, {.otherwise = 1min})[0].grants, 1U);
  EXPECT_EQ(chosen_locks(store, {}, 0, 10).second, 0U) << "nobody uses it";
  EXPECT_TRUE(store.forget_idle(12s).empty());
  EXPECT_EQ(store.forget_idle(13s), std::vector{id});
  EXPECT_FALSE(store.knows("a"));
  EXPECT_EQ(store.bytes(), 0U);
}

TEST(serve_store, notes_how_long_those_who_waited_did_so) {
  lock_store store{"here"};
  auto lock = stored_hold("a", "x:1", 2);
  lock.queue = {{.process = {.owner = "y:1"}, .waited = 4s}, {.process = {.owner = "z:1"}, .waited = 1s}};
  store.saw(lock, 100s, store_day);
  EXPECT_TRUE(store.find("a", wire::plain)->state.queue.empty());
  store.saw(stored_hold("a", "y:1"), 106s, store_day + 6s);
  auto const times = store.times().of(lock_id("here", wire::plain, "a"), store_day + 10s);
  ASSERT_EQ(times.size(), 1U);
  EXPECT_EQ(times[0].waits.count, 1U);
  EXPECT_EQ(times[0].waits.longest, 9s) << "it has held it for a second";
  EXPECT_EQ(times[0].holds.longest, 7s);
  store.saw(stored_hold("a", "unseen:1"), 110s, store_day + 10s);
  EXPECT_EQ(store.times().of(lock_id("here", wire::plain, "a"), store_day + 10s)[0].waits.count, 1U);
}

TEST(serve_times, gives_percentiles_by_the_minute) {
  lock_times times;
  for (int i = 1; i <= 100; ++i) times.add("a", lasting::hold, i * 1s, store_day);
  times.add("a", lasting::hold, 30h, store_day + 1min);
  auto const all = times.of("a", store_day + 1min);
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].holds.count, 100U);
  EXPECT_NEAR(static_cast<double>(all[0].holds.median.count()), 50'000, 10'000);
  EXPECT_NEAR(static_cast<double>(all[0].holds.high.count()), 95'000, 19'000);
  EXPECT_EQ(all[0].holds.longest, 100s);
  EXPECT_EQ(all[0].waits.count, 0U);
  EXPECT_EQ(all[1].holds.longest, 30h);
  EXPECT_EQ(times.of("a", store_day + 15min).size(), 1U) << "a quarter of an hour is over";
  EXPECT_TRUE(times.of("b", store_day).empty());
}

TEST(serve_times, keeps_a_bounded_number_of_minutes) {
  lock_times times{3};
  for (std::string const id : {"a", "b", "c", "d", "a"}) times.add(id, lasting::wait, 1s, store_day);
  EXPECT_TRUE(times.of("b", store_day).empty());
  EXPECT_EQ(times.of("a", store_day).size(), 1U);
  EXPECT_EQ(times.of("a", store_day)[0].waits.count, 1U) << "what it had before is forgotten";
  times.add("a", lasting::wait, -1s, store_day);
  EXPECT_EQ(times.of("a", store_day)[0].waits.count, 2U);
}

TEST(serve_store, lets_times_go_on) {
  lock_store store{"here"};
  store.saw(stored_hold("a", "x:1"), 10s, store_day);
  store.still("a", true, std::nullopt, 15s);
  EXPECT_EQ(store.find("a", wire::plain)->state.ttl_left, 25s);
  EXPECT_EQ(store.find("a", wire::plain)->state.held_for, 6s);
  store.still("a", true, 29s, 16s);
  EXPECT_EQ(store.find("a", wire::plain)->state.ttl_left, 29s);
  store.still("unknown", true, 29s, 16s);
}

TEST(serve_store, has_the_ttl_of_the_key_unless_it_is_a_latch) {
  lock_store store{"here"};
  auto latch = stored_hold("l", "x:2");
  latch.kind = lock_kind::latch;
  store.saw(stored_hold("a", "x:1"), 10s, store_day);
  store.saw(latch, 10s, store_day);
  for (std::string const name : {"a", "l"}) store.still(name, true, -1ms, 11s);
  EXPECT_EQ(store.find("a", wire::plain)->state.ttl_left, std::nullopt) << "PERSIST";
  EXPECT_EQ(store.find("l", wire::plain)->state.ttl_left, 29s) << "its key stays longer";
  store.still("a", true, 5s, 12s);
  EXPECT_EQ(store.find("a", wire::plain)->state.ttl_left, 5s);
}

TEST(serve_store, forgets_a_lock_for_which_there_is_no_room_any_more) {
  lock_store store{"here", {.locks = 2, .bytes = 10'000}};
  store.saw(stored_hold("a", "x:1"), 1s, store_day);
  store.saw(stored_hold("b", "x:2"), 1s, store_day);
  store.saw(stored_hold("c", "x:3"), 1s, store_day);
  EXPECT_FALSE(store.knows("c"));
  EXPECT_EQ(store.take_left_out(), 1U);
  EXPECT_FALSE(store.saw(stored_hold("a", std::string(20'000, 'y')), 2s, store_day));
  EXPECT_FALSE(store.knows("a"));
  EXPECT_TRUE(store.knows("b"));
  EXPECT_EQ(store.take_left_out(), 1U);
}

lock_state stored_trace(std::string name, std::string owner) {
  auto lock = stored_hold(std::move(name), std::move(owner));
  lock.holder.trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
  lock.holders.front().process.trace = lock.holder.trace;
  return lock;
}

TEST(serve_store, tells_of_a_trace_that_is_said_later) {
  lock_store store{"here"};
  store.saw(stored_hold("a", "x:1"), 1s, store_day);
  EXPECT_FALSE(store.saw(stored_hold("a", "x:1"), 2s, store_day));
  EXPECT_TRUE(store.saw(stored_trace("a", "x:1"), 3s, store_day));
  EXPECT_FALSE(store.saw(stored_trace("a", "x:1"), 4s, store_day));
}

TEST(serve_store, is_looked_at_once_more_for_traces_that_are_not_there_yet) {
  lock_store store{"here"};
  expected_traces expected;
  for (std::string const name : {"a", "said", "passed on", "gone"}) {
    auto const lock = stored_hold(name, "x:1");
    if (name != "gone") store.saw(lock, 1s, store_day);
    expected.add(lock, 1s);
  }
  store.saw(stored_trace("said", "x:1"), 2s, store_day);
  store.saw(stored_hold("passed on", "x:2"), 2s, store_day);
  EXPECT_THAT(expected.take_due(store, 2s), testing::IsEmpty());
  EXPECT_THAT(expected.take_due(store, 3s), testing::ElementsAre("a"));
  EXPECT_THAT(expected.take_due(store, 9s), testing::IsEmpty()) << "once";
  auto old = stored_hold("a", "x:1");
  old.held_for = 3s;
  expected.add(old, 9s);
  EXPECT_THAT(expected.take_due(store, 19s), testing::IsEmpty()) << "it would be there";
}

TEST(serve_store, is_looked_at_for_traces_in_small_parts) {
  lock_store store{"here"};
  expected_traces expected;
  for (std::size_t i = 0; i != expected_traces::most_at_once + 1; ++i) {
    auto const lock = stored_hold(std::to_string(i), "x:1");
    store.saw(lock, 1s, store_day);
    expected.add(lock, 1s);
  }
  EXPECT_EQ(expected.take_due(store, 3s).size(), expected_traces::most_at_once);
  EXPECT_EQ(expected.take_due(store, 3s).size(), 1U);
}

TEST(serve_store, keeps_wires_apart) {
  lock_store store{"here"};
  auto other = stored_hold("a", "x:1");
  other.wire = wire::redisson;
  store.saw(stored_hold("a", "x:2"), 1s, store_day);
  store.saw(other, 1s, store_day);
  EXPECT_EQ(store.names().size(), 1U);
  EXPECT_EQ(chosen_locks(store, {.wire = "redisson"}, 0, 10).second, 1U);
}

TEST(serve_feed, gives_what_was_missed_or_says_that_it_is_not_known) {
  event_feed feed{"e"};
  for (int i = 0; i != 3; ++i) feed.publish("locks", std::to_string(i));
  EXPECT_THAT(feed.since("e-2").text,
              testing::AllOf(HasSubstr("data: 2\n"), Not(HasSubstr("data: 1\n")), Not(HasSubstr("reset"))));
  EXPECT_EQ(feed.since("e-2").newest, 3U);
  EXPECT_THAT(feed.since("e-3").text, Not(HasSubstr("event:")));
  for (std::string const unknown : {"", "e-4", "e-x", "other-2", "-", "e-18446744073709551615"})
    EXPECT_THAT(feed.since(unknown).text, HasSubstr("event: reset")) << unknown;
  feed.publish("locks", std::string(3'000'000, 'x'));
  EXPECT_THAT(feed.since("e-1").text, HasSubstr("event: reset")) << "forgotten by now";
  EXPECT_THAT(feed.since("e-3").text, HasSubstr("event: reset")) << "too long for all that come back";
  EXPECT_LT(feed.since("e-3").text.size(), 1'000U);
}

}  // namespace
