#include "topology/known_master.hpp"

#include <gtest/gtest.h>

namespace {

using namespace holdfast::topology;
using namespace std::chrono_literals;

holdfast::net::server_address const first{.host = "10.0.0.1", .port = 6379};
holdfast::net::server_address const second{.host = "10.0.0.2", .port = 6379};
holdfast::net::server_address const third{.host = "10.0.0.3", .port = 6379};
holdfast::time_point const start{1h};

sentinel_view view_of(holdfast::net::server_address const& master, std::int64_t epoch) {
  return {.id = "1", .master = master, .epoch = epoch};
}
sentinel_verdict majority_for(holdfast::net::server_address const& master, std::int64_t epoch) {
  return {.master = master, .age = {.epoch = epoch}, .settled = true};
}
sentinel_verdict minority_for(holdfast::net::server_address const& master, std::int64_t epoch) {
  return {.master = master, .age = {.epoch = epoch}, .settled = false};
}
/// Of a sentinel that leads a failover: it names the master to be, and watches the old one.
sentinel_view view_of_leader(holdfast::net::server_address const& to_be,
                             holdfast::net::server_address const& old, std::int64_t epoch) {
  auto view = view_of(to_be, epoch);
  view.watched = old;
  return view;
}
sentinel_verdict minority_of_leaders_for(holdfast::net::server_address const& master, std::int64_t epoch) {
  return {.master = master, .age = {.epoch = epoch, .firm = false}, .settled = false};
}

struct known_master_then : testing::Test {
  known_master known;

  /// After a failover from the first to the second, and one to the third.
  void SetUp() override {
    EXPECT_FALSE(known.hear(view_of(first, 0))) << "before anything is known all of them are asked";
    EXPECT_TRUE(known.weigh(majority_for(first, 0), start));
    EXPECT_TRUE(known.hear(view_of(second, 1)));
    EXPECT_TRUE(known.hear(view_of(third, 2)));
    EXPECT_EQ(known.where(), third);
  }
};

TEST_F(known_master_then, is_not_changed_by_an_older_word) {
  EXPECT_FALSE(known.hear(view_of(second, 1)));
  EXPECT_FALSE(known.hear(view_of(first, 0)));
  EXPECT_FALSE(known.hear(view_of(second, 2))) << "one of two as new ones doesn't decide";
  EXPECT_EQ(known.where(), third);
}

TEST_F(known_master_then, is_changed_by_a_newer_word_of_one_alone) {
  EXPECT_TRUE(known.hear(view_of(first, 3)));
  EXPECT_EQ(known.where(), first);
  EXPECT_FALSE(known.hear(view_of(third, 2)));
}

TEST_F(known_master_then, is_changed_by_the_sentinel_that_leads_a_failover) {
  EXPECT_TRUE(known.hear(view_of_leader(first, third, 3)));
  EXPECT_FALSE(known.hear(view_of(first, 3))) << "the others follow";
  EXPECT_EQ(known.where(), first);
}

// A failover from the second to the third is led by a sentinel that doesn't finish it. Meanwhile the third
// dies, and the others go back to the second: the leader takes over their number, but not their master.
TEST_F(known_master_then, is_not_what_an_unfinished_failover_says_under_the_number_of_a_later_one) {
  EXPECT_FALSE(known.hear(view_of_leader(third, second, 3))) << "the same master";
  EXPECT_TRUE(known.hear(view_of(second, 3)));
  EXPECT_EQ(known.where(), second);
  EXPECT_FALSE(known.hear(view_of_leader(third, second, 3)));
  EXPECT_FALSE(known.weigh(minority_of_leaders_for(third, 3), start)) << "though the second doesn't answer";
  EXPECT_EQ(known.where(), second);
}

TEST_F(known_master_then, is_as_new_as_the_newest_word_for_it) {
  EXPECT_FALSE(known.hear(view_of(third, 5)));
  EXPECT_FALSE(known.hear(view_of(second, 4)));
  EXPECT_EQ(known.where(), third);
}

TEST_F(known_master_then, does_not_get_older_by_an_old_word_for_the_same) {
  EXPECT_FALSE(known.hear(view_of(third, 0)));
  EXPECT_TRUE(known.weigh(minority_for(third, 0), start));
  EXPECT_FALSE(known.hear(view_of(second, 1)));
  EXPECT_EQ(known.where(), third);
}

TEST_F(known_master_then, is_changed_by_most_of_those_who_are_as_new) {
  EXPECT_TRUE(known.weigh(majority_for(second, 2), start));
  EXPECT_EQ(known.where(), second);
}

TEST_F(known_master_then, is_never_changed_by_a_few_who_are_older) {
  EXPECT_FALSE(known.weigh(minority_for(second, 1), start));
  EXPECT_FALSE(known.weigh(minority_for(second, 1), start + 24h));
  EXPECT_EQ(known.doubted_until(), holdfast::time_point::max());
  EXPECT_EQ(known.where(), third);
}

TEST_F(known_master_then, is_changed_by_most_when_they_go_on_saying_something_older) {
  EXPECT_FALSE(known.weigh(majority_for(first, 0), start));
  EXPECT_EQ(known.doubted_until(), start + known_master::longest_doubt);
  EXPECT_FALSE(known.weigh(majority_for(first, 0), start + known_master::longest_doubt - 1ms));
  EXPECT_TRUE(known.weigh(majority_for(first, 0), start + known_master::longest_doubt));
  EXPECT_EQ(known.where(), first);
  EXPECT_TRUE(known.hear(view_of(second, 1))) << "the numbers begin anew";
}

TEST_F(known_master_then, is_doubted_anew_when_most_have_said_it_in_between) {
  EXPECT_FALSE(known.weigh(majority_for(first, 0), start));
  EXPECT_TRUE(known.weigh(majority_for(third, 2), start + 1s));
  EXPECT_EQ(known.doubted_until(), holdfast::time_point::max());
  EXPECT_FALSE(known.weigh(majority_for(first, 0), start + known_master::longest_doubt));
  EXPECT_EQ(known.where(), third);
}

}  // namespace
