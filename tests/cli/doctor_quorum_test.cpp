#include "doctor/quorum.hpp"
#include "facts_of_doctor.hpp"

#include <gmock/gmock.h>

namespace {

using namespace holdfast::cli;
using namespace holdfast::test;
using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;

server_facts voter(std::string const& run_id, std::string const& more_info = {}) {
  auto facts = healthy("run_id:" + run_id + "\r\nuptime_in_seconds:9000\r\n" + more_info);
  facts.part_of = probe::deployment_kind::quorum;
  return facts;
}

/// A quorum without problems, unless it has too few servers or an even number.
quorum_facts fine_quorum(std::uint16_t const count = 5) {
  quorum_facts facts;
  for (std::uint16_t i = 1; i <= count; ++i)
    facts.servers.push_back(reachable(i, voter("r" + std::to_string(i))));
  return facts;
}

TEST(doctor_of_quorum, finds_nothing_wrong_with_what_is_set_up_well) {
  for (auto const& finding : judge(fine_quorum())) {
    EXPECT_EQ(finding.level, severity::ok) << finding.check << ": " << finding.found;
  }
}

TEST(doctor_of_quorum, warns_of_too_few_and_of_an_even_number) {
  EXPECT_EQ(worst(judge(fine_quorum(3)), "servers").level, severity::ok);
  for (auto const count : std::vector<std::uint16_t>{1, 2, 4}) {
    EXPECT_EQ(worst(judge(fine_quorum(count)), "servers").level, severity::warning) << count;
  }
}

TEST(doctor_of_quorum, tells_a_minority_that_is_down_from_a_majority) {
  auto facts = fine_quorum();
  facts.servers[0] = unreachable(1);
  facts.servers[1] = unreachable(2);
  EXPECT_EQ(worst(judge(facts), "majority").level, severity::warning);
  facts.servers[2] = unreachable(3);
  auto const findings = judge(facts);
  EXPECT_EQ(worst(findings, "majority").level, severity::problem);
  EXPECT_TRUE(std::ranges::any_of(
      findings, [](finding const& entry) { return entry.found == "2 of 5 answer; 3 are needed"; }));
}

TEST(doctor_of_quorum, finds_one_server_behind_two_addresses) {
  auto facts = fine_quorum();
  facts.servers[3] = reachable(4, voter("r2"));
  auto const found = worst(judge(facts), "distinct");
  EXPECT_EQ(found.level, severity::problem);
  EXPECT_EQ(found.found, "10.0.0.1:2 and 10.0.0.1:4 are one server");
}

TEST(doctor_of_quorum, refuses_a_replica_and_a_node_of_a_cluster) {
  auto facts = fine_quorum();
  facts.servers[0] = reachable(1, voter("r1", "role:slave\r\nmaster_host:h\r\nmaster_port:1\r\n"));
  facts.servers[1] = reachable(2, voter("r2", "redis_mode:cluster\r\n"));
  auto const findings = judge(facts);
  EXPECT_EQ(worst(findings, "role").level, severity::problem);
  EXPECT_THAT(worst(findings, "role").servers, ElementsAre("10.0.0.1:1"));
  EXPECT_EQ(worst(findings, "mode").level, severity::problem);
}

TEST(doctor_of_quorum, warns_of_a_restart_that_may_have_forgotten_locks) {
  auto facts = fine_quorum();
  facts.servers[0] = reachable(1, voter("r1", "uptime_in_seconds:3\r\n"));
  EXPECT_EQ(worst(judge(facts), "restarts").level, severity::ok);  // it keeps all locks
  facts.servers[0].facts->config.value->at("appendfsync") = "everysec";
  auto const found = worst(judge(facts), "restarts");
  EXPECT_EQ(found.level, severity::warning);
  EXPECT_EQ(found.found, "started 3 s ago");
  EXPECT_THAT(found.servers, ElementsAre("10.0.0.1:1"));
}

TEST(doctor_of_quorum, compares_the_clocks_of_all) {
  auto const spread = [](std::chrono::microseconds const server, std::chrono::microseconds const doubt) {
    auto facts = fine_quorum();
    facts.servers[0].facts->clock.value = clock_facts{.local = 2s, .server = 2s - 12ms, .doubt = doubt};
    facts.servers[1].facts->clock.value = clock_facts{.local = 2s, .server = server, .doubt = doubt};
    return worst(judge(facts), "clock spread").level;
  };
  EXPECT_EQ(spread(2s, 100us), severity::ok);
  EXPECT_EQ(spread(2s + 12ms, 100us), severity::problem);  // each is within 1 %, but their difference isn't
  EXPECT_EQ(spread(2s + 12ms, 10ms), severity::advice);
}

TEST(doctor_of_quorum, notes_times_that_are_far_apart) {
  auto facts = fine_quorum();
  facts.servers[0].facts->clock.value->ahead = 5s;
  auto const found = worst(judge(facts), "clock spread");
  EXPECT_EQ(found.level, severity::advice);
  EXPECT_EQ(found.found, "times are 5.0 s apart");
}

}  // namespace
