/// The judge, on leases that the guard of a killed `holdfast run` gives back.
#include <gtest/gtest.h>

#include "judge/judge.hpp"
#include "judging.hpp"

namespace {

using namespace holdfast;
using namespace holdfast::test;

class judge_guard : public judged_history {
 protected:
  judge_guard() { history_.header("a").header("b").asked(1, "a", 1, "mutex", "x"); }
  /// By the guard, a grace after the client was killed.
  written_history& given_back() { return history_.of_lease("released", 5000, "a", 1); }
  written_history& b_follows() {
    history_.asked(3, "b", 1, "mutex", "x").granted(5001, "b", 1, "mutex", "x", 2);
    return history_.of_lease("released", 5002, "b", 1);
  }
};

TEST_F(judge_guard, ends_the_lease_of_its_client) {
  history_.granted(2, "a", 1, "mutex", "x", 1);
  given_back();
  b_follows();
  EXPECT_EQ(verdict(), "fine");
}

TEST_F(judge_guard, may_give_back_what_its_client_has_lost) {
  history_.granted(2, "a", 1, "mutex", "x", 1).lost(3, "a", 1, "forced");
  given_back();
  b_follows();
  EXPECT_EQ(verdict(), "fine");
}

TEST_F(judge_guard, has_nothing_to_give_back_twice) {
  history_.granted(2, "a", 1, "mutex", "x", 1).of_lease("released", 3, "a", 1);
  given_back();
  EXPECT_THROW((void)verdict(), judging::unreadable);
}

}  // namespace
