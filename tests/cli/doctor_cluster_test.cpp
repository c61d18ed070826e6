#include "doctor/cluster.hpp"
#include "facts_of_doctor.hpp"

#include <gmock/gmock.h>

namespace {

using namespace holdfast::cli;
using namespace holdfast::test;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr auto six_nodes =
    "id1 10.0.0.1:1@10001 myself,master - 0 1 1 connected 0-5460\n"
    "id2 10.0.0.1:2@10002 master - 0 1 2 connected 5461-10922\n"
    "id3 10.0.0.1:3@10003 master - 0 1 3 connected 10923-16383\n"
    "id4 10.0.0.1:4@10004 slave id1 0 1 1 connected\n"
    "id5 10.0.0.1:5@10005 slave id2 0 1 2 connected\n"
    "id6 10.0.0.1:6@10006 slave id3 0 1 3 connected\n";

/// A cluster without problems: three masters with a replica each.
cluster_facts healthy_cluster(std::string_view const nodes = six_nodes) {
  cluster_facts facts{.nodes = read_nodes(nodes)};
  facts.hosts = {{.name = {"10.0.0.1", 1}, .state = "ok", .nodes = facts.nodes}};
  for (auto const& node : facts.nodes) {
    if (node.condition == cluster_node::health::failed) continue;
    auto const duty = node.is_master ? server_duty::serving : server_duty::stand_by;
    auto server =
        healthy("redis_mode:cluster\r\nmaster_host:h\r\nmaster_port:1\r\nmaster_link_status:up\r\n" +
                std::string{node.is_master ? "" : "role:slave\r\n"});
    server.part_of = probe::deployment_kind::cluster;
    server.shards_messages = true;
    server.config.value->insert_or_assign("cluster-require-full-coverage", "no");
    server.config.value->insert_or_assign("cluster-node-timeout", "5000");
    facts.servers.push_back({.duty = duty, .name = node.name, .facts = server});
    facts.views.push_back({.name = node.name, .state = "ok", .nodes = facts.nodes});
  }
  return facts;
}

std::string with(std::string text, std::string_view const pattern, std::string_view const replacement) {
  return text.replace(text.find(pattern), pattern.size(), replacement);
}

TEST(doctor_of_cluster, finds_nothing_wrong_with_what_is_set_up_well) {
  for (auto const& finding : judge(healthy_cluster())) {
    EXPECT_EQ(finding.level, severity::ok) << finding.check << ": " << finding.found;
  }
}

TEST(doctor_of_cluster, reads_what_nodes_say_of_each_other) {
  auto const nodes = read_nodes(
      "a 10.0.0.1:1@2,host.example,shard-id=x myself,master - 0 1 1 connected 0-2 7 [93-<-bb] [77->-cc]\r\n"
      "b ::1:6379@16379 slave,fail? a 0 1 1 connected\n"
      "c :0@0 master,noaddr - 0 1 1 disconnected\n"
      "not a node\n");
  ASSERT_EQ(nodes.size(), 3U);
  EXPECT_EQ(nodes[0].name, (probe::server_address{"10.0.0.1", 1}));
  EXPECT_TRUE(nodes[0].asked_here);
  ASSERT_EQ(nodes[0].slots.size(), 2U);
  EXPECT_EQ(nodes[0].slots[1].first, 7);
  EXPECT_EQ(nodes[0].slots[1].last, 7);
  EXPECT_THAT(nodes[0].moving, ElementsAre("93 from bb", "77 to cc"));
  EXPECT_EQ(nodes[1].name, (probe::server_address{"::1", 6379}));
  EXPECT_EQ(nodes[1].master_id, "a");
  EXPECT_EQ(nodes[1].condition, cluster_node::health::suspected);
  EXPECT_EQ(nodes[2].condition, cluster_node::health::without_address);
  EXPECT_THAT(read_nodes("x [ [9 [-\n"), IsEmpty());
  EXPECT_EQ(read_nodes("x h:1@2 master - 0 1 1 connected [ [9 [- 5- -5 x 99999").size(), 1U);
}

TEST(doctor_of_cluster, finds_slots_that_nobody_serves) {
  auto const found =
      worst(judge(healthy_cluster(with(six_nodes, "5461-10922", "5461-10000 10002-10922"))), "slots");
  EXPECT_EQ(found.level, severity::problem);
  EXPECT_THAT(found.found, HasSubstr("1 of 16384 are served by nobody, slot 10001 is the first"));
  auto const lost = judge(healthy_cluster(with(six_nodes, "10002 master", "10002 master,fail")));
  EXPECT_THAT(worst(lost, "slots").found, HasSubstr("5462 of 16384"));
  EXPECT_EQ(worst(lost, "nodes").level, severity::problem);
}

TEST(doctor_of_cluster, finds_masters_without_a_replica) {
  auto const facts = healthy_cluster(with(six_nodes, "slave id1", "slave,fail id1"));
  auto const found = worst(judge(facts), "stand-by");
  EXPECT_EQ(found.level, severity::warning);
  EXPECT_THAT(found.servers, ElementsAre("10.0.0.1:1"));
  EXPECT_EQ(worst(judge(facts), "nodes").level, severity::warning);
}

TEST(doctor_of_cluster, warns_when_there_are_too_few_masters_to_agree) {
  auto const findings =
      judge(healthy_cluster("id1 10.0.0.1:1@10001 myself,master - 0 1 1 connected 0-16383\n"));
  EXPECT_EQ(worst(findings, "masters").level, severity::warning);
  EXPECT_EQ(worst(findings, "slots").level, severity::ok);
}

TEST(doctor_of_cluster, says_which_nodes_take_no_locks) {
  auto facts = healthy_cluster();
  facts.views[1].state = "fail";
  auto const found = worst(judge(facts), "state");
  EXPECT_EQ(found.level, severity::problem);
  EXPECT_THAT(found.servers, ElementsAre("10.0.0.1:2"));
}

TEST(doctor_of_cluster, advises_nat_for_an_address_that_is_not_reached) {
  auto facts = healthy_cluster();
  facts.servers[2] = unreachable(3);
  auto const found = worst(judge(facts), "addresses");
  EXPECT_EQ(found.level, severity::problem);
  EXPECT_THAT(found.advice, HasSubstr("nat=10.0.0.1:3/HOST:PORT"));
}

TEST(doctor_of_cluster, says_which_slots_are_moving) {
  auto facts = healthy_cluster();
  facts.views[0].nodes[0].moving = {"93 from id2"};
  auto const found = worst(judge(facts), "open slots");
  EXPECT_EQ(found.level, severity::warning);
  EXPECT_EQ(found.found, "slot 93 from id2");
}

TEST(doctor_of_cluster, reads_settings_that_only_a_cluster_has) {
  auto facts = healthy_cluster();
  for (auto& server : facts.servers) {
    server.facts->config.value->insert_or_assign("cluster-require-full-coverage", "yes");
    server.facts->config.value->insert_or_assign("cluster-node-timeout", "30000");
    server.facts->shards_messages = false;
  }
  auto const findings = judge(facts);
  EXPECT_EQ(worst(findings, "coverage").level, severity::advice);
  EXPECT_EQ(worst(findings, "failover").level, severity::advice);
  EXPECT_EQ(worst(findings, "sharded").level, severity::advice);
}

TEST(doctor_of_cluster, tells_a_server_that_is_in_no_cluster_which_url_to_write) {
  cluster_facts facts;
  facts.hosts = {{.name = {"h", 1}, .failure = "ERR cluster support disabled", .in_cluster = false}};
  auto const findings = judge(facts);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].level, severity::problem);
  EXPECT_THAT(findings[0].advice, HasSubstr("write redis://"));
}

TEST(doctor_of_cluster, goes_on_with_the_hosts_that_answer) {
  auto facts = healthy_cluster();
  facts.hosts.push_back({.name = {"h", 9}, .failure = "connection refused"});
  EXPECT_EQ(worst(judge(facts), "hosts").level, severity::warning);
}

}  // namespace
