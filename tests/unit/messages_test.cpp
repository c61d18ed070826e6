#include "engine/wake/messages.hpp"

#include <gtest/gtest.h>

namespace {

using holdfast::engine::read_hint;
using holdfast::engine::read_turn_message;

TEST(messages, tell_a_wake_up) {
  auto const woken = read_turn_message("woken 7 the name");
  ASSERT_TRUE(woken);
  EXPECT_EQ(woken->number, 7u);
  EXPECT_FALSE(woken->grant);
  EXPECT_FALSE(woken->for_it_alone);
}

TEST(messages, tell_one_that_nobody_else_could_use) {
  auto const ready = read_turn_message("ready 7 the name");
  ASSERT_TRUE(ready);
  EXPECT_EQ(ready->number, 7u);
  EXPECT_TRUE(ready->for_it_alone);
}

TEST(messages, tell_a_grant) {
  auto const granted = read_turn_message("granted 7 1000 65 the name");
  ASSERT_TRUE(granted && granted->grant);
  EXPECT_EQ(granted->number, 7u);
  EXPECT_EQ(granted->grant->token, 1000);
  EXPECT_EQ(granted->grant->count, 65);
}

TEST(messages, of_another_kind_tell_no_turn) {
  for (auto const* const message :
       {"", "woken", "woken x", "woken -1 a", "woken 99999999999999999999 a", "granted 7", "granted 7 1000 a",
        "granted 7 many 1 a", "asked 7", "told 7 a"})
    EXPECT_FALSE(read_turn_message(message)) << message;
}

TEST(messages, tell_a_hint) {
  EXPECT_EQ(read_hint("asked 7"), 7u);
  for (auto const* const message : {"", "asked", "asked x", "woken 7 a"})
    EXPECT_FALSE(read_hint(message)) << message;
}

}  // namespace
