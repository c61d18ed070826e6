#include "holdfast_command.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <string>
#include <vector>

namespace {

using namespace holdfast::test;
using testing::HasSubstr;

struct wrong_usage {
  words arguments;
  std::string message;
};

TEST(usage, errors_exit_with_64_and_say_what_is_allowed) {
  // Nothing listens at this URL: each error must be found before anything is sent.
  environment const unreachable_server{{"HOLDFAST_URL", "redis+unix:///nowhere/redis.sock"}};
  std::vector<wrong_usage> const rows{
      {{}, "there are: run, lead, ls, inspect, "},
      {{"walk"}, "no command \"walk\"; there are: run, lead, ls, inspect, "},
      {{"walk", "job", "--json"}, "no command \"walk\"; there are: "},
      {{"walk", "--help"}, "no command \"walk\"; there are: "},
      {{"--url", "redis://localhost", "ls"}, "holdfast help"},
      {{"-v", "run", "job", "--", "true"},
       "-v stands before the command: options follow it, as in holdfast run -v"},
      {{"run", "-name", "--", "true"}, "NAME is required (one that begins with - stands between two --"},
      {{"run", "{job}:holdfast_queue", "--", "true"}, "is a key that Holdfast keeps beside the lock \"job\""},
      {{"run", "--with", "a{b}::holdfast_token", "job", "--", "true"}, "beside the lock \"a{b}\""},
      {{"hold", "holdfast_client:1"}, "in which Holdfast notes a client"},
      {{"run", "--history", "/proc/nowhere/file", "job", "--", "true"},
       "--history: /proc/nowhere/file can't be written"},
      {{"doctor", ""}, "NAME: it is empty"},
      {{"help", "walk"}, "there are: run, lead, ls, inspect, "},
      {{"completion"}, "SHELL is required"},
      {{"completion", "tcsh"}, "tcsh not in {bash,zsh,fish}"},
      {{"run"}, "NAME is required"},
      {{"run", "job"}, "write it after --"},
      {{"run", "job", "--"}, "write it after --"},
      {{"lead"}, "NAME is required"},
      {{"lead", "job"}, "no command: write it after --, as in `holdfast lead"},
      {{"lead", "job", "--"}, "write it after --"},
      {{"lead", "job", "./serve"}, "(put -- before the command: holdfast lead NAME -- COMMAND)"},
      {{"lead", "-c", "true", "job", "--", "true"}, "--command: there is a command after --, too"},
      {{"lead", "", "--", "true"}, "NAME is empty"},
      {{"lead", "--value", std::string(65537, 'x'), "job", "--", "true"}, "--value: 65537 bytes"},
      {{"lead", "--on-lost=warn", "job", "--", "true"}, "--on-lost: \"warn\" is not one of term and kill"},
      {{"lead", "--shared", "job", "--", "true"}, "there is no option --shared"},
      {{"lead", "--max-hold", "0", "job", "--", "true"}, "--max-hold"},
      {{"lead", "--url", "redis+quorum://h1,h2,h3", "job", "--", "true"}, "no common queue of candidates"},
      {{"judge"}, "FILES is required"},
      {{"judge", "--uncertainty", "soon", "x"}, "--uncertainty: \"soon\" is not a duration"},
      {{"judge", "--window", "0", "x"}, "--window: 0 is not a number of lines"},
      {{"run", "--history", "", "job", "--", "true"}, "--history: it is empty"},
      {{"leader"}, "NAME is required"},
      {{"leader", ""}, "NAME is empty"},
      {{"leader", "--hand-over", "", "job"}, "--hand-over: it is empty"},
      {{"leader", "--hand-over", "web-2", "--watch", "job"}, "--watch excludes --hand-over"},
      {{"leader", "--grace", "5s", "job"}, "--grace: goes with --hand-over"},
      {{"leader", "--url", "redis+quorum://h1,h2,h3", "job"}, "give one of them"},
      {{"run", "job", "./import.sh", "daily", "now"},
       "unexpected: ./import.sh daily now (put -- before the command"},
      {{"run", "-c", "true", "job", "--", "true"}, "--command: there is a command after --, too"},
      {{"run", "-c", "", "job"}, "--command: it is empty"},
      {{"run", "--set-slots", "job", "--", "true"}, "--set-slots: goes with --slots"},
      {{"run", "--local", "--password-file", "x", "job", "--", "true"}, "excludes"},
      {{"run", "", "--", "true"}, "NAME is empty"},
      {{"run", "--frob", "job", "--", "true"}, "there is no option --frob"},
      {{"acquire", "--max-hold", "1s", "job"}, "there is no option --max-hold"},
      {{"--json", "ls"}, "--json stands before the command: options follow it, as in holdfast ls --json"},
      {{"run", "--url", "", "job", "--", "true"}, "--url: it is empty"},
      {{"ls", "--password-file", ""}, "--password-file: it is empty"},
      {{"release", "--force", "--yes", "--owner", "", "job"}, "--owner: it is empty"},
      {{"renew", "--owner", "", "job"}, "--owner: it is empty"},
      {{"run", "--ttl", "5 minutes", "job", "--", "true"},
       "--ttl: \"5 minutes\" is not a duration: unknown unit"},
      {{"run", "--ttl", "5", "minutes", "job", "--", "true"}, "a duration is one word, like 5m"},
      {{"run", "--ttl", "soon", "job", "--", "true"}, "write for example 200ms, 5s, 1m30s or 2h"},
      {{"run", "--ttl", "0", "job", "--", "true"}, "at least 10ms"},
      {{"run", "--ttl", "9ms", "job", "--", "true"}, "at least 10ms"},
      {{"run", "--ttl", "-5s", "job", "--", "true"}, "negative"},
      {{"run", "--wait", "-5s", "job", "--", "true"}, "--wait: \"-5s\" is not a duration: it is negative"},
      {{"run", "--wait", "", "job", "--", "true"}, "--wait: \"\" is not a duration: it is empty"},
      {{"run", "--wait", "5s", "--no-wait", "job", "--", "true"}, "excludes"},
      {{"run", "--max-hold", "0", "job", "--", "true"}, "--max-hold"},
      {{"run", "--once-per", "0", "job", "--", "true"}, "--once-per: 0 is not the length of a slot"},
      {{"run", "--once-per", "soon", "job", "--", "true"}, "--once-per: \"soon\" is not a duration"},
      {{"run", "--once-per", "soon", "job", "--", "true"}, "; or hour, day, week, month"},
      {{"run", "--once-per", "1h", "--keep", "job", "--", "true"}, "excludes"},
      {{"run", "--once-per", "7h", "job", "--", "true"}, "--at-most-every 7h counts from the last run"},
      {{"run", "--once-per", "hour", "--offset", "1h", "job", "--", "true"}, "--offset: 1h is not less"},
      {{"run", "--once-per", "hour", "--slack", "31m", "job", "--", "true"},
       "--slack: 31m is more than half"},
      {{"run", "--once-per", "hour", "--at-most-every", "1h", "job", "--", "true"}, "excludes"},
      {{"run", "--at-most-every", "0", "job", "--", "true"}, "--at-most-every: 0 is not a period"},
      {{"run", "--at-most-every", "hour", "job", "--", "true"},
       "--at-most-every: \"hour\" is not a duration"},
      {{"run", "--at-most-every", "1h", "--keep", "job", "--", "true"}, "excludes"},
      {{"run", "--at-most-every", "1h", "--slack", "1m", "job", "--", "true"},
       "give --at-most-every a shorter"},
      {{"run", "--at-most-every", "1h", "--offset", "1m", "job", "--", "true"},
       "--offset: goes with --once-per"},
      {{"run", "--slack", "1m", "job", "--", "true"}, "--slack: goes with --once-per"},
      {{"run", "--utc", "job", "--", "true"}, "--utc: goes with --once-per"},
      {{"run", "--retry-failed", "job", "--", "true"},
       "--retry-failed: goes with --once-per or --at-most-every"},
      {{"run", "--label", std::string(201, 'x'), "job", "--", "true"}, "--label: 201 bytes"},
      {{"run", "--on-lost=panic", "job", "--", "true"},
       "--on-lost: \"panic\" is not one of term, kill and warn"},
      {{"run", "--on-lost=1", "job", "--", "true"}, "--on-lost: \"1\" is not one of"},
      {{"run", "--url", "gopher://localhost", "job", "--", "true"}, "gopher"},
      {{"run", "--shared", "--exclusive", "job", "--", "true"}, "a command reads or writes"},
      {{"run", "--shared", "--slots", "2", "job", "--", "true"}, "choose one"},
      {{"run", "--slots", "0", "job", "--", "true"}, "0 is not a number of slots"},
      {{"run", "--slots", "many", "job", "--", "true"}, "--slots: \"many\" is not a whole number"},
      {{"run", "--slots", "", "job", "--", "true"}, "--slots: \"\" is not a whole number"},
      {{"run", "--replicas", "0", "job", "--", "true"}, "--replicas: 0 is not a number of replicas"},
      {{"run", "--replicas", "-1", "job", "--", "true"}, "--replicas: -1 is not a number of replicas"},
      {{"run", "--replicas", "4294967297", "job", "--", "true"}, "at most 1000"},
      {{"run", "--replicas", "all", "job", "--", "true"}, "--replicas"},
      {{"run", "--url", "redis+quorum://h1,h2,h3", "--fair", "job", "--", "true"}, "--fair: the servers of"},
      {{"run", "--url", "redis+quorum://h1,h2,h3", "--shared", "job", "--", "true"},
       "--shared: the servers of"},
      {{"run", "--url", "redis+quorum://h1,h2,h3", "--slots", "2", "job", "--", "true"},
       "--slots: the servers"},
      {{"run", "--url", "redis+quorum://h1,h2,h3", "--replicas", "1", "job", "--", "true"},
       "a majority of masters"},
      {{"run", "--url", "redis+quorum://h1,h2,h3", "--fsynced", "job", "--", "true"}, "--fsynced: with"},
      {{"run", "--url", "redis+quorum://h1,h1,h3", "job", "--", "true"}, "h1:6379 is given twice"},
      {{"ls", "--url", "redis+quorum://h1,h2,h3"}, "give one of them, as in --url redis://h1:6379"},
      {{"ls", "--url", "rediss+quorum://h1,h2,h3"}, "give one of them, as in --url rediss://h1:6379"},
      {{"inspect", "--url", "redis+quorum://h1,h2,h3", "job"},
       "3 servers of redis+quorum://h1,h2,h3 know nothing"},
      {{"release", "--force", "--yes", "--url", "redis+quorum://h1,h2,h3", "job"}, "give one of them"},
      {{"watch", "--url", "redis+quorum://h1,h2,h3", "job"}, "give one of them"},
      {{"top", "--once", "--url", "redis+quorum://h1,h2,h3"}, "give one of them"},
      {{"doctor", "--deadlocks", "job"}, "--deadlocks: goes without NAME"},
      {{"doctor", "--deadlocks", "--prefix", "a:"}, "excludes"},
      {{"doctor", "--deadlocks", "--url", "redis+quorum://h1,h2,h3"}, "give one of them"},
      {{"run", "--detect-deadlock", "--slots", "2", "job", "--", "true"}, "a slot may come from anybody"},
      {{"run", "--detect-deadlock", "--url", "redis+quorum://h1,h2,h3", "job", "--", "true"},
       "--detect-deadlock: the servers of redis+quorum://"},
      {{"doctor", "--url", "redis+sentinel://h1,h2,h3"}, "the name of the master is missing"},
      {{"doctor", "--url", "redis+cluster://h1,,h3"}, "a host is missing"},
      {{"run", "--slots", "2", "--fair", "job", "--", "true"}, "--fair: --slots has no queue"},
      {{"run", "--shared", "--keep", "job", "--", "true"}, "keep other readers out"},
      {{"run", "--slots", "2", "--once-per", "1h", "job", "--", "true"}, "--once-per: goes with a lock"},
      {{"run", "--shared", "--at-most-every", "1h", "job", "--", "true"},
       "--at-most-every: goes with a lock"},
      {{"run", "--again", "--once-per", "hour", "job", "--", "true"}, "--again: --once-per says how often"},
      {{"run", "--again=always", "--keep", "job", "--", "true"}, "--again: --keep leaves the lock"},
      {{"run", "--again=daily", "job", "--", "true"}, "not in {on-loss,always}"},
      {{"run", "--wire", "all", "job", "--", "true"}, "--wire"},
      {{"run", "a", "b", "--", "true"}, "unexpected: b"},
      {{"run", "--with", "", "job", "--", "true"}, "--with: it is empty"},
      {{"run", "--with-shared", "", "job", "--", "true"}, "--with-shared: it is empty"},
      {{"run", "--with", "a", "--with-shared", "a", "job", "--", "true"}, "--with: \"a\" is given twice"},
      {{"run", "--with-slots", "2:job", "job", "--", "true"}, "\"job\" is given twice"},
      {{"run", "--with-slots", "api", "job", "--", "true"}, "\"api\" is not N:NAME"},
      {{"run", "--with-slots", "x2:api", "job", "--", "true"}, "\"x2:api\" is not N:NAME"},
      {{"run", "--with-slots", "99999999999999999999:api", "job", "--", "true"}, "is not N:NAME"},
      {{"run", "--with-slots", "0:api", "job", "--", "true"}, "--with-slots: 0 is not a number of slots"},
      {{"run", "--with-slots", "2:", "job", "--", "true"}, "--with-slots: it is empty"},
      {{"run", "--with", "a", "--fair", "job", "--", "true"}, "--fair: names that are taken together"},
      {{"run", "--with-shared", "a", "--keep", "job", "--", "true"}, "keep other readers out"},
      {{"run", "--with", "a", "--shared", "--once-per", "1h", "job", "--", "true"},
       "--once-per: goes with a lock"},
      {{"run", "--with-slots", "2:a", "--detect-deadlock", "job", "--", "true"},
       "a slot may come from anybody"},
      {{"run", "--with-shared", "a", "--detect-deadlock", "job", "--", "true"},
       "all have to be taken to write"},
      {{"run", "--with", "a", "--wire", "redisson", "job", "--", "true"}, "on the plain wire only"},
      {{"run", "--with", "a", "--url", "redis://h1?wire=redisson", "job", "--", "true"},
       "on the plain wire only"},
      {{"run", "--with", "a", "--url", "redis+quorum://h1,h2,h3", "job", "--", "true"},
       "--with: the servers of redis+quorum://"},
      {{"run", "--with", "a", "--url", "redis+cluster://h1", "job", "--", "true"},
       "as in \"{orders}:7\" and \"{orders}:rates\"; lock \"job\" with \"a\" are not"},
      {{"acquire", "--with", "a", "job"}, "there is no option --with"},
      {{"release", "--force", "--yes", "a", "b"}, "--force: takes one NAME at a time"},
      {{"release", "--owner", "x", "a", ""}, "NAME is empty"},
      {{"ls", "--wire", "java"}, "--wire"},
      {{"inspect"}, "NAME is required"},
      {{"inspect", ""}, "NAME is empty"},
      {{"inspect", "a", "b"}, "holdfast help inspect"},
      {{"ls", ""}, "PATTERN is empty"},
      {{"release", "job"}, "add --force"},
      {{"release", "--force", ""}, "NAME is empty"},
      {{"release", "--force", "--grace", "soon", "job"}, "--grace: \"soon\" is not a duration"},
      {{"watch", ""}, "NAME is empty"},
      {{"watch", "--interval", "5ms", "job"}, "--interval: at least 10ms"},
      {{"watch", "--for", "later", "job"}, "--for: \"later\" is not a duration"},
      {{"run", "--url", "redis://localhost:99999", "job", "--", "true"}, "port"},
  };
  for (auto const& [arguments, message] : rows) {
    auto command = holdfast_command(arguments, unreachable_server);
    EXPECT_EQ(command.wait(), 64) << message;
    EXPECT_THAT(command.err(), testing::AllOf(testing::StartsWith("holdfast: "), HasSubstr(message)));
    EXPECT_EQ(std::ranges::count(command.err(), '\n'), 1) << command.err();
    EXPECT_EQ(command.out(), "");
  }
}

TEST(usage, says_what_keeps_it_from_writing) {
  for (std::string const arguments : {"help", "help run", "--version", "completion bash"}) {
    process full{{"sh", "-c", "exec " HOLDFAST_CLI " " + arguments + " > /dev/full"}};
    EXPECT_EQ(full.wait(), 70);
    EXPECT_EQ(full.err(), "holdfast: can't write to stdout: No space left on device\n");
    process closed{{"sh", "-c", "exec " HOLDFAST_CLI " " + arguments + " >&-"}};
    EXPECT_EQ(closed.wait(), 70);
    EXPECT_EQ(closed.err(), "holdfast: can't write to stdout: Bad file descriptor\n");
  }
}

TEST(usage, says_its_version) {
  auto command = holdfast_command({"--version"});
  EXPECT_EQ(command.wait(), 0);
  EXPECT_THAT(command.out(), testing::MatchesRegex("holdfast [0-9.]+\n"));
}

TEST(usage, of_help_names_the_program) {
  auto help = holdfast_command({"help", "help"});
  EXPECT_EQ(help.wait(), 0);
  EXPECT_THAT(help.out(), HasSubstr("Usage: holdfast help [COMMAND]\n"));
}

TEST(usage, explains_itself_in_three_ways) {
  auto overview = holdfast_command({"help"});
  EXPECT_EQ(overview.wait(), 0);
  EXPECT_THAT(overview.out(), HasSubstr("holdfast run nightly-import -- ./import.sh"));
  auto by_help = holdfast_command({"help", "run"});
  EXPECT_EQ(by_help.wait(), 0);
  auto by_option = holdfast_command({"run", "--help"});
  EXPECT_EQ(by_option.wait(), 0);
  EXPECT_EQ(by_help.out(), by_option.out());
  for (char const* const topic :
       {"Usage: holdfast run [OPTIONS] NAME -- COMMAND", "--max-hold", "HOLDFAST_TOKEN", "Exit codes",
        "Examples", "/run/lock/holdfast-UID", "REDIS_URL"}) {
    EXPECT_THAT(by_help.out(), HasSubstr(topic));
  }
}

/// CLI11 has them in the order of addresses in memory.
TEST(usage, lists_what_an_option_excludes_by_name) {
  auto command = holdfast_command({"help", "run"});
  EXPECT_EQ(command.wait(), 0);
  EXPECT_THAT(command.out(), testing::AllOf(HasSubstr("--keep Excludes: --at-most-every --once-per\n"),
                                            HasSubstr("--local Excludes: --password-file --url\n")));
}

TEST(usage, has_examples_and_exit_codes_for_each_command_that_looks_at_locks) {
  for (std::string const name :
       {"ls", "inspect", "release", "watch", "leader", "doctor", "top", "acquire", "renew", "hold"}) {
    auto command = holdfast_command({"help", name});
    EXPECT_EQ(command.wait(), 0);
    EXPECT_THAT(command.out(),
                testing::AllOf(HasSubstr("Usage: holdfast " + name), HasSubstr("--json"), HasSubstr("--url"),
                               HasSubstr("Exit codes\n  0 "), HasSubstr("Examples\n")));
  }
}

}  // namespace
