#include "holdfast_command.hpp"
#include "support/eventually.hpp"
#include "support/redis_server.hpp"

#include <gmock/gmock.h>

#include <signal.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace {

using namespace holdfast::test;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class run : public testing::Test {
 protected:
  process start(words const& options, words const& command, std::string const& input = {}) {
    return holdfast_run(server.url(), options, "job", command, input);
  }
  /// The lock and its queue are gone. The token counter stays, so that tokens grow.
  void expect_nothing_left() {
    auto left = redis.keys();
    std::erase_if(left, [](std::string const& key) { return key.ends_with(":holdfast_token"); });
    EXPECT_THAT(left, testing::IsEmpty());
  }

  redis_server server;
  raw_redis redis = server.raw();
  temporary_folder folder;
};

TEST_F(run, exits_as_the_command_does) {
  EXPECT_EQ(start({}, {"true"}).wait(), 0);
  EXPECT_EQ(start({}, shell("exit 3")).wait(), 3);
  EXPECT_EQ(start({}, shell("kill -KILL $$")).wait(), 128 + SIGKILL);
  EXPECT_EQ(start({}, shell("kill -TERM $$")).wait(), 128 + SIGTERM);
  expect_nothing_left();
}

TEST_F(run, takes_the_options_of_flock) {
  EXPECT_EQ(start({"-w", "1.5"}, {"true"}).wait(), 0);
  auto shell_text = holdfast_command({"run", "-n", "job", "-c", "echo \"$HOLDFAST_NAME\"; exit 7"},
                                     {{"HOLDFAST_URL", server.url()}});
  EXPECT_EQ(shell_text.wait(), 7);
  EXPECT_EQ(shell_text.out(), "job\n");
  redis.command({"SET", "job", "other:1", "PX", "600000"});
  EXPECT_EQ(start({"-n"}, {"true"}).wait(), 75);
  EXPECT_EQ(start({"-w", "0.1"}, {"true"}).wait(), 75);
}

TEST_F(run, ends_by_the_signal_that_ended_the_command) {
  for (int const number : {SIGINT, SIGTERM, SIGKILL}) {
    process parent{
        {"python3", "-c",
         "import subprocess, sys; sys.exit(0 if subprocess.call(sys.argv[2:]) == -int(sys.argv[1]) else 1)",
         std::to_string(number), HOLDFAST_CLI, "run", "--url", server.url(), "job", "--", "sh", "-c",
         "kill -" + std::to_string(number) + " $$"}};
    EXPECT_EQ(parent.wait(), 0) << number;
  }
  EXPECT_EQ(start({}, shell("exit 130")).wait(), 130);
  expect_nothing_left();
}

TEST_F(run, takes_a_name_that_begins_with_a_dash_between_two_separators) {
  auto job = holdfast_command({"run", "--ttl", "20s", "--", "-name", "--", "echo", "--", "words"},
                              {{"HOLDFAST_URL", server.url()}});
  EXPECT_EQ(job.wait(), 0) << job.err();
  EXPECT_EQ(job.out(), "-- words\n");
}

TEST_F(run, says_which_interpreter_of_a_script_was_not_found) {
  temporary_folder const folder;
  auto const script = folder / "script";
  std::ofstream{script} << "#!/bin/sh\r\necho ran\r\n";
  std::filesystem::permissions(script, std::filesystem::perms::owner_all);
  environment const found_in_path{{"HOLDFAST_URL", server.url()},
                                  {"PATH", "/nowhere:" + folder.path().string()}};
  for (auto const& command : {script, std::string{"script"}}) {
    auto job = holdfast_command({"run", "job", "--", command}, found_in_path);
    EXPECT_EQ(job.wait(), 126);
    EXPECT_THAT(job.err(), testing::AllOf(testing::HasSubstr("names the interpreter \"/bin/sh"),
                                          testing::HasSubstr("(its lines end with CR LF)")));
  }
}

TEST_F(run, says_127_for_a_command_that_is_not_found_and_releases) {
  auto job = start({}, {"./no-such-command"});
  EXPECT_EQ(job.wait(), 127);
  EXPECT_EQ(job.err(), "holdfast: \"./no-such-command\": command not found\n");
  expect_nothing_left();
}

TEST_F(run, says_126_for_a_command_that_can_not_be_executed_and_releases) {
  auto job = start({}, {"/"});
  EXPECT_EQ(job.wait(), 126);
  EXPECT_THAT(job.err(), HasSubstr("can't be executed: Permission denied"));
  expect_nothing_left();
}

TEST_F(run, is_silent_when_all_is_well) {
  auto job = start({}, {"true"});
  EXPECT_EQ(job.wait(), 0);
  EXPECT_EQ(job.out() + job.err(), "");
}

TEST_F(run, gives_the_command_name_token_and_owner) {
  auto job =
      start({}, shell("echo $HOLDFAST_NAME $HOLDFAST_TOKEN $HOLDFAST_OWNER; read line; echo $line"), "go\n");
  EXPECT_EQ(job.wait(), 0);
  EXPECT_THAT(job.out(), testing::MatchesRegex("job [1-9][0-9]+ [0-9a-f-]+:[0-9]+\ngo\n"));
}

TEST_F(run, puts_the_owner_that_it_tells_into_the_key) {
  auto job = start({}, shell("echo $HOLDFAST_OWNER; exec sleep 60"));
  ASSERT_TRUE(eventually([&] { return job.out().ends_with('\n'); }));
  EXPECT_EQ(redis.get("job").value_or("") + '\n', job.out());
  EXPECT_GT(redis.pttl("job"), 0);
  job.signal(SIGTERM);
  EXPECT_EQ(job.wait(), 128 + SIGTERM);
}

TEST_F(run, gives_growing_tokens) {
  std::vector<long> tokens;
  for (int i = 0; i < 3; ++i) {
    auto job = start({}, shell("echo $HOLDFAST_TOKEN"));
    EXPECT_EQ(job.wait(), 0);
    tokens.push_back(std::stol(job.out()));
  }
  EXPECT_LT(tokens[0], tokens[1]);
  EXPECT_LT(tokens[1], tokens[2]);
}

TEST_F(run, hides_its_own_files_from_the_command) {
  auto job = start({}, shell("ls -l /proc/self/fd | grep -c socket"));
  static_cast<void>(job.wait());
  EXPECT_EQ(job.out(), "0\n");
}

TEST_F(run, leaves_the_signal_mask_of_the_command_empty) {
  auto job = start({}, {"grep", "SigBlk", "/proc/self/status"});
  EXPECT_EQ(job.wait(), 0);
  EXPECT_EQ(job.out(), "SigBlk:\t0000000000000000\n");
}

TEST_F(run, takes_options_behind_the_separator_for_the_commands) {
  auto job = start({}, {"echo", "--ttl", "--", "--no-such-option"});
  EXPECT_EQ(job.wait(), 0);
  EXPECT_EQ(job.out(), "--ttl -- --no-such-option\n");
}

TEST_F(run, lets_one_process_in_at_a_time) {
  auto const counter = folder / "counter";
  auto const add_one =
      shell("n=$(cat " + counter + " 2>/dev/null || echo 0); sleep 0.01; echo $((n + 1)) > " + counter +
            ".new; mv " + counter + ".new " + counter);
  std::vector<process> jobs;
  for (int i = 0; i < 8; ++i) {
    auto const command = std::string{HOLDFAST_CLI} + " run job -- sh -c '" + add_one.back() + "'";
    // A lock that was handed over ends after two seconds in which its process gets no processor: once more.
    jobs.emplace_back(
        shell("for i in 1 2 3 4; do until " + command + "; do [ $? = 79 ] || exit 1; echo lost; done; done"),
        environment{{"HOLDFAST_URL", server.url()}});
  }
  auto lost = 0;
  for (auto& job : jobs) {
    EXPECT_EQ(job.wait(60s), 0) << job.err();
    lost += static_cast<int>(std::ranges::count(job.out(), '\n'));
  }
  EXPECT_GE(std::stoi(content_of(counter)), 32);
  EXPECT_LE(std::stoi(content_of(counter)), 32 + lost) << "what was killed may have counted before";
  expect_nothing_left();
}

TEST_F(run, leaves_a_signal_ignored_that_was_ignored_before) {
  words const command{"nohup", HOLDFAST_CLI, "run", "job",
                      "--",    "sh",         "-c",  "echo ready; read line < " + (folder / "go")};
  ASSERT_EQ(mkfifo((folder / "go").c_str(), 0600), 0);
  process job{command, {{"HOLDFAST_URL", server.url()}}};
  ASSERT_TRUE(eventually([&] { return job.out() == "ready\n"; })) << job.err();
  job.signal(SIGHUP);
  process release{shell("echo go > " + (folder / "go"))};
  EXPECT_EQ(job.wait(), 0);
}

TEST_F(run, leaves_background_processes_of_the_command_alone) {
  auto job = start({}, shell("sleep 60 & echo $!"));
  EXPECT_EQ(job.wait(), 0);
  auto const background = std::stoi(job.out());
  EXPECT_TRUE(is_alive(background));
  EXPECT_EQ(kill(background, SIGKILL), 0);
  expect_nothing_left();
}

TEST_F(run, says_with_verbose_what_happens) {
  auto job = start({"--verbose"}, {"true"});
  EXPECT_EQ(job.wait(), 0);
  EXPECT_THAT(job.err(), AllOf(HasSubstr("waiting for lock \"job\""), HasSubstr("acquired, token "),
                               HasSubstr("lock \"job\" released")));
}

TEST_F(run, never_shows_a_password) {
  auto guarded =
      redis_server::with({.user = {}, .password = "open-sesame", .args = {"--requirepass", "open-sesame"}});
  auto good = holdfast_run(guarded.url(), {"--verbose"}, "job", {"true"});
  EXPECT_EQ(good.wait(), 0) << good.err();
  EXPECT_THAT(good.err(), Not(HasSubstr("open-sesame")));

  auto wrong = guarded.url();
  wrong.replace(wrong.find("open-sesame"), 11, "wrong-sesame");
  auto refused = holdfast_run(wrong, {"--verbose"}, "job", {"true"});
  EXPECT_EQ(refused.wait(), 77);
  EXPECT_THAT(refused.err(), Not(HasSubstr("sesame")));

  guarded.stop();
  auto unreachable = holdfast_run(guarded.url(), {"--verbose"}, "job", {"true"});
  EXPECT_EQ(unreachable.wait(), 69);
  EXPECT_THAT(unreachable.err(), Not(HasSubstr("sesame")));
}

TEST_F(run, says_69_when_the_server_is_not_there) {
  server.stop();
  auto job = start({}, {"true"});
  EXPECT_EQ(job.wait(), 69);
  EXPECT_THAT(job.err(), AllOf(HasSubstr("holdfast: "), HasSubstr("redis.sock")));
  EXPECT_EQ(std::ranges::count(job.err(), '\n'), 1) << job.err();
}

TEST_F(run, says_65_when_the_key_is_no_lock) {
  redis.command({"LPUSH", "job", "x"});
  auto job = start({}, {"true"});
  EXPECT_EQ(job.wait(), 65);
  EXPECT_THAT(job.err(), AllOf(HasSubstr("job"), HasSubstr("list")));
}

}  // namespace
