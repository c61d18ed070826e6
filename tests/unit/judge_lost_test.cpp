/// The judge, on what servers that lost what they knew may do: it is documented, and no more than that.
#include <gtest/gtest.h>

#include <cstdint>

#include "support/process.hpp"
#include "support/written_history.hpp"

namespace {

using namespace holdfast;
using namespace holdfast::test;

/// Tokens are times in microseconds.
constexpr std::int64_t first_token = 1'795'902'543'920'758;

/// Of clients a and b on one machine.
class judge_lost : public testing::Test {
 protected:
  judge_lost() { history_.header("a").header("b"); }
  [[nodiscard]] std::string verdict() const { return verdict_on({history_.written()}); }

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
  written_history& taken(int at, int wait) {
    history_.asked(at, "b", wait, "semaphore", "x");
    return history_.taken(at + 1, "b", wait, "semaphore", "x");
  }

  temporary_folder folder_;
  written_history history_{folder_ / "history"};
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
