#include "topology/slot_map.hpp"

#include <gtest/gtest.h>

namespace holdfast::topology {
namespace {

resp::reply integer(std::int64_t n) {
  return {.what = resp::kind::integer, .integer = n, .text = {}, .elements = {}};
}
resp::reply text(std::string words) {
  return {.what = resp::kind::text, .integer = 0, .text = std::move(words), .elements = {}};
}
resp::reply array(std::vector<resp::reply> elements) {
  return {.what = resp::kind::array, .integer = 0, .text = {}, .elements = std::move(elements)};
}
resp::reply node(std::string host, int port) {
  return array({text(std::move(host)), integer(port), text("id")});
}

TEST(slot_map, has_the_master_of_each_range_first_and_its_replicas_behind) {
  auto const said = array({array({integer(0), integer(8191), node("a", 1), node("b", 2)}),
                           array({integer(8192), integer(16383), node("::1", 3)})});
  auto const ranges = read_slots(said, "asked");
  ASSERT_TRUE(ranges);
  ASSERT_EQ(ranges->size(), 2U);
  EXPECT_EQ(ranges->at(0).master, (node_address{"a", 1}));
  EXPECT_EQ(ranges->at(0).replicas, (std::vector<node_address>{{"b", 2}}));
  EXPECT_EQ(ranges->at(1).first, 8192);
  EXPECT_EQ(ranges->at(1).last, 16383);
  EXPECT_EQ(ranges->at(1).master, (node_address{"::1", 3}));
  EXPECT_FALSE(first_unserved(*ranges));
}

TEST(slot_map, takes_the_host_that_was_asked_where_none_is_said) {
  for (auto const& unsaid : {text(""), text("?"), resp::reply{}}) {
    auto const said = array({array({integer(0), integer(5), array({unsaid, integer(7000)})})});
    auto const ranges = read_slots(said, "10.0.0.1");
    ASSERT_TRUE(ranges);
    EXPECT_EQ(ranges->at(0).master, (node_address{"10.0.0.1", 7000}));
  }
}

TEST(slot_map, of_strange_answers_is_nothing) {
  EXPECT_FALSE(read_slots(text("OK"), "a"));
  EXPECT_FALSE(read_slots(array({integer(1)}), "a"));
  EXPECT_FALSE(read_slots(array({array({integer(0), integer(1)})}), "a"));
  EXPECT_FALSE(read_slots(array({array({integer(5), integer(1), node("a", 1)})}), "a"));
  EXPECT_FALSE(read_slots(array({array({integer(0), integer(16384), node("a", 1)})}), "a"));
  EXPECT_FALSE(read_slots(array({array({integer(0), integer(1), node("a", 0)})}), "a"));
  EXPECT_FALSE(read_slots(array({array({integer(0), integer(1), node("a", 65536)})}), "a"));
}

TEST(slot_map, names_the_first_slot_that_nobody_serves) {
  EXPECT_EQ(first_unserved({}), 0);
  EXPECT_EQ(first_unserved({{.first = 0, .last = 99}, {.first = 101, .last = 16383}}), 100);
  EXPECT_EQ(first_unserved({{.first = 0, .last = 16382}}), 16383);
}

TEST(cluster_health, is_what_cluster_info_says) {
  auto const fine =
      read_health(text("cluster_state:ok\r\ncluster_slots_assigned:16384\r\n"
                       "cluster_current_epoch:12\r\ncluster_my_epoch:3\r\n"));
  EXPECT_TRUE(fine.ok);
  EXPECT_EQ(fine.epoch, 12U);
  EXPECT_FALSE(read_health(text("cluster_state:fail\r\n")).ok);
}

TEST(cluster_health, is_taken_for_granted_when_it_may_not_be_asked_for) {
  EXPECT_TRUE(read_health({.what = resp::kind::error, .integer = 0, .text = "NOPERM", .elements = {}}).ok);
}

}  // namespace
}  // namespace holdfast::topology
