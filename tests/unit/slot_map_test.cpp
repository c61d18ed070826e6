#include "topology/slot_map.hpp"

#include <gtest/gtest.h>

#include "resp/make_reply.hpp"

namespace holdfast::topology {
namespace {

using resp::make_array;
using resp::make_integer;
using resp::make_text;

resp::reply node(std::string host, int port) {
  return make_array({make_text(std::move(host)), make_integer(port), make_text("id")});
}

TEST(slot_map, has_the_master_of_each_range_first_and_its_replicas_behind) {
  auto const reply =
      make_array({make_array({make_integer(0), make_integer(8191), node("a", 1), node("b", 2)}),
                  make_array({make_integer(8192), make_integer(16383), node("::1", 3)})});
  auto const ranges = read_slots(reply, "asked");
  ASSERT_TRUE(ranges);
  ASSERT_EQ(ranges->size(), 2U);
  EXPECT_EQ(ranges->at(0).master, (net::server_address{"a", 1}));
  EXPECT_EQ(ranges->at(0).replicas, (std::vector<net::server_address>{{"b", 2}}));
  EXPECT_EQ(ranges->at(1).first, 8192);
  EXPECT_EQ(ranges->at(1).last, 16383);
  EXPECT_EQ(ranges->at(1).master, (net::server_address{"::1", 3}));
  EXPECT_FALSE(first_unserved(*ranges));
}

TEST(slot_map, takes_the_host_that_was_asked_where_none_is_said) {
  for (auto const& unknown_host : {make_text(""), make_text("?"), resp::reply{}}) {
    auto const reply = make_array(
        {make_array({make_integer(0), make_integer(5), make_array({unknown_host, make_integer(7000)})})});
    auto const ranges = read_slots(reply, "10.0.0.1");
    ASSERT_TRUE(ranges);
    EXPECT_EQ(ranges->at(0).master, (net::server_address{"10.0.0.1", 7000}));
  }
}

TEST(slot_map, of_strange_answers_is_nothing) {
  EXPECT_FALSE(read_slots(make_text("OK"), "a"));
  EXPECT_FALSE(read_slots(make_array({make_integer(1)}), "a"));
  EXPECT_FALSE(read_slots(make_array({make_array({make_integer(0), make_integer(1)})}), "a"));
  EXPECT_FALSE(read_slots(make_array({make_array({make_integer(5), make_integer(1), node("a", 1)})}), "a"));
  EXPECT_FALSE(
      read_slots(make_array({make_array({make_integer(0), make_integer(16384), node("a", 1)})}), "a"));
  EXPECT_FALSE(read_slots(make_array({make_array({make_integer(0), make_integer(1), node("a", 0)})}), "a"));
  EXPECT_FALSE(
      read_slots(make_array({make_array({make_integer(0), make_integer(1), node("a", 65536)})}), "a"));
}

TEST(slot_map, names_the_first_slot_that_nobody_serves) {
  EXPECT_EQ(first_unserved({}), 0);
  EXPECT_EQ(first_unserved({{.first = 0, .last = 99}, {.first = 101, .last = 16383}}), 100);
  EXPECT_EQ(first_unserved({{.first = 0, .last = 16382}}), 16383);
}

TEST(cluster_health, is_what_cluster_info_says) {
  auto const healthy =
      read_health(make_text("cluster_state:ok\r\ncluster_slots_assigned:16384\r\n"
                            "cluster_current_epoch:12\r\ncluster_my_epoch:3\r\n"));
  EXPECT_TRUE(healthy.ok);
  EXPECT_EQ(healthy.epoch, 12U);
  EXPECT_FALSE(read_health(make_text("cluster_state:fail\r\n")).ok);
}

TEST(cluster_health, is_taken_for_granted_when_it_may_not_be_asked_for) {
  EXPECT_TRUE(read_health(resp::make_error("NOPERM")).ok);
}

}  // namespace
}  // namespace holdfast::topology
