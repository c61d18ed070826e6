#include "sync/leader_reports.hpp"

#include <gtest/gtest.h>

namespace holdfast::sync {
namespace {

seen_leader leader(std::int64_t term, std::string value = "a") {
  return {.owner = "owner of " + std::to_string(term), .term = term, .value = std::move(value)};
}

TEST(leader_reports, tells_the_first_look_whatever_it_finds) {
  leader_reports nobody;
  EXPECT_TRUE(nobody.look(std::nullopt));
  EXPECT_FALSE(nobody.look(std::nullopt));
  leader_reports somebody;
  EXPECT_TRUE(somebody.look(leader(7)));
  EXPECT_EQ(somebody.last(), leader(7));
}

TEST(leader_reports, tell_changes_only) {
  leader_reports reports;
  EXPECT_TRUE(reports.look(leader(7)));
  EXPECT_FALSE(reports.look(leader(7)));
  EXPECT_TRUE(reports.look(std::nullopt));
  EXPECT_TRUE(reports.look(leader(7))) << "it was only out of reach";
  EXPECT_TRUE(reports.look(leader(8)));
  EXPECT_TRUE(reports.look(leader(8, "another value")));
}

TEST(leader_reports, never_go_back_to_an_older_term) {
  leader_reports reports;
  EXPECT_TRUE(reports.look(leader(7)));
  EXPECT_TRUE(reports.look(leader(6)));
  EXPECT_EQ(reports.last(), std::nullopt) << "nobody";
  EXPECT_FALSE(reports.look(leader(6)));
  EXPECT_FALSE(reports.look(std::nullopt));
  EXPECT_TRUE(reports.look(leader(8)));
  EXPECT_TRUE(reports.look(leader(7)));
  EXPECT_EQ(reports.last(), std::nullopt);
}

}  // namespace
}  // namespace holdfast::sync
