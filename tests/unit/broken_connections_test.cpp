#include "net/broken_connections.hpp"

#include <gtest/gtest.h>

#include <string>

namespace {

using holdfast::net::broken_connection;
using holdfast::net::broken_connections;
using holdfast::net::endpoint;
using holdfast::net::parse_url;

endpoint node(int number) {
  return parse_url("redis://10.0.0." + std::to_string(number % 250) + ":" +
                   std::to_string(7000 + number / 250));
}

broken_connections::prepared connection_to(endpoint const& server, std::uint64_t number) {
  return {broken_connection{
      .at = server, .id = {.number = number, .address = "10.0.0.7:5000"}, .greeted_at = {}}};
}

TEST(broken_connections, are_all_known_when_the_network_fails_a_client_of_a_large_cluster) {
  constexpr auto nodes = 1000;
  broken_connections all{{}};
  for (auto i = 0; i != nodes; ++i) {
    for (auto lane : {1U, 2U}) all.add(connection_to(node(i), lane));
  }
  for (auto i = 0; i != nodes; ++i) ASSERT_EQ(all.at(node(i)).size(), 2u) << i;
}

TEST(broken_connections, of_servers_that_are_never_reached_again_are_bounded) {
  broken_connections all{{}};
  for (auto i = 0; i != 5'000; ++i) all.add(connection_to(node(0), 1));
  EXPECT_LE(all.at(node(0)).size(), 4096u);
}

TEST(broken_connections, are_settled_at_one_server_and_refusals_told_once) {
  auto reports = 0;
  broken_connections all{[&reports](std::string const&) { ++reports; }};
  for (auto i = 0; i != 3; ++i) all.add(connection_to(node(i), 1));
  all.settle(all.at(node(1)), "NOPERM");
  EXPECT_TRUE(all.at(node(1)).empty());
  EXPECT_EQ(all.at(node(0)).size(), 1u);
  all.settle(all.at(node(0)), "NOPERM");
  EXPECT_EQ(reports, 1);
}

}  // namespace
