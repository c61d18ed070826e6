#include "engine/quorum/ballot.hpp"

#include <gtest/gtest.h>

namespace {

using namespace holdfast::engine;
using namespace std::chrono_literals;
using outcome = ballot::outcome;
using holdfast::time_point;

constexpr std::string_view me = "m:1";

/// Of five.
class votes : public testing::Test {
 protected:
  votes() {
    for (std::size_t i = 0; i != 5; ++i) all_.ask(i);
  }
  void mine(std::size_t who, std::int64_t token = 7, int count = 65) {
    all_.grant(who, {.token = token, .count = count}, time_point{std::chrono::milliseconds{100 + who}});
  }
  void of(std::string const& other, std::size_t who, std::chrono::milliseconds pttl = 1s) {
    all_.deny(who,
              {.pttl = pttl, .ahead = 2, .ticket = 1000 + static_cast<std::int64_t>(who), .holder = other});
  }

  ballot all_{5, me};
};

using a_ballot = votes;

TEST_F(a_ballot, is_won_by_a_majority_whatever_the_others_say) {
  mine(0);
  of("z:1", 1);
  mine(2);
  EXPECT_EQ(all_.count(), outcome::open);
  mine(4);
  EXPECT_EQ(all_.count(), outcome::won);
}

TEST_F(a_ballot, is_decided_against_us_as_soon_as_another_has_a_majority) {
  of("z:1", 0);
  of("z:1", 1);
  EXPECT_EQ(all_.count(), outcome::open);
  of("z:1", 2);
  EXPECT_EQ(all_.count(), outcome::held);
}

TEST_F(a_ballot, waits_for_those_that_may_still_decide_a_split) {
  mine(0);
  mine(1);
  of("a:1", 2);
  of("b:1", 3);
  EXPECT_EQ(all_.count(), outcome::open);
  of("a:1", 4);
  EXPECT_EQ(all_.count(), outcome::ahead);  // 2 to 2, and the greater name
}

TEST_F(a_ballot, leaves_one_contender_ahead_in_the_eyes_of_all) {
  auto const seen_by = [](std::string_view us, std::vector<std::string> const& holders) {
    ballot all{holders.size(), us};
    for (std::size_t i = 0; i != holders.size(); ++i) {
      if (holders[i] == us) {
        all.grant(i, {}, {});
      } else {
        all.deny(i, {.holder = holders[i]});
      }
    }
    return all.count();
  };
  for (std::vector<std::string> const& split : {std::vector<std::string>{"a", "a", "b", "b", "c"},
                                                {"a", "b", "c", "d", "e"},
                                                {"a", "b", "a", "c", "d"}}) {
    auto leaders = 0;
    for (auto const* const who : {"a", "b", "c", "d", "e"})
      leaders += seen_by(who, split) == outcome::ahead ? 1 : 0;
    EXPECT_EQ(leaders, 1);
  }
}

TEST_F(a_ballot, makes_way_for_one_that_may_have_a_majority_with_those_unheard) {
  mine(0);
  of("z:1", 1);
  of("z:1", 2);
  all_.miss(3);
  all_.miss(4);
  EXPECT_EQ(all_.count(), outcome::behind);
}

TEST_F(a_ballot, is_held_by_several_together_where_no_vote_is_ours) {
  for (std::size_t i = 0; i != 3; ++i) of("z:" + std::to_string(i), i);
  EXPECT_EQ(all_.count(), outcome::open);  // the last two may be ours
  of("z:3", 3);
  all_.miss(4);
  EXPECT_EQ(all_.count(), outcome::held);
}

TEST_F(a_ballot, is_about_reaching_masters_when_too_few_answer) {
  mine(0);
  mine(1);
  for (std::size_t i = 2; i != 5; ++i) all_.miss(i);
  EXPECT_EQ(all_.count(), outcome::unreachable);
  all_.refuse(2);
  EXPECT_EQ(all_.count(), outcome::refused);
}

TEST_F(a_ballot, counts_the_lease_from_the_earliest_request_of_the_majority) {
  for (auto const i : {4U, 1U, 3U}) mine(i);
  EXPECT_EQ(all_.earliest(), time_point{101ms});
}

TEST_F(a_ballot, takes_the_newest_token_and_the_shortest_block) {
  mine(0, 100, 65);
  mine(1, 170, 10);
  mine(2, 90, 65);
  EXPECT_EQ(all_.block().token, 170);
  EXPECT_EQ(all_.block().count, 10);
}

TEST_F(a_ballot, can_be_won_when_enough_ttls_are_over) {
  of("z:1", 0, 400ms);
  of("z:1", 1, 100ms);
  of("z:1", 2, 300ms);
  all_.miss(3);
  mine(4);
  auto const all = all_.summary();
  EXPECT_EQ(all.pttl, 300ms);  // ours would be given back
  EXPECT_EQ(all.holder, "z:1");
  EXPECT_EQ(all.ticket, 1002);
  EXPECT_EQ(all.ahead, 2);
}

}  // namespace
