#include "engine/quorum/token_levels.hpp"

#include <gtest/gtest.h>

namespace holdfast::engine {
namespace {

TEST(token_levels, count_counters_at_the_end_of_the_block) {
  token_levels levels{3};
  levels.begin({.token = 10, .count = 4});
  EXPECT_EQ(levels.last_token(), 13);
  EXPECT_TRUE(levels.are_level({.token = 10, .count = 4}));
  EXPECT_TRUE(levels.are_level({.token = 20, .count = 1}));
  EXPECT_FALSE(levels.are_level({.token = 9, .count = 4}));
  levels.set_level(0);
  levels.set_level(2);
  EXPECT_EQ(levels.level_counters(), 2U);
  EXPECT_FALSE(levels.is_level(1));
}

TEST(token_levels, begin_anew_with_each_block) {
  token_levels levels{3};
  levels.begin({.token = 1, .count = 1});
  levels.set_level(0);
  levels.begin({.token = 5, .count = 1});
  EXPECT_EQ(levels.level_counters(), 0U);
}

TEST(token_levels, take_the_last_answer_of_several) {
  token_levels levels{1};
  levels.note_request(0);
  levels.note_request(0);
  EXPECT_FALSE(levels.note_answer(0)) << "an earlier one";
  EXPECT_TRUE(levels.is_raising(0));
  EXPECT_TRUE(levels.note_answer(0));
  EXPECT_FALSE(levels.is_raising(0));
}

TEST(token_levels, do_not_take_an_answer_from_before_a_new_vote) {
  token_levels levels{1};
  levels.note_request(0);
  levels.forget_requests(0);
  EXPECT_FALSE(levels.note_answer(0));
}

TEST(token_levels, wait_for_no_answer_to_what_was_not_sent) {
  token_levels levels{1};
  levels.note_request(0);
  levels.note_unsent(0);
  levels.note_request(0);
  EXPECT_TRUE(levels.note_answer(0));
}

}  // namespace
}  // namespace holdfast::engine
