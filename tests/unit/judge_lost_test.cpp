/// The judge, on what servers that lost what they knew may do: it is documented, and no more than that.
#include <gtest/gtest.h>

#include <cstdint>

#include "judging.hpp"

namespace {

using namespace holdfast;
using namespace holdfast::test;

/// Tokens are times in microseconds.
constexpr std::int64_t first_token = 1'795'902'543'920'758;

/// Of clients a and b on one machine.
class judge_lost : public judged_history {
 protected:
  judge_lost() { history_.header("a").header("b"); }

  /// b has a lease with the second token from 1501 to 1502.
  written_history& b_comes_and_goes() {
    history_.asked(1450, "b", 1, "mutex", "x").granted(1501, "b", 1, "mutex", "x", first_token + 1);
    return history_.of_lease("released", 1502, "b", 1);
  }
  /// The only permit of a semaphore is a's when its server forgets it, and b sets its number again.
  written_history& b_sets_it_again() {
    history_.numbered("setting", 1, "a", "semaphore", "x", 1).numbered("set", 2, "a", "semaphore", "x", 1);
    history_.asked(3, "a", 1, "semaphore", "x").taken(4, "a", 1, "semaphore", "x").trouble(5, "a");
    history_.numbered("added", 6, "a", "semaphore", "x", 1).trouble(7, "b");
    history_.numbered("setting", 8, "b", "semaphore", "x", 1);
    return history_.numbered("set", 9, "b", "semaphore", "x", 1);
  }
  /// b has a token first, then a has an older one, and both are held for a millisecond.
  written_history& a_and_b_hold(int at) {
    history_.asked(at, "b", 1, "mutex", "x").asked(at, "a", 1, "mutex", "x");
    history_.granted(at + 1, "b", 1, "mutex", "x", first_token + 1);
    history_.granted(at + 2, "a", 1, "mutex", "x", first_token);
    return history_.of_lease("released", at + 3, "a", 1).of_lease("released", at + 4, "b", 1);
  }
  /// A server that has lost a's lease lets b write meanwhile.
  void upgrade_lease_of_a_goes_on_to_read(std::int64_t token) {
    history_.asked(1, "a", 1, "upgrade", "x").granted(2, "a", 1, "upgrade", "x", first_token).trouble(3, "a");
    history_.asked(4, "b", 1, "write", "x").granted(5, "b", 1, "write", "x", first_token + 1);
    history_.of_lease("released", 6, "b", 1).of_lease("released", 2007, "a", 1);
    history_.granted_instead(2008, "a", 1, 2, "read", "x", token).of_lease("released", 2009, "a", 2);
  }
  written_history& taken(int at, int wait) {
    history_.asked(at, "b", wait, "semaphore", "x");
    return history_.taken(at + 1, "b", wait, "semaphore", "x");
  }
};

TEST_F(judge_lost, the_token_of_a_replaced_master_whose_answer_is_read_late_is_counted_apart) {
  history_.asked(1, "a", 1, "mutex", "x").trouble(1400, "b");
  b_comes_and_goes().granted(1510, "a", 1, "mutex", "x", first_token);
  EXPECT_EQ(verdict(), "fine | S3") << "its request was sent at 510";
}

TEST_F(judge_lost, such_a_token_is_found_where_nobody_noticed_another_master) {
  history_.asked(1, "a", 1, "mutex", "x");
  b_comes_and_goes().granted(1510, "a", 1, "mutex", "x", first_token);
  EXPECT_EQ(verdict(), "S3");
}

// FOUND 577: a Sentinel's failover by command, while the old master is well.
TEST_F(judge_lost, two_holders_are_counted_apart_where_one_hears_of_the_failover_a_moment_later) {
  history_.trouble(100, "b");
  a_and_b_hold(110).trouble(130, "a");
  EXPECT_EQ(verdict(), "fine | S1 S3");
}

TEST_F(judge_lost, an_older_token_of_the_one_that_had_moved_is_found) {
  history_.asked(1, "b", 1, "mutex", "x").granted(2, "b", 1, "mutex", "x", first_token + 1);
  history_.of_lease("released", 3, "b", 1).trouble(100, "a").alive(1000, 2500, "a").alive(1000, 2500, "b");
  history_.trouble(2501, "a")
      .asked(2502, "a", 1, "mutex", "x")
      .granted(2510, "a", 1, "mutex", "x", first_token);
  history_.of_lease("released", 2511, "a", 1).trouble(2520, "b");
  EXPECT_EQ(verdict(), "S3");
}

TEST_F(judge_lost, two_holders_are_found_where_one_has_only_been_sent_to_another_slot) {
  history_.trouble(100, "b", "rerouted");
  a_and_b_hold(110).trouble(130, "a", "rerouted");
  EXPECT_EQ(verdict(), "S1 | S3");
}

TEST_F(judge_lost, two_holders_are_found_where_the_one_that_had_stayed_does_not_move_on) {
  history_.trouble(100, "b");
  a_and_b_hold(110);
  EXPECT_EQ(verdict(), "S1 | S3");
}

TEST_F(judge_lost, two_holders_are_found_where_it_hears_of_the_failover_too_late) {
  history_.trouble(100, "b");
  a_and_b_hold(110).trouble(900, "a");
  EXPECT_EQ(verdict(), "S1 | S3");
}

TEST_F(judge_lost, two_holders_are_found_where_the_failover_was_long_before) {
  history_.trouble(100, "b").alive(1000, 2500, "a").alive(1000, 2500, "b");
  a_and_b_hold(3000).trouble(3030, "a");
  EXPECT_EQ(verdict(), "S1 S3");
}

TEST_F(judge_lost, two_holders_are_found_where_the_one_that_moves_on_had_come_last) {
  history_.trouble(90, "b").trouble(100, "a");
  a_and_b_hold(110).trouble(130, "a");
  EXPECT_EQ(verdict(), "S1 | S3");
}

TEST_F(judge_lost, an_older_token_is_found_where_its_request_was_sent_when_the_other_one_had_been_told) {
  history_.asked(1, "a", 1, "mutex", "x");
  b_comes_and_goes().trouble(2550, "b").granted(2600, "a", 1, "mutex", "x", first_token);
  EXPECT_EQ(verdict(), "S3") << "its request was sent at 1600";
}

TEST_F(judge_lost, the_newest_of_several_tokens_excuses_none_that_comes_behind_an_earlier_one) {
  history_.asked(1, "a", 1, "mutex", "x");
  b_comes_and_goes().asked(1503, "b", 2, "mutex", "x").trouble(2550, "b");
  history_.granted(2560, "b", 2, "mutex", "x", first_token + 2).of_lease("released", 2561, "b", 2);
  history_.granted(2600, "a", 1, "mutex", "x", first_token);
  EXPECT_EQ(verdict(), "S3")
      << "the second one was told before its request was sent at 1600, and the third one behind";
}

TEST_F(judge_lost, a_downgraded_lease_keeps_a_token_that_was_in_order_when_it_was_told) {
  upgrade_lease_of_a_goes_on_to_read(first_token);
  EXPECT_EQ(verdict(), "fine | S1");
}

TEST_F(judge_lost, a_downgraded_lease_with_another_token_is_a_new_one) {
  upgrade_lease_of_a_goes_on_to_read(first_token - 1);
  EXPECT_EQ(verdict(), "S3 | S1");
}

TEST_F(judge_lost, a_lock_is_not_free_while_a_caller_that_stands_still_may_have_it) {
  history_.asked(1, "b", 1, "fair", "x").asked(10, "a", 1, "fair", "x").alive(500, 8000, "a");
  history_.of_wait("left", 8001, "b", 1).granted(8010, "a", 1, "fair", "x", first_token);
  EXPECT_EQ(verdict(), "fine");
}

TEST_F(judge_lost, a_lock_is_free_while_a_caller_that_leaves_it_runs) {
  history_.asked(1, "b", 1, "fair", "x").asked(10, "a", 1, "fair", "x").alive(500, 8000, "a");
  history_.alive(500, 8000, "b").of_wait("left", 8001, "b", 1);
  history_.granted(8010, "a", 1, "fair", "x", first_token);
  EXPECT_EQ(verdict(), "L1 L1") << "for both";
}

TEST_F(judge_lost, a_permit_that_comes_back_to_a_server_that_forgot_its_semaphore_is_one_more) {
  b_sets_it_again();
  taken(10, 1);
  EXPECT_EQ(verdict(), "fine");
  taken(12, 2);
  EXPECT_EQ(verdict(), "fine | count");
  taken(14, 3);
  EXPECT_EQ(verdict(), "count | count") << "one came back, not two";
}

TEST_F(judge_lost, a_permit_that_came_back_before_its_client_took_another_one_is_none_more) {
  history_.numbered("setting", 1, "a", "semaphore", "x", 1).numbered("set", 2, "a", "semaphore", "x", 1);
  history_.asked(3, "a", 1, "semaphore", "x").taken(4, "a", 1, "semaphore", "x");
  history_.numbered("added", 5, "a", "semaphore", "x", 1);
  history_.asked(6, "a", 2, "semaphore", "x").taken(7, "a", 2, "semaphore", "x").trouble(8, "a");
  history_.numbered("setting", 9, "b", "semaphore", "x", 1).numbered("set", 10, "b", "semaphore", "x", 1);
  taken(11, 1);
  EXPECT_EQ(verdict(), "fine");
  taken(13, 2);
  EXPECT_EQ(verdict(), "count");
}

}  // namespace
