#include "doctor_report_of.hpp"
#include "script/names.hpp"
#include "support/flaky_proxy.hpp"
#include "support/redis_server.hpp"

#include <gmock/gmock.h>

#include <sstream>
#include <string>

namespace {

using namespace holdfast::test;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(doctor_command, examines_a_server_and_leaves_nothing_behind) {
  redis_server server{{"--save", "", "--appendonly", "yes", "--appendfsync", "always"}};
  auto redis = server.raw();
  redis.command({"SET", "{a}:holdfast_token", "1"});
  auto const result = doctor_when_idle([&] { return doctor(server.url()); });
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.report["counts"]["ok"], result.report["findings"].size()) << result.report.dump(2);
  EXPECT_THAT(result.finding("keys")["found"], HasSubstr("keys: 1; among 1 of them, token counters: 1"));
  EXPECT_EQ(redis.keys(), words{"{a}:holdfast_token"});
}

TEST(doctor_command, exits_with_78_when_there_is_a_problem) {
  redis_server const server{{"--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru"}};
  auto const result = doctor(server.url());
  EXPECT_EQ(result.code, 78);
  EXPECT_EQ(result.severity("eviction"), "problem");
}

TEST(doctor_command, says_what_to_do_in_lines_for_people) {
  redis_server const server{{"--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru"}};
  auto command = holdfast_command({"doctor", "--url", server.url()});
  EXPECT_EQ(command.wait(), 78);
  EXPECT_THAT(command.out(), testing::AllOf(HasSubstr("problem  eviction"), HasSubstr("why: at maxmemory"),
                                            HasSubstr("do:  CONFIG SET maxmemory-policy noeviction")));
  EXPECT_THAT(command.err(), IsEmpty());
}

TEST(doctor_command, gives_a_rule_that_mends_the_rights) {
  auto const server = redis_server::with({.user = "jobs", .password = "secret"});
  auto redis = server.raw();
  redis.command({"ACL", "SETUSER", "jobs", "on", ">secret", "~jobs:*", "+ping"});
  auto const before = doctor(server.url(), {"--prefix", "jobs:", "jobs:1"});
  EXPECT_EQ(before.code, 78);
  EXPECT_EQ(before.severity("rights"), "problem");
  EXPECT_THAT(before.finding("version")["found"], HasSubstr("unknown: no right to INFO"));
  EXPECT_THAT(before.finding("idle timeout")["found"], HasSubstr("unknown: no right to CONFIG GET"));

  // Follows the advice, at most twice: a key can't be tried without the right to the command.
  auto result = before;
  for (int round = 0; round < 2; ++round) {
    auto const advice = result.finding("rights")["advice"].get<std::string>();
    words rule;
    for (auto remaining = advice.substr(0, advice.find(',')); !remaining.empty();) {
      auto const end = std::min(remaining.find(' '), remaining.size());
      rule.push_back(remaining.substr(0, end));
      remaining.erase(0, end + 1);
    }
    ASSERT_FALSE(redis.command(rule).is_error()) << advice;
    result = doctor(server.url(), {"--prefix", "jobs:", "jobs:1"});
    if (result.severity("rights") == "ok") break;
  }
  EXPECT_EQ(result.severity("rights"), "ok") << result.report.dump(2);
  EXPECT_EQ(result.severity("scripts"), "ok");
  EXPECT_EQ(result.severity("pub/sub"), "ok");
  EXPECT_EQ(result.code, 0);

  // The rule suffices for a lock, and for commands that show it and its queue.
  redis.command({"ZADD", holdfast::names::queue("jobs:2"), "1", "nobody:1"});
  for (words const& arguments :
       std::vector<words>{{"run", "--keep", "--url", server.url(), "jobs:1", "--", "true"},
                          {"run", "--fair", "--url", server.url(), "jobs:3", "--", "true"},
                          {"ls", "--url", server.url(), "jobs:*"},
                          {"inspect", "--url", server.url(), "jobs:1"},
                          {"inspect", "--url", server.url(), "jobs:2"},
                          {"release", "--force", "--yes", "--grace", "0", "--url", server.url(), "jobs:1"}}) {
    auto command = holdfast_command(arguments);
    EXPECT_EQ(command.wait(), arguments.back() == "jobs:2" ? 1 : 0) << command.err();  // it is free
  }
}

TEST(doctor_command, checks_the_right_to_a_name_without_touching_it) {
  auto const server = redis_server::with({.user = "jobs", .password = "secret"});
  auto redis = server.raw();
  redis.command({"ACL", "SETUSER", "jobs", "on", ">secret", "~holdfast_client:*", "~jobs:*", "~{jobs:*", "&*",
                 "+@all"});
  redis.command({"SET", "other:1", "held"});
  redis.command({"SET", "jobs:1", "held"});
  EXPECT_EQ(doctor(server.url(), {"jobs:1"}).severity("rights"), "ok");
  auto const result = doctor(server.url(), {"other:1"});
  EXPECT_THAT(result.finding("rights")["advice"], HasSubstr("ACL SETUSER jobs ~other:1* ~{other:1*,"));
  EXPECT_EQ(redis.get("other:1"), "held");
  EXPECT_EQ(redis.get("jobs:1"), "held");
}

TEST(doctor_command, tells_a_missing_right_to_the_database_from_one_to_commands) {
  redis_server const server;
  flaky_proxy proxy{server.socket_path()};
  // Valkey 9.1 has such rights; the text is Valkey's own.
  proxy.decide([](request const& received) {
    return received.name == "ZADD" || received.name == "GET"
               ? fate::error("NOPERM No permissions to access database")
               : fate::pass();
  });
  auto const result = doctor(proxy.url());
  EXPECT_EQ(result.code, 78);
  EXPECT_THAT(result.finding("rights")["found"], HasSubstr("may not: alldbs (the server says"));
  EXPECT_THAT(result.finding("rights")["advice"], HasSubstr("ACL SETUSER default alldbs, and keep it"));
}

TEST(doctor_command, gives_a_rule_that_keeps_a_user_to_a_prefix) {
  auto const server = redis_server::with({.user = "jobs", .password = "secret"});
  auto redis = server.raw();
  redis.command({"ACL", "SETUSER", "jobs", "on", ">secret", "~*", "&*", "+@all"});
  auto const before = doctor_on("tenant", server.url(), {"--prefix", "jobs:"});
  EXPECT_EQ(before.severity("tenant"), "warning");
  EXPECT_THAT(before.finding("tenant")["found"], HasSubstr("may also: touch other names"));

  // Applies exactly this rule, word by word.
  std::string const found = before.finding("tenant")["found"];
  auto const begin = found.find("reset on >PASSWORD ");
  std::stringstream rule_text{found.substr(begin, found.find(';') - begin)};
  words rule{"ACL", "SETUSER", "jobs"};
  for (std::string word; rule_text >> word;) rule.push_back(word == ">PASSWORD" ? ">secret" : word);
  ASSERT_FALSE(redis.command(rule).is_error()) << found;

  auto const result = doctor_on("tenant", server.url(), {"--prefix", "jobs:", "jobs:1"});
  EXPECT_EQ(result.severity("tenant"), "ok") << result.report.dump(2);
  EXPECT_EQ(result.severity("rights"), "advice") << "all but WAIT, and what looks for locks";
  EXPECT_EQ(result.severity("pub/sub"), "ok");
  auto run = holdfast_command({"run", "--url", server.url(), "jobs:1", "--", "true"});
  EXPECT_EQ(run.wait(), 0) << run.err();
  auto other = holdfast_command({"run", "--url", server.url(), "web:1", "--", "true"});
  EXPECT_EQ(other.wait(), 77) << other.err();
}

TEST(doctor_command, tells_a_replica_from_a_master) {
  redis_server const master{{"--port", "0"}};
  redis_server const replica{{"--replicaof", "127.0.0.1 1"}};
  auto const result = doctor(replica.url());
  EXPECT_EQ(result.code, 78);
  EXPECT_EQ(result.severity("role"), "problem");
  EXPECT_THAT(result.finding("writing")["advice"], HasSubstr("give the URL of the master"));
}

TEST(doctor_command, sees_that_a_proxy_has_no_messages) {
  redis_server const server;
  flaky_proxy proxy{server.socket_path()};
  proxy.refuse_pubsub();
  EXPECT_EQ(doctor(proxy.url()).severity("pub/sub"), "warning");
  proxy.decide({});
}

TEST(doctor_command, sees_that_messages_are_lost) {
  redis_server const server;
  flaky_proxy proxy{server.socket_path()};
  proxy.swallow_messages(true);
  auto const result = doctor(proxy.url());
  EXPECT_EQ(result.severity("pub/sub"), "warning");
  EXPECT_THAT(result.finding("pub/sub")["found"], HasSubstr("did not arrive"));
}

TEST(doctor_command, outlives_a_proxy_that_hangs_up_on_what_it_does_not_know) {
  redis_server const server;
  flaky_proxy proxy{server.socket_path()};
  proxy.decide([](request const& received) {
    return received.name == "INFO" || received.name == "CONFIG" ? fate::cut_before() : fate::pass();
  });
  auto const result = doctor(proxy.url());
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(result.finding("version")["found"], HasSubstr("unknown: INFO: the connection ended"));
  EXPECT_EQ(result.severity("scripts"), "ok");
}

TEST(doctor_command, says_that_a_script_keeps_the_server_busy) {
  redis_server const server{{"--busy-reply-threshold", "10"}};
  flaky_proxy proxy{server.socket_path()};
  proxy.decide([](request const& received) {
    return received.name == "PING" ? fate::error("BUSY Redis is busy running a script.") : fate::pass();
  });
  auto const result = doctor(proxy.url());
  EXPECT_EQ(result.code, 69);
  EXPECT_THAT(result.finding("connection")["advice"], HasSubstr("SCRIPT KILL"));
}

TEST(doctor_command, exits_with_69_when_nobody_answers) {
  auto const result = doctor("redis+unix:///nowhere/redis.sock");
  EXPECT_EQ(result.code, 69);
  EXPECT_EQ(result.severity("connection"), "problem");
  EXPECT_EQ(result.report["counts"]["problem"], 1);
}

}  // namespace
