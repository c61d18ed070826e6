#include "facts_of_doctor.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <string>
#include <vector>

namespace {

using namespace holdfast::cli;
using namespace holdfast::test;
using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

TEST(doctor, finds_nothing_wrong_with_a_server_that_is_set_up_for_locks) {
  for (auto const& finding : judge(healthy())) {
    EXPECT_EQ(finding.level, severity::ok) << finding.check << ": " << finding.found;
    EXPECT_THAT(finding.why, IsEmpty());
    EXPECT_THAT(finding.advice, IsEmpty());
  }
}

TEST(doctor, says_what_to_do_when_it_was_not_let_in) {
  auto const advice = [](holdfast::errc code, std::string const& words) {
    return unreachable_finding(holdfast::error{code, words}).advice;
  };
  EXPECT_THAT(advice(holdfast::errc::unreachable, "refused"), HasSubstr("that the server runs"));
  EXPECT_THAT(advice(holdfast::errc::refused, "BUSY a script"), HasSubstr("SCRIPT KILL"));
  EXPECT_THAT(advice(holdfast::errc::refused, "LOADING its data"), HasSubstr("wait until"));
  EXPECT_THAT(advice(holdfast::errc::unauthorized, "WRONGPASS"), HasSubstr("user and password"));
  EXPECT_THAT(advice(holdfast::errc::protocol, "HTTP/1.1"), HasSubstr("another program"));
}

TEST(doctor, says_why_and_what_to_do_with_everything_else) {
  auto facts = healthy(
      "redis_version:4.0.9\r\nrole:slave\r\nredis_mode:cluster\r\nused_memory:99\r\n"
      "maxmemory:100\r\nmaxmemory_policy:allkeys-lru\r\naof_last_write_status:err\r\n");
  facts.pings = {1s};
  facts.rights = {{.rule = "+get", .refusal = "NOPERM …"}};
  facts.writes = {.refusal = "OOM"};
  facts.scripts = {.refusal = "ERR"};
  facts.compare = {.refusal = "NOPERM …"};
  facts.messages.value = false;
  facts.clock.value->server = 1400ms;
  facts.config.value->at("timeout") = "5";
  facts.config.value->at("client-output-buffer-limit") = "pubsub 1024 0 0";
  for (auto const& finding : judge(facts)) {
    if (finding.check == "keys" || finding.check == "replicas") continue;
    EXPECT_NE(finding.level, severity::ok) << finding.check;
    EXPECT_THAT(finding.why, Not(IsEmpty())) << finding.check;
    EXPECT_THAT(finding.advice, Not(IsEmpty())) << finding.check;
  }
}

TEST(doctor, calls_unknown_what_it_has_no_right_to_ask) {
  auto facts = healthy();
  facts.info = {.refusal = "no right to INFO"};
  facts.config = {.refusal = "no right to CONFIG GET"};
  for (auto const& finding : judge(facts)) {
    EXPECT_LE(finding.level, severity::advice) << finding.check;
  }
  EXPECT_THAT(check_eviction(facts).found, HasSubstr("unknown: no right to INFO"));
  EXPECT_THAT(check_idle_timeout(facts).found, HasSubstr("unknown: no right to CONFIG GET"));
}

TEST(doctor, knows_the_kinds_of_server) {
  EXPECT_EQ(server_name(info_text{"redis_version:7.2.4\r\nserver_name:valkey\r\nvalkey_version:8.0.1\r\n"}),
            "Valkey 8.0.1");
  EXPECT_EQ(server_name(info_text{"redis_version:6.3.4\r\nmvcc_depth:0\r\n"}), "KeyDB 6.3.4");
  EXPECT_EQ(server_name(info_text{"redis_version:7.0.15\r\n"}), "Redis 7.0.15");
  EXPECT_EQ(server_name(info_text{}), "");
  EXPECT_EQ(check_version(healthy("redis_version:4.0.14\r\n")).level, severity::problem);
  EXPECT_EQ(check_version(healthy("redis_version:5.0.0\r\n")).level, severity::ok);
  EXPECT_EQ(check_version(healthy("redis_version:7.4.0\r\ndragonfly_version:df-v1\r\n")).level,
            severity::advice);
}

TEST(doctor, knows_the_mode_of_valkey) {
  std::string const valkey{
      "redis_version:7.2.4\r\nserver_name:valkey\r\nvalkey_version:9.0.1\r\nrole:master\r\n"};
  auto facts = healthy();
  for (std::string const mode : {"standalone", "cluster", "sentinel"}) {
    facts.info.value = info_text{valkey + "server_mode:" + mode + "\r\n"};
    EXPECT_EQ(check_mode(facts).found, mode);
    EXPECT_EQ(check_mode(facts).level == severity::ok, mode == "standalone");
  }
  EXPECT_EQ(judge(facts).size(), 3u) << "nothing else is worth a word of a sentinel";
  EXPECT_EQ(check_version(facts).found, "Valkey 9.0.1");
  EXPECT_EQ(check_version(facts).level, severity::ok);
}

TEST(doctor, does_not_take_a_sentinel_a_cluster_node_or_a_replica_and_says_which_url_to_write) {
  auto const sentinel = check_mode(healthy("redis_mode:sentinel\r\n"));
  EXPECT_EQ(sentinel.level, severity::problem);
  EXPECT_THAT(sentinel.advice, HasSubstr("redis+sentinel://"));
  auto const node = check_mode(healthy("redis_mode:cluster\r\n"));
  EXPECT_EQ(node.level, severity::problem);
  EXPECT_THAT(node.advice, HasSubstr("redis+cluster://"));
  auto const replica = check_role(healthy("role:slave\r\nmaster_host:10.0.0.1\r\nmaster_port:6379\r\n"));
  EXPECT_EQ(replica.level, severity::problem);
  EXPECT_THAT(replica.found, HasSubstr("10.0.0.1:6379"));
  EXPECT_THAT(replica.advice, HasSubstr("10.0.0.1:6379"));
}

TEST(doctor, expects_of_a_server_what_its_deployment_needs) {
  auto const mode_in = [](probe::deployment_kind const kind, std::string const& mode) {
    auto facts = healthy("redis_mode:" + mode + "\r\n");
    facts.part_of = kind;
    return check_mode(facts);
  };
  EXPECT_EQ(mode_in(probe::deployment_kind::cluster, "cluster").level, severity::ok);
  EXPECT_THAT(mode_in(probe::deployment_kind::cluster, "standalone").advice, HasSubstr("write redis://"));
  EXPECT_EQ(mode_in(probe::deployment_kind::quorum, "standalone").level, severity::ok);
  EXPECT_THAT(mode_in(probe::deployment_kind::quorum, "cluster").advice,
              HasSubstr("know nothing of each other"));
  EXPECT_EQ(mode_in(probe::deployment_kind::sentinel, "standalone").level, severity::ok);
}

TEST(doctor, says_no_more_of_a_sentinel_than_what_it_is) {
  auto const findings = judge(healthy("redis_mode:sentinel\r\n"));
  ASSERT_EQ(findings.size(), 3U);
  EXPECT_EQ(findings.back().check, "mode");
}

TEST(doctor, gives_the_rule_that_adds_the_missing_rights_each_once) {
  auto facts = healthy();
  facts.user = "jobs";
  facts.rights = {{.rule = "+get"},
                  {.rule = "~jobs:* ~{jobs:*", .refusal = "NOPERM keys"},
                  {.rule = "+zadd", .refusal = "NOPERM zadd"},
                  {.rule = "~jobs:* ~{jobs:*", .refusal = "NOPERM keys"}};
  auto const found = check_rights(facts);
  EXPECT_EQ(found.level, severity::problem);
  EXPECT_THAT(found.advice, HasSubstr("ACL SETUSER jobs ~jobs:* ~{jobs:* +zadd,"));
}

TEST(doctor, weighs_a_missing_right_by_what_needs_it) {
  using needed = right_attempt::needed;
  auto const weight = [](needed const need) {
    auto facts = healthy();
    facts.rights = {{.rule = "+x", .refusal = "NOPERM", .by = need}};
    return check_rights(facts).level;
  };
  EXPECT_EQ(weight(needed::always), severity::problem);
  EXPECT_EQ(weight(needed::for_messages), severity::warning);
  EXPECT_EQ(weight(needed::for_order), severity::advice);
  EXPECT_EQ(weight(needed::to_be_asked), severity::advice);
  EXPECT_EQ(weight(needed::for_replicas), severity::advice);
  EXPECT_EQ(weight(needed::for_tools), severity::advice);
}

TEST(doctor, gives_the_rule_of_a_tenant_and_says_who_may_do_more) {
  auto facts = healthy();
  EXPECT_EQ(holdfast::test::worst(judge(facts), "tenant").check, "") << "nobody asked";
  facts.prefix = "jobs:";
  facts.rule = "~jobs:* ~{jobs:*";
  EXPECT_EQ(check_tenant(facts).level, severity::ok);
  EXPECT_THAT(check_tenant(facts).found, HasSubstr("ACL SETUSER USER reset on >PASSWORD ~jobs:* ~{jobs:*"));
  facts.beyond = {"touch other names"};
  EXPECT_EQ(check_tenant(facts).level, severity::warning);
  EXPECT_THAT(check_tenant(facts).found, HasSubstr("may also: touch other names"));
}

TEST(doctor, says_that_no_rule_has_names_with_spaces) {
  auto facts = healthy();
  facts.prefix = "my jobs:";
  EXPECT_EQ(check_tenant(facts).level, severity::advice);
  EXPECT_THAT(check_tenant(facts).found, HasSubstr("no spaces"));
}

TEST(doctor, gives_no_rule_for_names_that_begin_as_what_belongs_to_others) {
  for (auto const* const prefix :
       {"{jobs:", "{a}", "holdfast_client:", "holdfast_inbox:x", "a\rb", "a\x01"}) {
    EXPECT_FALSE(why_no_rule(prefix, {}).why.empty()) << prefix;
    auto facts = healthy();
    facts.prefix = prefix;
    EXPECT_EQ(check_tenant(facts).level, severity::advice);
    EXPECT_THAT(check_tenant(facts).found, HasSubstr(why_no_rule(prefix, {}).why));
  }
  EXPECT_TRUE(why_no_rule("jobs:{", {}).why.empty());
  EXPECT_TRUE(why_no_rule({}, "{jobs}:1").why.empty()) << "which is one lock, and no tenant's";
}

TEST(doctor, takes_a_policy_that_evicts_for_a_problem_once_there_is_a_limit) {
  EXPECT_EQ(check_eviction(healthy("maxmemory_policy:volatile-lru\r\nmaxmemory:100\r\n")).level,
            severity::problem);
  EXPECT_EQ(check_eviction(healthy("maxmemory_policy:volatile-lru\r\n")).level, severity::warning);
}

TEST(doctor, finds_the_policy_in_the_configuration_when_info_lacks_it) {
  auto facts = healthy();
  facts.info.value = info_text{"redis_version:7.0.0\r\n"};
  facts.config.value->emplace("maxmemory-policy", "allkeys-lfu");
  EXPECT_EQ(check_eviction(facts).level, severity::problem);
}

TEST(doctor, knows_what_a_restart_loses) {
  EXPECT_EQ(check_persistence(healthy()).level, severity::ok);
  auto facts = healthy();
  facts.config.value->at("appendfsync") = "everysec";
  EXPECT_EQ(check_persistence(facts).level, severity::advice);
  EXPECT_EQ(check_persistence(healthy("aof_enabled:0\r\n")).level, severity::warning);
  EXPECT_EQ(check_persistence(healthy("rdb_last_bgsave_status:err\r\n")).level, severity::problem);
}

TEST(doctor, looks_for_replicas_that_are_behind) {
  auto const with = [](std::string const& replica) {
    return check_replicas(healthy("connected_slaves:1\r\nmaster_repl_offset:9000000\r\nslave0:" + replica));
  };
  EXPECT_EQ(with("ip=10.0.0.2,port=6379,state=online,offset=9000000,lag=0\r\n").level, severity::advice);
  EXPECT_EQ(with("ip=10.0.0.2,port=6379,state=online,offset=1000,lag=0\r\n").level, severity::warning);
  EXPECT_EQ(with("ip=10.0.0.2,port=6379,state=online,offset=9000000,lag=30\r\n").level, severity::warning);
  EXPECT_EQ(with("ip=10.0.0.2,port=6379,state=wait_bgsave,offset=9000000,lag=0\r\n").level,
            severity::warning);
}

TEST(doctor, reads_when_a_master_without_replicas_stops) {
  auto const with = [](std::string const& least, std::string const& lag) {
    auto facts = healthy(
        "connected_slaves:1\r\nmaster_repl_offset:9\r\nslave0:ip=h,port=1,state=online,offset=9,lag=0\r\n");
    facts.config.value->insert_or_assign("min-replicas-to-write", least);
    facts.config.value->insert_or_assign("min-replicas-max-lag", lag);
    return check_replicas(facts);
  };
  EXPECT_EQ(with("1", "10").level, severity::ok);
  EXPECT_THAT(with("1", "10").found, HasSubstr("min-replicas-to-write 1 (max-lag 10 s)"));
  EXPECT_THAT(with("0", "10").advice, HasSubstr("min-replicas-to-write 1"));
  EXPECT_THAT(with("1", "0").advice, HasSubstr("min-replicas-max-lag 10"));
}

TEST(doctor, asks_of_a_quorum_that_a_server_which_forgets_stays_away) {
  auto facts = healthy("aof_enabled:0\r\n");
  facts.part_of = probe::deployment_kind::quorum;
  EXPECT_EQ(check_persistence(facts).level, severity::warning);
  EXPECT_THAT(check_persistence(facts).why, HasSubstr("stay away from clients for the longest ttl"));
  facts = healthy();
  facts.part_of = probe::deployment_kind::quorum;
  EXPECT_EQ(check_persistence(facts).level, severity::ok);
  facts.config.value->at("appendfsync") = "everysec";
  EXPECT_EQ(check_persistence(facts).level, severity::advice);
}

TEST(doctor, compares_clock_rates_within_what_round_trips_leave_in_doubt) {
  auto const with = [](std::chrono::microseconds const server, std::chrono::microseconds const doubt) {
    auto facts = healthy();
    facts.clock.value = clock_facts{.local = 2s, .server = server, .doubt = doubt};
    return check_clock(facts).level;
  };
  EXPECT_EQ(with(2s + 10ms, 1ms), severity::ok);       // 0.5 %
  EXPECT_EQ(with(2s + 30ms, 1ms), severity::problem);  // 1.5 %
  EXPECT_EQ(with(2s - 30ms, 1ms), severity::problem);
  EXPECT_EQ(with(2s + 10ms, 15ms), severity::advice);  // 0.5 % ± 0.75 %
  EXPECT_EQ(with(2s + 30ms, 15ms), severity::advice);  // 1.5 % ± 0.75 %
}

/// A sample every 100 ms of a clock that gains `gains` in each interval and jumps once, by `jump`.
std::vector<clock_sample> clock_that_jumps(std::chrono::microseconds const jump,
                                           std::chrono::microseconds const gains = {}) {
  std::vector<clock_sample> samples;
  for (int i = 0; i != 20; ++i) {
    samples.push_back({.here = i * 100ms,
                       .there = 1'000'000s + i * (100ms + gains) + (i < 7 ? 0us : jump),
                       .round_trip = 200us});
  }
  return samples;
}

TEST(doctor, tells_a_step_of_the_clock_from_its_rate) {
  for (auto const jump : {1s, -1s, 60s}) {
    auto const comparison = compare(clock_that_jumps(jump, 1ms));
    EXPECT_EQ(comparison.step, jump);
    EXPECT_EQ(comparison.server - comparison.local, 19ms);
  }
  EXPECT_EQ(compare(clock_that_jumps(5ms)).step, 0us) << "too little to matter";
  EXPECT_EQ(compare(clock_that_jumps(0s, 20ms)).step, 0us) << "one that goes too fast";
  auto slow = clock_that_jumps(50ms);
  slow[7].round_trip = 200ms;
  EXPECT_EQ(compare(slow).step, 0us) << "the answer took so long";
}

TEST(doctor, takes_a_step_of_the_clock_for_a_problem) {
  auto facts = healthy();
  facts.clock.value = compare(clock_that_jumps(-1500ms));
  auto const found = check_clock(facts);
  EXPECT_EQ(found.level, severity::problem);
  EXPECT_THAT(found.found, HasSubstr("jumped by -1.5 s"));
}

TEST(doctor, sees_that_the_clock_was_set_back_before) {
  auto facts = healthy("rdb_last_save_time:1000037\r\n");
  facts.clock.value->now = 1'000'000s;
  EXPECT_EQ(check_clock(facts).level, severity::warning);
  EXPECT_THAT(check_clock(facts).found, HasSubstr("37.0 s from now"));
  facts.clock.value->now = 1'000'036s;
  EXPECT_EQ(check_clock(facts).level, severity::ok);
}

TEST(doctor, compares_times_of_day_where_one_may_take_over) {
  auto const time_check = [](std::chrono::microseconds const ahead) {
    std::vector all{reachable(1, healthy()), reachable(2, healthy(), server_duty::stand_by)};
    all[1].facts->clock.value->ahead = ahead;
    return check_times(all).at(0);
  };
  EXPECT_EQ(time_check(50ms).level, severity::ok);
  EXPECT_EQ(time_check(-300ms).level, severity::warning);
  EXPECT_THAT(time_check(300ms).found, HasSubstr("differ by 300.0 ms"));
  EXPECT_THAT(time_check(300ms).servers, SizeIs(2));
  EXPECT_TRUE(check_times(std::vector{reachable(1, healthy()), unreachable(2)}).empty());
}

TEST(doctor, reads_info_with_whatever_else_is_in_it) {
  info_text const text{
      "# Server\r\nredis_version:7.0.15\nempty:\r\n\r\nno colon\r\nslave0:ip=::1,port=1\r\n"};
  EXPECT_EQ(text.text("redis_version"), "7.0.15");
  EXPECT_TRUE(text.has("empty"));
  EXPECT_FALSE(text.has("no colon"));
  EXPECT_EQ(text.text("slave0"), "ip=::1,port=1");
  EXPECT_EQ(value_in(text.text("slave0"), "port"), "1");
  EXPECT_EQ(value_in(text.text("slave0"), "lag"), "");
  EXPECT_EQ(info_text{"n:12x\r\n"}.number("n"), std::nullopt);
  EXPECT_EQ(info_text{"n:-12\r\n"}.number("n"), -12);
}

}  // namespace
