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
  void grant_vote(std::size_t master, std::int64_t token = 7, int count = 65) {
    ballot_.grant(master, {.token = token, .count = count},
                  time_point{std::chrono::milliseconds{100 + master}});
  }
  void deny_vote(std::string const& holder, std::size_t master, std::chrono::milliseconds pttl = 1s) {
    ballot_.deny(
        master,
        {.pttl = pttl, .ahead = 2, .ticket = 1000 + static_cast<std::int64_t>(master), .holder = holder});
  }

  ballot ballot_{5, own_id};
};

using a_ballot = votes;

TEST_F(a_ballot, is_won_by_a_majority_whatever_the_others_say) {
  grant_vote(0);
  deny_vote("z:1", 1);
  grant_vote(2);
  EXPECT_EQ(ballot_.count(), outcome::open);
  grant_vote(4);
  EXPECT_EQ(ballot_.count(), outcome::won);
}

TEST_F(a_ballot, is_decided_against_us_as_soon_as_another_has_a_majority) {
  deny_vote("z:1", 0);
  deny_vote("z:1", 1);
  EXPECT_EQ(ballot_.count(), outcome::open);
  deny_vote("z:1", 2);
  EXPECT_EQ(ballot_.count(), outcome::held);
}

TEST_F(a_ballot, waits_for_those_that_may_still_decide_a_split) {
  grant_vote(0);
  grant_vote(1);
  deny_vote("a:1", 2);
  deny_vote("b:1", 3);
  EXPECT_EQ(ballot_.count(), outcome::open);
  deny_vote("a:1", 4);
  EXPECT_EQ(ballot_.count(), outcome::ahead);  // 2 to 2, and own_id is greater
}

TEST_F(a_ballot, leaves_one_contender_ahead_in_the_eyes_of_all) {
  auto const outcome_for = [](std::string_view viewer, std::vector<std::string> const& holders) {
    ballot view{holders.size(), viewer};
    for (std::size_t i = 0; i != holders.size(); ++i) {
      if (holders[i] == viewer) {
        view.grant(i, {}, {});
      } else {
        view.deny(i, {.holder = holders[i]});
      }
    }
    return view.count();
  };
  for (std::vector<std::string> const& split : {std::vector<std::string>{"a", "a", "b", "b", "c"},
                                                {"a", "b", "c", "d", "e"},
                                                {"a", "b", "a", "c", "d"}}) {
    auto leaders = 0;
    for (auto const* const candidate : {"a", "b", "c", "d", "e"})
      leaders += outcome_for(candidate, split) == outcome::ahead ? 1 : 0;
    EXPECT_EQ(leaders, 1);
  }
}

TEST_F(a_ballot, makes_way_for_one_that_may_have_a_majority_with_those_unheard) {
  grant_vote(0);
  deny_vote("z:1", 1);
  deny_vote("z:1", 2);
  ballot_.miss(3);
  ballot_.miss(4);
  EXPECT_EQ(ballot_.count(), outcome::behind);
}

TEST_F(a_ballot, is_held_by_several_together_where_no_vote_is_ours) {
  for (std::size_t i = 0; i != 3; ++i) deny_vote("z:" + std::to_string(i), i);
  EXPECT_EQ(ballot_.count(), outcome::open);  // the last two votes may be granted
  deny_vote("z:3", 3);
  ballot_.miss(4);
  EXPECT_EQ(ballot_.count(), outcome::held);
}

TEST_F(a_ballot, is_about_reaching_masters_when_too_few_answer) {
  grant_vote(0);
  grant_vote(1);
  for (std::size_t i = 2; i != 5; ++i) ballot_.miss(i);
  EXPECT_EQ(ballot_.count(), outcome::unreachable);
  ballot_.refuse(2);
  EXPECT_EQ(ballot_.count(), outcome::refused);
}

TEST_F(a_ballot, counts_the_lease_from_the_earliest_request_of_the_majority) {
  for (auto const i : {4U, 1U, 3U}) grant_vote(i);
  EXPECT_EQ(ballot_.earliest(), time_point{101ms});
}

TEST_F(a_ballot, takes_the_newest_token_and_the_shortest_block) {
  grant_vote(0, 100, 65);
  grant_vote(1, 170, 10);
  grant_vote(2, 90, 65);
  EXPECT_EQ(ballot_.block().token, 170);
  EXPECT_EQ(ballot_.block().count, 10);
}

TEST_F(a_ballot, can_be_won_when_enough_ttls_are_over) {
  deny_vote("z:1", 0, 400ms);
  deny_vote("z:1", 1, 100ms);
  deny_vote("z:1", 2, 300ms);
  ballot_.miss(3);
  grant_vote(4);
  auto const summary = ballot_.summary();
  EXPECT_EQ(summary.pttl, 300ms);  // the granted vote would be returned
  EXPECT_EQ(summary.holder, "z:1");
  EXPECT_EQ(summary.ticket, 1002);
  EXPECT_EQ(summary.ahead, 2);
}

}  // namespace
