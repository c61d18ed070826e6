#include "doctor/sentinel.hpp"
#include "facts_of_doctor.hpp"

#include <gmock/gmock.h>

#include <utility>

namespace {

using namespace holdfast::cli;
using namespace holdfast::test;
using testing::ElementsAre;
using testing::HasSubstr;

probe::server_address const master_address{"10.0.0.1", 6379};

sentinel_view view(std::uint16_t const port) {
  return {.name = {"10.0.0.9", port},
          .master = master_address,
          .check = {.value = "OK"},
          .others = 2,
          .quorum = 2,
          .down_after_ms = 5'000};
}

/// Sentinels without problems: three sentinels, a master and two replicas.
sentinel_facts fine_sentinels() {
  auto master = healthy(
      "connected_slaves:2\r\nslave0:ip=h,port=1,state=online,offset=1000,lag=0\r\n"
      "slave1:ip=h,port=2,state=online,offset=1000,lag=1\r\n");
  master.config.value->insert_or_assign("min-replicas-to-write", "1");
  master.config.value->insert_or_assign("min-replicas-max-lag", "10");
  auto const replica = healthy("role:slave\r\nmaster_host:h\r\nmaster_port:1\r\nmaster_link_status:up\r\n");
  sentinel_facts facts{.master_name = "mymaster", .sentinels = {view(1), view(2), view(3)}};
  facts.servers = {reachable(6379, master), reachable(6380, replica, server_duty::stand_by),
                   reachable(6381, replica, server_duty::stand_by)};
  for (auto& server : facts.servers) server.facts->part_of = probe::deployment_kind::sentinel;
  return facts;
}

TEST(doctor_of_sentinels, finds_nothing_wrong_with_what_is_set_up_well) {
  for (auto const& finding : judge(fine_sentinels())) {
    EXPECT_EQ(finding.level, severity::ok) << finding.check << ": " << finding.found;
  }
}

TEST(doctor_of_sentinels, lists_the_names_they_know_when_ours_is_unknown) {
  auto facts = fine_sentinels();
  facts.servers.clear();
  for (auto& sentinel : facts.sentinels) {
    sentinel.master.reset();
    sentinel.other_names = {"orders", "sessions"};
  }
  auto const found = worst(judge(facts), "master name");
  EXPECT_EQ(found.level, severity::problem);
  EXPECT_EQ(found.found, R"(no master "mymaster"; it knows orders and sessions)");
  EXPECT_EQ(found.servers.size(), 3U);
}

TEST(doctor_of_sentinels, warns_of_one_that_does_not_know_the_name) {
  auto facts = fine_sentinels();
  facts.sentinels[1].master.reset();
  auto const found = worst(judge(facts), "master name");
  EXPECT_EQ(found.level, severity::warning);
  EXPECT_THAT(found.servers, ElementsAre("10.0.0.9:2"));
}

TEST(doctor_of_sentinels, names_who_says_what_when_they_disagree) {
  auto facts = fine_sentinels();
  facts.sentinels[2].master = probe::server_address{"10.0.0.1", 6380};
  EXPECT_EQ(agreed_master(facts.sentinels), master_address);
  auto const found = worst(judge(facts), "agreement");
  EXPECT_EQ(found.level, severity::warning);
  EXPECT_THAT(found.found, HasSubstr("10.0.0.9:2 names 10.0.0.1:6379 and 10.0.0.9:3 names 10.0.0.1:6380"));
  facts.sentinels[0].master = probe::server_address{"10.0.0.1", 6381};
  std::swap(facts.sentinels[0], facts.sentinels[1]);
  facts.sentinels.push_back(view(4));
  EXPECT_EQ(agreed_master(facts.sentinels), master_address);
}

TEST(doctor_of_sentinels, tells_one_that_is_down_from_one_that_is_none) {
  auto facts = fine_sentinels();
  facts.sentinels[2].failure = "connection refused";
  EXPECT_EQ(worst(judge(facts), "sentinels").level, severity::warning);
  for (auto& sentinel : facts.sentinels) {
    sentinel.failure = "ERR unknown command";
    sentinel.is_sentinel = false;
  }
  auto const found = worst(judge(facts), "sentinels");
  EXPECT_EQ(found.level, severity::problem);
  EXPECT_THAT(found.advice, HasSubstr("write redis://"));
}

TEST(doctor_of_sentinels, advises_to_put_all_of_them_into_the_url) {
  auto facts = fine_sentinels();
  facts.sentinels[2].in_url = false;
  auto const found = worst(judge(facts), "sentinels");
  EXPECT_EQ(found.level, severity::advice);
  EXPECT_THAT(found.found, HasSubstr("the URL doesn't have 10.0.0.9:3"));
}

TEST(doctor_of_sentinels, weighs_their_number_and_their_quorum) {
  auto const with = [](std::int64_t const peers, std::int64_t const quorum) {
    auto facts = fine_sentinels();
    for (auto& sentinel : facts.sentinels) {
      sentinel.others = peers;
      sentinel.quorum = quorum;
    }
    return worst(judge(facts), "quorum").level;
  };
  EXPECT_EQ(with(2, 2), severity::ok);
  EXPECT_EQ(with(4, 3), severity::ok);
  EXPECT_EQ(with(0, 1), severity::warning);  // alone
  EXPECT_EQ(with(1, 2), severity::warning);  // two
  EXPECT_EQ(with(3, 3), severity::advice);   // an even number
  EXPECT_EQ(with(4, 2), severity::advice);   // a minority decides
  EXPECT_EQ(with(2, 3), severity::advice);   // all must be up
}

TEST(doctor_of_sentinels, warns_when_a_failover_could_not_be_agreed_on) {
  auto facts = fine_sentinels();
  facts.sentinels[0].check = {.refusal = "NOQUORUM 1 usable Sentinels."};
  auto const found = worst(judge(facts), "quorum");
  EXPECT_EQ(found.level, severity::warning);
  EXPECT_THAT(found.found, HasSubstr("NOQUORUM"));
}

TEST(doctor_of_sentinels, advises_a_failover_that_begins_before_a_lease_ends) {
  auto facts = fine_sentinels();
  for (auto& sentinel : facts.sentinels) sentinel.down_after_ms = 30'000;
  auto const found = worst(judge(facts), "failover");
  EXPECT_EQ(found.level, severity::advice);
  EXPECT_EQ(found.advice, "SENTINEL SET mymaster down-after-milliseconds 5000");
}

TEST(doctor_of_sentinels, advises_nat_when_the_master_is_not_where_they_say) {
  auto facts = fine_sentinels();
  facts.servers[0] = unreachable(6379);
  auto const found = worst(judge(facts), "master");
  EXPECT_EQ(found.level, severity::problem);
  EXPECT_THAT(found.advice, HasSubstr("nat=10.0.0.1:6379/HOST:PORT"));
}

TEST(doctor_of_sentinels, warns_of_replicas_that_are_missing_or_not_reached) {
  auto facts = fine_sentinels();
  facts.servers[1] = unreachable(6380, server_duty::stand_by);
  EXPECT_EQ(worst(judge(facts), "stand-by").level, severity::warning);
  facts.servers.resize(1);
  EXPECT_THAT(worst(judge(facts), "stand-by").found, HasSubstr("no replicas"));
}

TEST(doctor_of_sentinels, says_that_a_replica_was_named_as_the_master) {
  auto facts = fine_sentinels();
  facts.servers[0] = reachable(6379, healthy("role:slave\r\nmaster_host:h\r\nmaster_port:1\r\n"));
  facts.servers[0].facts->part_of = probe::deployment_kind::sentinel;
  EXPECT_EQ(worst(judge(facts), "role").level, severity::problem);
}

}  // namespace
