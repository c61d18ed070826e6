#include "doctor/report.hpp"
#include "facts_of_doctor.hpp"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

namespace {

using namespace holdfast::cli;
using namespace holdfast::test;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

server_facts member() {
  auto facts = healthy();
  facts.url.clear();
  facts.part_of = probe::deployment_kind::quorum;
  return facts;
}

TEST(doctor_of_several, says_once_what_is_true_of_all) {
  std::vector const servers{reachable(1, member()), reachable(2, member()), reachable(3, member())};
  auto const findings = judge_all(servers);
  auto const version = worst(findings, "version");
  EXPECT_THAT(version.servers, ElementsAre("10.0.0.1:1", "10.0.0.1:2", "10.0.0.1:3"));
  EXPECT_EQ(std::ranges::count(findings, "version", &finding::check), 1);
  EXPECT_THAT(report_text(findings), HasSubstr("ok       version         all 3: Redis 7.0.15\n"));
}

TEST(doctor_of_several, names_those_that_differ_the_worst_first) {
  auto evicts = member();
  evicts.info.value =
      info_text{std::string{healthy_info} + "maxmemory_policy:allkeys-lru\r\nmaxmemory:9\r\n"};
  std::vector const servers{reachable(1, member()), reachable(2, evicts), reachable(3, member())};
  auto const findings = judge_all(servers);
  EXPECT_THAT(worst(findings, "eviction").servers, ElementsAre("10.0.0.1:2"));
  EXPECT_THAT(
      report_text(findings),
      AllOf(HasSubstr("problem  eviction        10.0.0.1:2: maxmemory-policy allkeys-lru\n"),
            HasSubstr("ok                       10.0.0.1:1 and 10.0.0.1:3: maxmemory-policy noeviction\n")));
  EXPECT_TRUE(has_problem(findings));
}

TEST(doctor_of_several, keeps_its_lines_short_when_there_are_many) {
  std::vector<examined> servers;
  for (std::uint16_t port = 1; port <= 20; ++port) {
    auto facts = member();
    facts.info.value = info_text{healthy_info + ("used_memory:" + std::to_string(port * 1'000'000)) + "\r\n"};
    facts.user = port <= 7 ? "jobs" : "default";
    servers.push_back(reachable(port, facts));
  }
  auto const text = report_text(judge_all(servers));
  EXPECT_THAT(text, HasSubstr("10.0.0.1:1, 10.0.0.1:2, 10.0.0.1:3 and 4 more: user jobs"));
  EXPECT_THAT(text,
              AllOf(HasSubstr("5.7 MiB"), Not(HasSubstr("6.7 MiB")), HasSubstr("and 14 more like these")));
}

TEST(doctor_of_several, asks_less_of_a_replica) {
  auto facts = healthy("role:slave\r\nmaster_host:h\r\nmaster_port:1\r\nmaster_link_status:up\r\n");
  facts.part_of = probe::deployment_kind::sentinel;
  facts.writes = {.refusal = "READONLY"};
  std::vector const servers{reachable(1, facts, server_duty::stand_by)};
  auto const findings = judge_all(servers);
  EXPECT_EQ(worst(findings, "link").level, severity::ok);
  EXPECT_EQ(worst(findings, "writing").check, "");
  EXPECT_EQ(worst(findings, "role").check, "");
  EXPECT_EQ(worst(findings, "eviction").level, severity::ok);
}

TEST(doctor_of_several, notices_a_replica_that_does_not_hear_its_master) {
  auto const link = [](std::string const& info) {
    auto facts = healthy(info);
    std::vector const servers{reachable(1, facts, server_duty::stand_by)};
    return worst(judge_all(servers), "link");
  };
  auto const down = link(
      "role:slave\r\nmaster_host:h\r\nmaster_port:1\r\nmaster_link_status:down\r\n"
      "master_link_down_since_seconds:41\r\n");
  EXPECT_EQ(down.level, severity::warning);
  EXPECT_THAT(down.found, HasSubstr("down, to h:1, for 41 s"));
  EXPECT_THAT(link("").found, HasSubstr("it says that it is a master"));
}

TEST(doctor_of_several, notices_different_versions) {
  auto const other = healthy("redis_version:7.2.4\r\n");
  EXPECT_EQ(check_same_version(std::vector{reachable(1, healthy()), reachable(2, healthy())}).level,
            severity::ok);
  auto const mixed = check_same_version(std::vector{reachable(1, healthy()), reachable(2, other)});
  EXPECT_EQ(mixed.level, severity::advice);
  EXPECT_EQ(mixed.found, "Redis 7.0.15 (10.0.0.1:1) and Redis 7.2.4 (10.0.0.1:2)");
}

TEST(doctor_of_several, names_the_address_that_is_not_reached_and_the_parameter_that_maps_it) {
  auto const found = unreachable_at("master", unreachable(6379), severity::problem);
  EXPECT_THAT(found.advice, HasSubstr("?nat=10.0.0.1:6379/HOST:PORT"));
}

TEST(doctor_of_several, tells_programs_which_servers_are_meant) {
  auto const report = nlohmann::json::parse(
      report_json("redis+quorum://h", {{.check = "mode", .found = "x", .servers = {"h:1", "h:2"}}}));
  EXPECT_EQ(report["findings"][0]["servers"], (nlohmann::json{"h:1", "h:2"}));
}

}  // namespace
