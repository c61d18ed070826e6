#include "show/watch_events.hpp"

#include <gmock/gmock.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace holdfast;
using namespace std::chrono_literals;
using cli::happening;

lock_state held(std::string const& owner, std::chrono::milliseconds ttl = 20s) {
  return {.name = "orders",
          .kind = lock_kind::exclusive,
          .type = "string",
          .holder = {.owner = owner},
          .ttl_left = ttl,
          .token = 41};
}
lock_state const free{.name = "orders", .type = "none", .token = 41};
lock_state const hash{.name = "orders", .kind = lock_kind::other, .type = "hash"};
lock_state const list{.name = "orders", .kind = lock_kind::other, .type = "list"};

lock_state with(lock_state state, std::int64_t waiting, std::int64_t token = 41) {
  state.waiting = waiting;
  state.token = token;
  return state;
}

/// The first event; "" for none.
std::string between(lock_state const& before, lock_state const& now) {
  auto const all = cli::changes(before, now, 100ms);
  return all.empty() ? "" : std::string{to_string(all.front().kind)};
}

TEST(watch_events, says_nothing_when_nothing_happened) {
  EXPECT_EQ(between(free, free), "");
  EXPECT_EQ(between(held("a:1"), held("a:1", 19s)), "");
  EXPECT_EQ(between(hash, hash), "");
}

TEST(watch_events, sees_each_change_of_holder) {
  EXPECT_EQ(between(free, held("a:1")), "acquired");
  EXPECT_EQ(between(held("a:1"), free), "released");
  EXPECT_EQ(between(held("a:1"), held("b:1")), "handed_over");
  EXPECT_EQ(between(held("a:1"), held("a:2")), "passed_on");
  EXPECT_EQ(cli::changes(held("a:1"), held("b:1"), 1ms).at(0).before.owner, "a:1");
}

TEST(watch_events, sees_a_holder_that_says_who_it_is) {
  auto known = held("a:1");
  known.holder.pid = 812;
  EXPECT_EQ(between(held("a:1"), known), "identified");
  EXPECT_EQ(between(known, known), "");
  EXPECT_EQ(between(known, held("a:1")), "");
}

TEST(watch_events, takes_a_ttl_that_may_have_been_over_for_the_cause) {
  EXPECT_EQ(between(held("a:1", 101ms), free), "released");
  EXPECT_EQ(between(held("a:1", 100ms), free), "expired");
}

TEST(watch_events, sees_by_the_token_what_happened_between_two_looks) {
  EXPECT_EQ(between(free, with(free, 0, 42)), "held_meanwhile");
}

TEST(watch_events, counts_those_that_wait) {
  EXPECT_EQ(between(free, with(free, 1)), "waiting");
  EXPECT_EQ(between(with(held("a:1"), 2), with(held("a:1"), 1)), "waiting");
  EXPECT_EQ(between(with(held("a:1"), 2), with(held("b:1"), 1)), "handed_over");
}

TEST(watch_events, sees_when_it_stops_being_a_lock) {
  EXPECT_EQ(between(held("a:1"), hash), "became");
  EXPECT_EQ(between(hash, list), "became");
  EXPECT_EQ(between(hash, free), "became");
}

TEST(watch_events, takes_a_foreign_holder_for_another_one) {
  auto foreign = held("a:9");
  foreign.kind = lock_kind::foreign;
  EXPECT_EQ(between(held("a:1"), foreign), "handed_over");
}

lock_state with_holders(lock_kind kind, std::vector<std::pair<std::string, hold_side>> const& holders,
                        std::int64_t left = 0) {
  lock_state state{.name = "orders", .kind = kind, .wire = wire::redisson, .available = left};
  for (auto const& [owner, side] : holders)
    state.holders.push_back({.process = {.owner = owner}, .side = side});
  state.holding = static_cast<std::int64_t>(holders.size());
  return state;
}

/// All events, as "left a:1, joined b:1".
std::string all_between(lock_state const& before, lock_state const& now) {
  std::string all;
  for (auto const& event : cli::changes(before, now, 100ms)) {
    all += (all.empty() ? "" : ", ") + std::string{to_string(event.kind)};
    if (!event.hold.process.owner.empty()) all += " " + event.hold.process.owner;
  }
  return all;
}

TEST(watch_events, sees_who_comes_and_who_leaves_of_several) {
  constexpr auto rw = lock_kind::read_write;
  constexpr auto read = hold_side::read;
  auto const a = with_holders(rw, {{"a:1", read}});
  auto const b = with_holders(rw, {{"b:1", read}});
  EXPECT_EQ(all_between(free, a), "acquired");
  EXPECT_EQ(all_between(a, free), "released");
  EXPECT_EQ(all_between(a, a), "");
  EXPECT_EQ(all_between(a, b), "left a:1, joined b:1");
  EXPECT_EQ(all_between(with_holders(rw, {{"a:1", hold_side::write}}), a), "left a:1, joined a:1")
      << "a downgrade";
  auto many = a;
  many.holding = 1'000;
  auto more = a;
  more.holding = 1'001;
  EXPECT_EQ(all_between(many, more), "counted") << "who it was is unknown where not all are known";
  EXPECT_EQ(all_between(held("a:1"), a), "became");
}

TEST(watch_events, sees_permits_and_numbers) {
  constexpr auto permit = hold_side::permit;
  auto const two_left = with_holders(lock_kind::counter, {}, 2);
  EXPECT_EQ(all_between(free, two_left), "became");
  EXPECT_EQ(all_between(two_left, with_holders(lock_kind::counter, {}, 1)), "counted");
  EXPECT_EQ(all_between(two_left, with_holders(lock_kind::permits, {{"aa", permit}}, 1)), "joined aa");
  EXPECT_EQ(all_between(with_holders(lock_kind::permits, {{"aa", permit}}, 1), two_left), "left aa");
  EXPECT_EQ(all_between(two_left, with(two_left, 1, 0)), "waiting");
  EXPECT_EQ(all_between(two_left, free), "became");
}

TEST(watch_events, sees_how_often_a_lock_is_held) {
  auto once = held("a:1");
  once.kind = lock_kind::reentrant;
  once.holders = {{.process = once.holder}};
  auto twice = once;
  twice.holders.front().count = 2;
  EXPECT_EQ(between(once, twice), "counted");
  EXPECT_EQ(between(once, held("a:2")), "handed_over");
}

}  // namespace
