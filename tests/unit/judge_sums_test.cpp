/// The judge, on histories that claim more than any number holds.
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>

#include "judge/rules.hpp"
#include "judging.hpp"

namespace {

using namespace holdfast;
using namespace holdfast::test;

constexpr auto most = std::numeric_limits<std::int64_t>::max();

/// 2^53 is the most that one line may say: 1,024 of them are 2^63.
constexpr auto lines = 1'100;

class judge_sums : public judged_history {
 protected:
  /// Each adds so many permits.
  void add(std::string const& kind, std::string const& number) {
    for (auto i = 0; i != lines; ++i) {
      history_.add(R"({"e":"added","t":)" + std::to_string(2'500'000 + i) + R"(,"c":"a","kind":")" + kind +
                   R"(","names":["x"],"n":)" + number + '}');
    }
  }
};

TEST_F(judge_sums, stay_within_their_type) {
  EXPECT_EQ(judging::sum(most, 1), most);
  EXPECT_EQ(judging::sum(-most, -1), -most);
  EXPECT_EQ(judging::sum(-most - 1, 0), -most) << "it can be negated";
  EXPECT_EQ(judging::sum(most, -most), 0);
}

TEST_F(judge_sums, of_permits_that_were_taken_away_leave_none) {
  history_.header("a").numbered("setting", 1, "a", "semaphore", "x", 1);
  history_.numbered("set", 2, "a", "semaphore", "x", 1);
  add("semaphore", "-9007199254740992");
  history_.asked(4, "a", 1, "semaphore", "x").taken(5, "a", 1, "semaphore", "x");
  EXPECT_EQ(verdict_on({history_.written()}), "count");
}

TEST_F(judge_sums, of_permits_that_were_added_are_enough_for_all) {
  history_.header("a").numbered("setting", 1, "a", "permits", "x", 1);
  history_.numbered("set", 2, "a", "permits", "x", 1);
  add("permits", "9007199254740992");
  history_.asked(4, "a", 1, "permits", "x", R"(,"n":7)").granted(5, "a", 1, "permits", "x", 1, R"(,"n":7)");
  EXPECT_EQ(verdict_on({history_.written()}), "fine");
}

}  // namespace
