#include "../../cli/watch_events.hpp"

#include <gmock/gmock.h>

#include <chrono>
#include <string>
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

/// The one event that there is; "" for none.
std::string between(lock_state const& before, lock_state const& now) {
  auto const all = cli::changes(before, now, 100ms);
  return all.empty() ? "" : std::string{to_string(all.front().what)};
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

}  // namespace
