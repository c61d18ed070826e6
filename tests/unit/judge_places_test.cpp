/// The judge, on places in a queue that outlive their callers: fair locks on Redisson's wire.
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "judging.hpp"

namespace {

using namespace holdfast;
using namespace holdfast::test;

class judge_places : public judged_history {
 protected:
  /// Of clients a, b and c on one machine.
  judge_places() { history_.header("a").header("b").header("c"); }
  written_history& asked(int at, std::string_view client, int wait) {
    return history_.asked(at, client, wait, "fair", "x", R"(,"credit":10000)");
  }
  /// Its token is the number of the wait.
  written_history& granted(int at, std::string_view client, int wait) {
    return history_.granted(at, client, wait, "fair", "x", wait);
  }
  /// a asks then, runs, and is granted the lock behind the last of its lines.
  std::string verdict_when_a_asks(int at, int runs_until) {
    asked(at, "a", 1).alive(500, runs_until, "a");
    granted(runs_until + 1, "a", 1);
    return verdict();
  }
};

TEST_F(judge_places, of_a_dead_caller_keeps_others_out) {
  asked(1, "b", 1);
  EXPECT_EQ(verdict_when_a_asks(3, 19'000), "fine");
}

TEST_F(judge_places, of_a_dead_caller_is_over) {
  asked(1, "b", 1);
  EXPECT_EQ(verdict_when_a_asks(3, 26'000), "L1");
}

TEST_F(judge_places, of_dead_callers_are_over_one_behind_the_other) {
  asked(1, "b", 1);
  asked(2, "c", 1);
  EXPECT_EQ(verdict_when_a_asks(3, 26'000), "fine");
}

TEST_F(judge_places, are_one_for_each_client) {
  for (int i = 1; i != 6; ++i) asked(i, "b", i);
  EXPECT_EQ(verdict_when_a_asks(10, 45'000), "L1");
}

TEST_F(judge_places, keep_out_no_caller_of_another_lock) {
  asked(1, "b", 1);
  history_.asked(3, "a", 1, "fair", "x").alive(500, 19'000, "a");
  granted(19'001, "a", 1);
  EXPECT_EQ(verdict(), "L1");
}

TEST_F(judge_places, keep_out_a_caller_that_polls_and_has_none) {
  asked(1, "b", 1);
  history_.asked(3, "a", 1, "fair", "x", R"(,"credit":0)").alive(500, 19'000, "a");
  granted(19'001, "a", 1);
  EXPECT_EQ(verdict(), "fine");
}

TEST_F(judge_places, of_a_dead_caller_that_polled_are_none) {
  history_.asked(1, "b", 1, "fair", "x", R"(,"credit":0)");
  EXPECT_EQ(verdict_when_a_asks(3, 19'000), "L1");
}

TEST_F(judge_places, keep_out_nobody_who_was_there_before) {
  asked(1, "a", 1).of_wait("queued", 2, "a", 1);
  asked(10, "b", 1).alive(500, 19'000, "a");
  granted(19'001, "a", 1);
  EXPECT_EQ(verdict(), "L1");
}

TEST_F(judge_places, that_are_over_do_not_come_back) {
  asked(1, "b", 1);
  asked(3, "a", 1).alive(500, 15'000, "a");
  granted(15'001, "a", 1).of_lease("released", 15'002, "a", 1);
  asked(25'001, "a", 2);
  granted(25'002, "a", 2).of_lease("released", 25'003, "a", 2).trouble(100'000, "a");
  asked(100'001, "a", 3).alive(100'500, 118'000, "a");
  granted(118'001, "a", 3);
  EXPECT_EQ(verdict(), "L1");
}

TEST_F(judge_places, of_a_caller_that_stands_still_keeps_others_out) {
  asked(1, "a", 1);
  asked(10, "b", 1).alive(500, 8000, "b");
  granted(8001, "a", 1);
  EXPECT_EQ(verdict(), "fine") << "it goes on, and takes it";
}

TEST_F(judge_places, of_a_caller_that_stands_still_is_over) {
  asked(1, "a", 1);
  asked(10, "b", 1).alive(500, 60'000, "b");
  granted(60'001, "a", 1);
  EXPECT_EQ(verdict(), "L1") << "b could have had it 40 s ago";
}

TEST_F(judge_places, of_a_caller_that_takes_it_late_keeps_nobody_out_while_it_runs) {
  asked(1, "a", 1);
  asked(10, "b", 1).alive(500, 8000, "a").alive(500, 8000, "b");
  granted(8001, "a", 1);
  EXPECT_EQ(verdict(), "L1 L1");
}

TEST_F(judge_places, of_a_caller_that_stood_still_keeps_others_out_until_it_goes_on) {
  asked(1, "a", 1);
  asked(10, "b", 1).alive(500, 8000, "b").alive(6000, 8000, "a");
  granted(8001, "b", 1);
  EXPECT_EQ(verdict(), "fine");
}

TEST_F(judge_places, of_a_caller_that_went_on_long_ago_keeps_nobody_out) {
  asked(1, "a", 1);
  asked(10, "b", 1).alive(500, 14'000, "b").alive(8000, 14'000, "a");
  granted(14'001, "b", 1);
  EXPECT_EQ(verdict(), "L1 L1") << "for both, from then on";
}

TEST_F(judge_places, of_a_caller_that_is_cut_off_keeps_others_out) {
  asked(1, "b", 1);
  asked(3, "a", 1);
  for (int at = 500; at <= 8500; at += 500) history_.away(at, "b");
  history_.alive(500, 9000, "a");
  granted(9001, "a", 1);
  EXPECT_EQ(verdict(), "fine");
}

TEST_F(judge_places, of_a_caller_that_is_cut_off_is_over) {
  asked(1, "b", 1);
  asked(3, "a", 1);
  for (int at = 500; at <= 60'000; at += 500) history_.away(at, "b");
  history_.alive(500, 60'000, "a");
  granted(60'001, "a", 1);
  EXPECT_EQ(verdict(), "L1");
}

TEST_F(judge_places, of_a_caller_that_left_when_it_was_cut_off_keeps_others_out_when_another_leaves) {
  asked(1, "b", 1);
  asked(3, "a", 1);
  asked(5, "c", 1).of_wait("left", 1000, "b", 1).trouble(1500, "b");
  history_.alive(500, 21'000, "c").of_wait("left", 21'300, "c", 1).alive(500, 21'000, "a");
  granted(21'500, "a", 1);
  EXPECT_EQ(verdict(), "fine");
}

TEST_F(judge_places, of_a_caller_that_left_in_order_are_not_there_after_later_trouble) {
  asked(1, "b", 1).of_wait("left", 1000, "b", 1).trouble(100'000, "b").trouble(100'000, "a");
  asked(100'001, "a", 1).alive(100'500, 118'000, "a");
  granted(118'001, "a", 1);
  EXPECT_EQ(verdict(), "L1");
}

TEST_F(judge_places, of_a_caller_that_left_when_it_was_cut_off_keeps_others_out) {
  asked(1, "b", 1);
  asked(3, "a", 1).of_wait("left", 1000, "b", 1).trouble(1500, "b").alive(500, 9000, "a");
  granted(9001, "a", 1);
  EXPECT_EQ(verdict(), "fine");
}

TEST_F(judge_places, of_a_caller_that_left_keeps_nobody_out) {
  asked(1, "b", 1);
  asked(3, "a", 1).of_wait("left", 1000, "b", 1).alive(500, 9000, "a");
  granted(9001, "a", 1);
  EXPECT_EQ(verdict(), "L1");
}

}  // namespace
