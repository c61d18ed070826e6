/// Replies to a look at locks whose keys hold what nobody of ours has written.
#include "inspect/states.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "inspect/redisson_facts.hpp"
#include "resp/make_reply.hpp"

namespace holdfast::inspection {
namespace {

using namespace std::chrono_literals;
using resp::make_array;
using resp::make_integer;
using resp::make_text;

constexpr auto largest = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t now = 1'700'000'000'000'000;
std::string const owner = "11111111-1111-4111-8111-111111111111:7";

resp::reply seen(std::string type, resp::reply holder, std::int64_t counter,
                 std::vector<resp::reply> queue = {}) {
  return make_array({make_text(std::move(type)), std::move(holder), make_integer(largest),
                     make_integer(counter), make_integer(1), make_integer(now),
                     make_array(std::move(queue))});
}

TEST(states, with_a_counter_below_all_numbers_are_read) {
  auto const state =
      read_states("x", seen("string", make_text(owner), std::numeric_limits<std::int64_t>::min())).plain;
  EXPECT_EQ(state.kind, lock_kind::exclusive);
  EXPECT_FALSE(state.held_for);
  EXPECT_GT(state.ttl_left, 24h * 365);
}

TEST(states, with_tickets_that_are_no_times_are_read) {
  auto const state =
      read_states("x", seen("string", make_text(owner), now,
                            {make_text(owner), make_text("nan"), make_text(owner), make_text("1e300")}))
          .plain;
  ASSERT_EQ(state.queue.size(), 2U);
  EXPECT_EQ(state.queue[1].waited, 0us);
}

TEST(states, of_lists_that_are_too_short_show_no_holders) {
  EXPECT_TRUE(read_states("x", seen("string", make_array({}), now)).plain.holders.empty());
  EXPECT_TRUE(read_states("x", seen("zset", make_array({}), now)).plain.holders.empty());
  EXPECT_TRUE(read_states("x", seen("string", make_array({make_text("x"), make_integer(1)}), now))
                  .plain.holders.empty());
}

TEST(states, of_a_number_of_redissons_that_is_the_largest_are_read) {
  lock_state state;
  read_facts(
      state,
      make_array({make_text("number"), make_text(std::to_string(largest)), make_text("holding"),
                  make_integer(largest), make_text("expired"), make_integer(largest), make_text("permits"),
                  make_array({make_text("0123456789abcdef"), make_text("-1e300")})}),
      std::chrono::microseconds{now});
  EXPECT_EQ(state.kind, lock_kind::permits);
  ASSERT_EQ(state.holders.size(), 1U);
  EXPECT_LT(state.holders[0].ttl_left, 0ms);
}

}  // namespace
}  // namespace holdfast::inspection
