#include "engine/quorum/ballot.hpp"

#include <gtest/gtest.h>

namespace {

using namespace holdfast::engine;
using namespace std::chrono_literals;
using outcome = ballot::outcome;
using holdfast::time_point;

constexpr std::string_view own_id = "m:1";

/// A ballot of five masters.
class votes : public testing::Test {
 protected:
  votes() {
    for (std::size_t i = 0; i != 5; ++i) ballot_.ask(i);
  }
  void vote_for_us(std::size_t master, std::int64_t token = 7, int count = 65) {
    ballot_.grant(master, {.token = token, .count = count},
                  time_point{std::chrono::milliseconds{100 + master}});
  }
  void vote_for(std::string const& holder, std::size_t master, std::chrono::milliseconds pttl = 1s) {
    ballot_.deny(
        master,
        {.pttl = pttl, .ahead = 2, .ticket = 1000 + static_cast<std::int64_t>(master), .holder = holder});
  }

  ballot ballot_{5, own_id};
};

using a_ballot = votes;

TEST_F(a_ballot, is_won_by_a_majority_whatever_the_others_say) {
  vote_for_us(0);
  vote_for("z:1", 1);
  vote_for_us(2);
  EXPECT_EQ(ballot_.count(), outcome::open);
  vote_for_us(4);
  EXPECT_EQ(ballot_.count(), outcome::won);
}

TEST_F(a_ballot, is_decided_against_us_as_soon_as_another_has_a_majority) {
  vote_for("z:1", 0);
  vote_for("z:1", 1);
  EXPECT_EQ(ballot_.count(), outcome::open);
  vote_for("z:1", 2);
  EXPECT_EQ(ballot_.count(), outcome::held);
}

TEST_F(a_ballot, waits_for_those_that_may_still_decide_a_split) {
  vote_for_us(0);
  vote_for_us(1);
  vote_for("a:1", 2);
  vote_for("b:1", 3);
  EXPECT_EQ(ballot_.count(), outcome::open);
  vote_for("a:1", 4);
  EXPECT_EQ(ballot_.count(), outcome::ahead);  // 2 to 2, and our name is greater
}

TEST_F(a_ballot, leaves_one_contender_ahead_in_the_eyes_of_all) {
  auto const seen_by = [](std::string_view viewer, std::vector<std::string> const& holders) {
    ballot result{holders.size(), viewer};
    for (std::size_t i = 0; i != holders.size(); ++i) {
      if (holders[i] == viewer) {
        result.grant(i, {}, {});
      } else {
        result.deny(i, {.holder = holders[i]});
      }
    }
    return result.count();
  };
  for (std::vector<std::string> const& split : {std::vector<std::string>{"a", "a", "b", "b", "c"},
                                                {"a", "b", "c", "d", "e"},
                                                {"a", "b", "a", "c", "d"}}) {
    auto leaders = 0;
    for (auto const* const candidate : {"a", "b", "c", "d", "e"})
      leaders += seen_by(candidate, split) == outcome::ahead ? 1 : 0;
    EXPECT_EQ(leaders, 1);
  }
}

TEST_F(a_ballot, makes_way_for_one_that_may_have_a_majority_with_those_unheard) {
  vote_for_us(0);
  vote_for("z:1", 1);
  vote_for("z:1", 2);
  ballot_.miss(3);
  ballot_.miss(4);
  EXPECT_EQ(ballot_.count(), outcome::behind);
}

TEST_F(a_ballot, is_held_by_several_together_where_no_vote_is_ours) {
  for (std::size_t i = 0; i != 3; ++i) vote_for("z:" + std::to_string(i), i);
  EXPECT_EQ(ballot_.count(), outcome::open);  // the last two votes may be ours
  vote_for("z:3", 3);
  ballot_.miss(4);
  EXPECT_EQ(ballot_.count(), outcome::held);
}

TEST_F(a_ballot, is_about_reaching_masters_when_too_few_answer) {
  vote_for_us(0);
  vote_for_us(1);
  for (std::size_t i = 2; i != 5; ++i) ballot_.miss(i);
  EXPECT_EQ(ballot_.count(), outcome::unreachable);
  ballot_.refuse(2);
  EXPECT_EQ(ballot_.count(), outcome::refused);
}

TEST_F(a_ballot, counts_the_lease_from_the_earliest_request_of_the_majority) {
  for (auto const i : {4U, 1U, 3U}) vote_for_us(i);
  EXPECT_EQ(ballot_.earliest(), time_point{101ms});
}

TEST_F(a_ballot, takes_the_newest_token_and_the_shortest_block) {
  vote_for_us(0, 100, 65);
  vote_for_us(1, 170, 10);
  vote_for_us(2, 90, 65);
  EXPECT_EQ(ballot_.block().token, 170);
  EXPECT_EQ(ballot_.block().count, 10);
}

TEST_F(a_ballot, can_be_won_when_enough_ttls_are_over) {
  vote_for("z:1", 0, 400ms);
  vote_for("z:1", 1, 100ms);
  vote_for("z:1", 2, 300ms);
  ballot_.miss(3);
  vote_for_us(4);
  auto const summary = ballot_.summary();
  EXPECT_EQ(summary.pttl, 300ms);  // our own vote would be given back
  EXPECT_EQ(summary.holder, "z:1");
  EXPECT_EQ(summary.ticket, 1002);
  EXPECT_EQ(summary.ahead, 2);
}

}  // namespace
