#include "holdfast_command.hpp"
#include "script/acl.hpp"
#include "script/names.hpp"
#include "support/eventually.hpp"
#include "support/redis_server.hpp"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <signal.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <sstream>
#include <string>
#include <system_error>

namespace {

using namespace holdfast::test;
using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::MatchesRegex;

class counted_job : public testing::Test {
 protected:
  process start(words const& options, std::string const& script = "echo ran", environment extra = {}) {
    words arguments{"run"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    arguments.insert(arguments.end(), {"job", "--", "sh", "-c", script});
    extra["HOLDFAST_URL"] = server.url();
    return holdfast_command(arguments, extra);
  }
  /// Runs a command to its end; returns its output on stdout.
  std::string output_of(words const& options, std::string const& script = "echo ran", int code = 0) {
    auto job = start(options, script);
    EXPECT_EQ(job.wait(), code) << job.err();
    return job.out();
  }
  json last_run() {
    auto inspect = holdfast_command({"inspect", "--json", "job"}, {{"HOLDFAST_URL", server.url()}});
    EXPECT_THAT(inspect.wait(), testing::AnyOf(0, 1)) << inspect.err();  // 1: free
    return json::parse(inspect.out()).at("last_run");
  }
  std::string page() {
    auto inspect = holdfast_command({"inspect", "job"}, {{"HOLDFAST_URL", server.url()}});
    EXPECT_THAT(inspect.wait(), testing::AnyOf(0, 1)) << inspect.err();  // 1: free
    return inspect.out();
  }
  void set(std::string const& field, std::string const& value) {
    redis.command({"HSET", record, field, value});
  }
  std::int64_t now() {
    auto const time = redis.command({"TIME"}).elements;
    return std::stoll(time.at(0).text) * 1'000'000 + std::stoll(time.at(1).text);
  }

  std::int64_t counts_until() { return std::stoll(redis.command({"HGET", record, "until"}).text); }

  redis_server server;
  raw_redis redis = server.raw();
  std::string const record = holdfast::names::last_run("job");
  words const yearly{"--once-per", "3650d"};  ///< a slot that doesn't end during a test
};

using once_per = counted_job;
using at_most_every = counted_job;

TEST_F(once_per, runs_the_first_and_says_why_it_skips_the_next) {
  EXPECT_EQ(output_of(yearly), "ran\n");
  auto next = start(yearly);
  EXPECT_EQ(next.wait(), 0);
  EXPECT_EQ(next.out(), "");
  EXPECT_THAT(next.err(), MatchesRegex("holdfast: \"job\" ran [0-9]+ s ago on [^ ]+ \\([0-9]+ s, exit 0\\); "
                                       "next in [0-9]+ d( [0-9]+ h)?\n"));
}

TEST_F(once_per, gives_the_lock_back_and_keeps_the_record) {
  EXPECT_EQ(output_of({"--once-per", "day"}), "ran\n");
  EXPECT_FALSE(redis.exists("job"));
  EXPECT_GT(redis.pttl(record), 24 * 3'600'000);  // longer than the slot
  EXPECT_LE(redis.pttl(record), 3 * 25 * 3'600'000);
}

TEST_F(once_per, runs_once_in_each_slot_and_again_in_the_next) {
  // A start as often as the machine can.
  std::map<std::string, int> runs;  // by the end of the slot
  ASSERT_TRUE(eventually([&] {
    if (!output_of({"--once-per", "1s"}).empty()) ++runs[redis.command({"HGET", record, "until"}).text];
    return runs.size() == 3;
  }));
  for (auto const& [slot, count] : runs) EXPECT_EQ(count, 1) << slot;
}

TEST_F(once_per, is_decided_by_the_servers_clock_and_the_zone_of_the_caller) {
  EXPECT_EQ(output_of({"--once-per", "day", "--utc"}), "ran\n");
  EXPECT_EQ(counts_until() % (std::int64_t{86'400} * 1'000'000), 0);
  redis.del(record);
  auto far = start({"--once-per", "day", "--slack", "0"}, "true", {{"TZ", "XXX-5:30"}});
  EXPECT_EQ(far.wait(), 0) << far.err();
  EXPECT_EQ((counts_until() + std::int64_t{19'800} * 1'000'000) % (std::int64_t{86'400} * 1'000'000), 0);
}

TEST_F(once_per, shows_in_inspect_when_where_how_long_and_how_the_last_run_ended) {
  EXPECT_EQ(output_of({"--once-per", "3650d", "--label", "hourly report"}, "exit 3", 3), "");
  auto const run = last_run();
  EXPECT_EQ(run.at("state"), "finished");
  EXPECT_EQ(run.at("exit"), 3);
  EXPECT_EQ(run.at("label"), "hourly report");
  EXPECT_GE(run.at("took_ms"), 0);
  EXPECT_TRUE(run.at("host").is_string());
  EXPECT_THAT(run.at("began").get<std::string>(), MatchesRegex("20[0-9-]+T[0-9:]+\\.[0-9]+Z"));
  EXPECT_THAT(run.at("counts_until").get<std::string>(), MatchesRegex("20[0-9-]+T[0-9:]+\\.[0-9]+Z"));
  EXPECT_THAT(page(),
              AllOf(HasSubstr("\nlast run  ran "), HasSubstr(", exit 3)\n"), HasSubstr("'hourly report'\n"),
                    HasSubstr("\ndone      kept until 20"), HasSubstr("; finished ")));
}

TEST_F(once_per, shows_in_inspect_that_it_runs) {
  auto job = start(yearly, "echo ready; exec sleep 60");
  ASSERT_TRUE(eventually([&] { return job.out() == "ready\n"; })) << job.err();
  EXPECT_EQ(last_run().at("state"), "running");
  EXPECT_EQ(last_run().at("exit"), nullptr);
  EXPECT_THAT(page(), AllOf(HasSubstr("has been running for "), HasSubstr("\ncounts    until 20")));
  auto next = start(yearly);
  EXPECT_EQ(next.wait(), 0);
  EXPECT_EQ(next.out(), "");
  EXPECT_THAT(next.err(), HasSubstr("\"job\" has been running for "));
}

TEST_F(once_per, never_starts_a_job_beside_one_of_an_earlier_slot) {
  auto job = start({"--once-per", "100ms"}, "echo ready; exec sleep 60");
  ASSERT_TRUE(eventually([&] { return job.out() == "ready\n"; })) << job.err();
  ASSERT_TRUE(eventually([&] { return now() > counts_until(); }));
  auto next = start({"--once-per", "100ms"});
  EXPECT_EQ(next.wait(), 0);
  EXPECT_EQ(next.out(), "");
  EXPECT_THAT(next.err(), HasSubstr("since before this slot: it is not started a second time"));
}

TEST_F(once_per, waits_for_a_job_of_an_earlier_slot_if_told_to_and_then_runs) {
  temporary_folder folder;
  auto const go = folder / "go";
  auto job = start({"--once-per", "100ms"}, "echo ready; until [ -e " + go + " ]; do sleep 0.02; done");
  ASSERT_TRUE(eventually([&] { return job.out() == "ready\n"; })) << job.err();
  ASSERT_TRUE(eventually([&] { return now() > counts_until(); }));
  auto next = start({"--once-per", "100ms", "--wait", "30s"});
  ASSERT_TRUE(eventually([&] { return redis.exists(holdfast::names::queue("job")); })) << next.err();
  process{{"touch", go}}.wait();
  EXPECT_EQ(job.wait(), 0);
  EXPECT_EQ(next.wait(), 0) << next.err();
  EXPECT_EQ(next.out(), "ran\n");
}

TEST_F(once_per, does_not_wait_for_the_next_slot) {
  EXPECT_EQ(output_of(yearly), "ran\n");
  EXPECT_EQ(output_of({"--once-per", "3650d", "--wait", "1d"}), "");
}

TEST_F(once_per, counts_a_command_that_fails) {
  EXPECT_EQ(output_of(yearly, "exit 3", 3), "");
  EXPECT_EQ(output_of(yearly), "");
}

TEST_F(once_per, retries_a_command_that_failed_if_told_to) {
  words const retried{"--once-per", "3650d", "--retry-failed"};
  EXPECT_EQ(output_of(retried, "exit 3", 3), "");
  EXPECT_EQ(output_of(retried), "ran\n");
  EXPECT_EQ(output_of(retried), "");
}

TEST_F(once_per, does_not_count_a_command_that_can_not_be_started) {
  auto job = holdfast_run(server.url(), yearly, "job", {"./no-such-command"});
  EXPECT_EQ(job.wait(), 127);
  EXPECT_EQ(last_run().at("exit"), 127);
  EXPECT_EQ(last_run().at("counts_until"), nullptr);
  EXPECT_EQ(output_of(yearly), "ran\n");
}

TEST_F(once_per, counts_a_run_that_was_killed_unless_told_to_retry) {
  words const options{"--once-per", "3650d", "--ttl", "3s"};
  auto job = start(options, "echo ready; exec sleep 60");
  ASSERT_TRUE(eventually([&] { return job.out() == "ready\n"; })) << job.err();
  job.signal(SIGKILL);
  EXPECT_EQ(job.wait(), 128 + SIGKILL);
  ASSERT_TRUE(eventually([&] { return !redis.exists("job"); }));  // at the end of its ttl
  EXPECT_EQ(last_run().at("state"), "died");
  auto next = start(yearly);
  EXPECT_EQ(next.wait(), 0);
  EXPECT_THAT(next.err(), HasSubstr("and did not end; next in "));
  EXPECT_EQ(output_of({"--once-per", "3650d", "--retry-failed"}), "ran\n");
}

TEST_F(once_per, notices_a_loss_as_soon_as_without_it) {
  auto job = start({"--once-per", "1h", "--ttl", "3s"}, "echo ready; exec sleep 60");
  ASSERT_TRUE(eventually([&] { return job.out() == "ready\n"; })) << job.err();
  redis.del("job");
  EXPECT_EQ(job.wait(), 79);
  EXPECT_EQ(last_run().at("state"), "died");
}

TEST_F(once_per, notes_a_run_that_was_told_to_end_as_failed_whatever_its_own_exit_code) {
  words const options{"--once-per", "3650d", "--retry-failed", "--max-hold", "1s"};
  auto job = start(options, "trap 'exit 0' TERM; while :; do sleep 0.02; done");
  EXPECT_EQ(job.wait(), 79);
  EXPECT_EQ(last_run().at("exit"), 79);
  EXPECT_EQ(output_of(options), "ran\n");
}

TEST_F(once_per, ends_at_once_by_a_signal_while_the_server_is_silent) {
  server.freeze();
  auto job = start(yearly);
  auto const asks = [&] {
    for (auto const& file :
         std::filesystem::directory_iterator{"/proc/" + std::to_string(job.pid()) + "/fd"}) {
      std::error_code closed_meanwhile;
      if (read_symlink(file.path(), closed_meanwhile).native().starts_with("socket:")) return true;
    }
    return false;
  };
  ASSERT_TRUE(eventually(asks));
  job.signal(SIGTERM);
  EXPECT_EQ(job.wait(), 128 + SIGTERM);
  EXPECT_EQ(job.err(), "");
  server.thaw();
}

TEST_F(once_per, does_not_touch_the_record_of_who_has_the_lock_now) {
  auto job = start({"--once-per", "1h", "--on-lost=warn"}, "echo ready; exec sleep 60");
  ASSERT_TRUE(eventually([&] { return job.out() == "ready\n"; })) << job.err();
  redis.command({"SET", "job", "22222222-2222-4222-8222-222222222222:1"});
  set("owner", "22222222-2222-4222-8222-222222222222:1");
  job.signal(SIGTERM);
  EXPECT_NE(job.wait(), 0);
  EXPECT_EQ(redis.command({"HGET", record, "exit"}).text, "");
  EXPECT_EQ(redis.command({"HGET", record, "owner"}).text, "22222222-2222-4222-8222-222222222222:1");
}

TEST_F(once_per, lets_a_start_without_it_run) {
  EXPECT_EQ(output_of(yearly), "ran\n");
  EXPECT_EQ(output_of({}), "ran\n");
}

TEST_F(once_per, is_the_same_on_redissons_wire) {
  words const options{"--once-per", "3650d", "--wire", "redisson"};
  EXPECT_EQ(output_of(options), "ran\n");
  EXPECT_EQ(output_of(options), "");
  EXPECT_EQ(last_run().at("state"), "finished");
}

TEST_F(once_per, needs_no_rights_but_those_of_a_tenant) {
  namespace acl = holdfast::acl;
  words rule{"ACL", "SETUSER", "tenant", "reset", "on", ">secret"};
  std::istringstream rights{acl::keys("job") + " " + std::string{acl::keys_of_clients} + " resetchannels " +
                            acl::channels("job") + " " + std::string{acl::channels_of_clients} + " " +
                            std::string{acl::to_connect} + " " + std::string{acl::to_lock} + " " +
                            std::string{acl::to_be_told}};
  for (std::string right; rights >> right;) rule.push_back(right);
  EXPECT_EQ(redis.command(rule).text, "OK");
  auto const url = server.url();
  auto const tenant = url.substr(0, url.find("//") + 2) + "tenant:secret@" + url.substr(url.find("//") + 2);
  for (std::string const wanted : {"ran\n", ""}) {
    auto job = holdfast_run(tenant, yearly, "job", {"echo", "ran"});
    EXPECT_EQ(job.wait(), 0) << job.err();
    EXPECT_EQ(job.out(), wanted);
  }
}

TEST_F(once_per, says_which_key_is_in_its_way) {
  redis.command({"SET", record, "mine"});
  auto job = start(yearly);
  EXPECT_EQ(job.wait(), 65);
  EXPECT_THAT(job.err(), HasSubstr("the key \"" + record + "\""));
  EXPECT_FALSE(redis.exists("job"));
}

TEST_F(at_most_every, counts_from_the_start_of_the_last_run) {
  EXPECT_EQ(output_of({"--at-most-every", "1h"}, "sleep 0.3; echo ran"), "ran\n");
  auto const began = std::stoll(redis.command({"HGET", record, "began"}).text);
  EXPECT_EQ(counts_until() - began, std::int64_t{3'600'000'000});
  EXPECT_EQ(output_of({"--at-most-every", "1h"}), "");
  EXPECT_THAT(page(), HasSubstr("kept until "));
}

TEST_F(at_most_every, runs_again_when_the_time_is_over) {
  EXPECT_EQ(output_of({"--at-most-every", "100ms"}, "sleep 0.2; echo ran"), "ran\n");
  EXPECT_EQ(output_of({"--at-most-every", "100ms"}), "ran\n");
}

TEST_F(at_most_every, waits_for_the_end_of_the_time_if_told_to_wait) {
  EXPECT_EQ(output_of({"--at-most-every", "300ms"}), "ran\n");
  EXPECT_EQ(output_of({"--at-most-every", "300ms", "--wait", "20s"}), "ran\n");
}

TEST_F(at_most_every, ends_that_wait_at_a_signal) {
  EXPECT_EQ(output_of({"--at-most-every", "1h"}), "ran\n");
  auto waiting = start({"--at-most-every", "1h", "--wait", "2h", "--verbose"});
  ASSERT_TRUE(eventually([&] { return waiting.err().find("waiting until it is due") != std::string::npos; }))
      << waiting.err();
  waiting.signal(SIGTERM);
  EXPECT_EQ(waiting.wait(), 128 + SIGTERM);
  EXPECT_EQ(waiting.out(), "");
}

}  // namespace
