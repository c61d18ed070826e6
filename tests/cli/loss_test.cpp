#include "full_pipe.hpp"
#include "holdfast_command.hpp"
#include "support/eventually.hpp"
#include "support/redis_server.hpp"
#include "support/rounds.hpp"
#include "support/state_of.hpp"

#include <gmock/gmock.h>

#include <signal.h>

#include <chrono>
#include <cstddef>
#include <string>

namespace {

using namespace holdfast::test;
using testing::AllOf;
using testing::HasSubstr;

using wall_clock = std::chrono::system_clock;

class loss : public testing::Test {
 protected:
  /// Starts a command and waits until it has printed "ready".
  process start(words const& options, std::string const& script) {
    auto job = holdfast_run(server.url(), options, "job", shell(script));
    EXPECT_TRUE(eventually([&] { return job.out().starts_with("ready\n"); })) << job.err();
    return job;
  }

  /// A script that writes the time into a file repeatedly and ignores SIGTERM.
  static std::string heartbeats(std::string const& file) {
    return "trap '' TERM; date +%s%N > " + file + "; echo ready; while :; do date +%s%N > " + file +
           ".new && mv " + file + ".new " + file + "; sleep 0.01; done";
  }
  static wall_clock::time_point last_beat(std::string const& file) {
    return wall_clock::time_point{std::chrono::nanoseconds{std::stoll(content_of(file))}};
  }

  /// Calls `freeze` just after a renewal, when the ttl is more than `fresh_ms`, so that no renewal comes
  /// between the look at the ttl and `freeze`. Returns the time at which the key expires.
  template <class Freeze>
  wall_clock::time_point freeze_after_renewal(int fresh_ms, Freeze freeze) {
    EXPECT_TRUE(eventually([&] { return redis.pttl("job") > fresh_ms; }));
    auto const before = wall_clock::now();
    auto const left = std::chrono::milliseconds{redis.pttl("job")};
    auto const expiry = wall_clock::now() + left;
    freeze();
    EXPECT_LT(wall_clock::now() - before, 300ms) << "it may have been renewed meanwhile";
    return expiry;
  }

  /// Asks the holder to stop, as a release by force does, until the holder gets the message.
  void request_stop() {
    auto const owner = redis.get("job").value();
    auto const colon = owner.find(':');
    auto const message = "asked " + owner.substr(colon + 1);
    redis.command({"SET", "{job}:holdfast_asked:" + owner, "1", "PX", "60000"});
    EXPECT_TRUE(eventually([&] {
      return redis.command({"PUBLISH", "holdfast_inbox:" + owner.substr(0, colon), message}).integer == 1;
    }));
  }

  redis_server server;
  raw_redis redis = server.raw();
  temporary_folder folder;
};

std::string quoted_shell(std::string const& script) {
  std::string text = "sh -c '";
  for (char const each : script) text += each == '\'' ? std::string{"'\\''"} : std::string{each};
  return text + '\'';
}

constexpr auto obedient = "trap 'echo told; exit 0' TERM; echo ready; while :; do sleep 0.02; done";
constexpr auto stubborn = "trap '' TERM; echo ready; while :; do sleep 0.02; done";

TEST_F(loss, of_a_deleted_key_terminates_the_command) {
  passes_in_one_round_of(5, [&] {  // the command must print "told" in its second
    auto job = start({"--ttl", "3s"}, obedient);
    redis.del("job");
    EXPECT_EQ(job.wait(), 79);
    EXPECT_EQ(job.out(), "ready\ntold\n");
    EXPECT_THAT(job.err(), AllOf(HasSubstr("lock \"job\" lost"), HasSubstr("sent SIGTERM")));
  });
}

TEST_F(loss, of_a_deleted_key_kills_a_command_that_does_not_listen) {
  auto job = start({"--ttl", "3s"}, stubborn);
  redis.del("job");
  EXPECT_EQ(job.wait(), 79);
  EXPECT_THAT(job.err(), HasSubstr("the command was killed"));
}

TEST_F(loss, by_take_over_does_not_touch_the_new_holder) {
  auto job = start({"--ttl", "3s"}, stubborn);
  redis.command({"SET", "job", "somebody else", "PX", "60000"});
  EXPECT_EQ(job.wait(), 79);
  EXPECT_EQ(redis.get("job"), "somebody else");
}

TEST_F(loss, by_force_terminates_the_command_and_gives_the_lock_back) {
  passes_in_one_round_of(5, [&] {  // the command must print "told" in its second
    auto job = start({}, obedient);
    request_stop();
    EXPECT_EQ(job.wait(), 79);
    EXPECT_EQ(job.out(), "ready\ntold\n");
    EXPECT_THAT(job.err(),
                AllOf(HasSubstr("lock \"job\" lost: it was released by force"), HasSubstr("sent SIGTERM")));
    EXPECT_FALSE(redis.exists("job"));
  });
}

TEST_F(loss, by_force_is_over_before_force_is_used) {
  // Only the holder touches the key in this test: when the key is gone, the holder has released it.
  for (words const& options : {words{}, words{"--keep"}, words{"--once-per", "1h"}}) {
    passes_in_one_round_of(5, [&] {
      auto job = start(options, stubborn);
      request_stop();
      auto const request_time = std::chrono::steady_clock::now();
      EXPECT_EQ(job.wait(), 79);
      EXPECT_LT(std::chrono::steady_clock::now() - request_time, 2s)
          << "when the key is deleted under the holder";
      EXPECT_THAT(job.err(), HasSubstr("the command was killed"));
      EXPECT_FALSE(redis.exists("job"));
    });
  }
}

/// Else the lock would be held, and renewed, without a command.
TEST_F(loss, needs_no_reader_of_the_messages_of_the_wait) {
  redis.command({"SET", "job", "somebody else", "PX", "600000"});
  full_pipe const messages{folder / "messages"};
  process job{shell("exec " HOLDFAST_CLI " run -v job -- echo ready 2> " + (folder / "messages")),
              {{"HOLDFAST_URL", server.url()}}};
  EXPECT_TRUE(always(500ms, [&] { return !job.exit_code(); }));
  redis.command({"DEL", "job"});
  EXPECT_TRUE(eventually([&] { return job.out() == "ready\n" && !redis.exists("job"); }));
  EXPECT_THAT(messages.read_until_end_of(job), HasSubstr("waiting for lock \"job\""));
  EXPECT_EQ(job.wait(), 0);
}

/// Their reader has stopped, as behind ^S.
TEST_F(loss, is_over_as_soon_while_nobody_reads_the_messages) {
  full_pipe const messages{folder / "messages"};
  process job{shell("exec " HOLDFAST_CLI " run --ttl 10m job -- " + quoted_shell(stubborn) + " 2> " +
                    (folder / "messages")),
              {{"HOLDFAST_URL", server.url()}}};
  ASSERT_TRUE(eventually([&] { return job.out() == "ready\n"; }));
  request_stop();
  EXPECT_TRUE(eventually([&] { return !redis.exists("job"); })) << "not killed, or not given back";
  EXPECT_THAT(messages.read_until_end_of(job), HasSubstr("lock \"job\" lost: it was released by force"));
  EXPECT_EQ(job.wait(), 79);
}

TEST_F(loss, with_kill_sends_no_sigterm) {
  auto job = start({"--ttl", "3s", "--on-lost=kill"}, obedient);
  redis.del("job");
  EXPECT_EQ(job.wait(), 79);
  EXPECT_EQ(job.out(), "ready\n");
}

TEST_F(loss, with_warn_lets_the_command_end_by_itself) {
  auto const go = folder / "go";
  auto job = start({"--ttl", "3s", "--on-lost=warn"},
                   "echo ready; until [ -e " + go + " ]; do sleep 0.02; done; exit 4");
  redis.del("job");
  ASSERT_TRUE(eventually([&] { return job.err().find("goes on") != std::string::npos; }));
  process{{"touch", go}}.wait();
  EXPECT_EQ(job.wait(), 4);
}

TEST_F(loss, is_told_when_it_shows_only_at_the_release) {
  auto const go = folder / "go";
  auto job = start({"--ttl", "10m"}, "echo ready; until [ -e " + go + " ]; do sleep 0.02; done");
  redis.command({"SET", "job", "somebody else", "PX", "60000"});
  process{{"touch", go}}.wait();
  EXPECT_EQ(job.wait(), 79);
  EXPECT_THAT(job.err(), HasSubstr("was lost while the command ran"));
}

TEST_F(loss, leaves_nothing_of_the_group_behind) {
  auto job = start({"--ttl", "3s"},
                   "sh -c 'trap \"\" TERM; while :; do sleep 0.02; done' & echo ready; echo $!; wait");
  ASSERT_TRUE(eventually([&] { return job.out().size() > 7 && job.out().ends_with('\n'); }));
  redis.del("job");
  EXPECT_EQ(job.wait(), 79);
  auto const background = std::stoi(job.out().substr(6));
  EXPECT_TRUE(eventually([&] { return !is_alive(background); }));
}

TEST_F(loss, to_a_frozen_server_ends_the_command_before_the_key_expires) {
  auto const beats = folder / "beats";
  passes_in_one_round_of(5, [&] {
    auto job = start({"--ttl", "3s"}, heartbeats(beats));
    auto const expiry = freeze_after_renewal(2800, [&] { server.freeze(); });
    EXPECT_EQ(job.wait(), 79);
    server.thaw();
    EXPECT_LT(last_beat(beats), expiry);
    EXPECT_THAT(job.err(), AllOf(HasSubstr("about to be lost"), HasSubstr("killed")));
  });
}

TEST_F(loss, at_the_limit_ends_the_command_and_frees_the_lock) {
  passes_in_one_round_of(5, [&] {  // holdfast must look between its grace and the limit
    auto const start_time = std::chrono::steady_clock::now();
    auto job = start({"--max-hold", "3s"}, stubborn);
    EXPECT_EQ(job.wait(), 79);
    EXPECT_GE(std::chrono::steady_clock::now() - start_time, 2400ms);
    EXPECT_THAT(job.err(), HasSubstr("reached --max-hold 3s"));
    EXPECT_TRUE(eventually([&] { return !redis.exists("job"); }));
  });
}

TEST_F(loss, at_the_limit_is_the_exit_code_of_a_command_that_ends_by_itself_with_0) {
  for (words const& more : {words{}, words{"--on-lost=term"}}) {
    words options{"--max-hold", "2s"};
    options.insert(options.end(), more.begin(), more.end());
    passes_in_one_round_of(5, [&] {  // the command must print "told" in its fifth of a second
      auto job = start(options, obedient);
      EXPECT_EQ(job.wait(), 79);
      EXPECT_EQ(job.out(), "ready\ntold\n");
      EXPECT_THAT(job.err(), HasSubstr("reached --max-hold 2s; the command was sent SIGTERM"));
      EXPECT_FALSE(redis.exists("job"));
    });
  }
  auto job = start({"--max-hold", "2s", "--on-lost=kill"}, obedient);
  EXPECT_EQ(job.wait(), 79);
  EXPECT_EQ(job.out(), "ready\n");
}

TEST_F(loss, at_the_limit_with_warn_leaves_the_command_its_exit_code) {
  auto const go = folder / "go";
  auto job = start({"--ttl", "1s", "--max-hold", "1s", "--on-lost=warn"},
                   "echo ready; until [ -e " + go + " ]; do sleep 0.02; done; exit 4");
  EXPECT_TRUE(eventually([&] { return !redis.exists("job"); }));
  process{{"touch", go}}.wait();
  EXPECT_EQ(job.wait(), 4);
}

TEST_F(loss, of_a_frozen_holdfast_says_that_it_stood_still) {
  auto job = start({"--ttl", "2s"}, "echo ready; exec sleep 60");
  job.signal(SIGSTOP);
  ASSERT_TRUE(eventually([&] { return !redis.exists("job"); }))
      << state_of(redis, "job") << state_of(job.pid());
  ASSERT_TRUE(passes(redis, 2'500ms));
  job.signal(SIGCONT);
  EXPECT_EQ(job.wait(), 79);
  EXPECT_THAT(job.err(), AllOf(HasSubstr("lock \"job\" lost: holdfast stood still for at least"),
                               HasSubstr("the command was killed")));
  EXPECT_THAT(job.err(), testing::Not(HasSubstr("lease of"))) << "the client tells the same in other words";
}

TEST_F(loss, of_a_frozen_holdfast_ends_the_command_before_the_key_expires) {
  auto const beats = folder / "beats";
  passes_in_one_round_of(5, [&] {
    auto job = start({"--ttl", "2s"}, heartbeats(beats));
    auto const expiry = freeze_after_renewal(1800, [&] { job.signal(SIGSTOP); });
    ASSERT_TRUE(eventually([&] { return !redis.exists("job"); }));
    EXPECT_LT(last_beat(beats), expiry);
    job.signal(SIGCONT);
    EXPECT_EQ(job.wait(), 79);
  });
}

TEST_F(loss, of_a_killed_holdfast_ends_the_whole_group_before_the_key_expires) {
  auto const beats = folder / "beats";
  passes_in_one_round_of(5, [&] {
    auto job = start({"--ttl", "2s"}, "(" + heartbeats(beats) + ") & wait");
    auto const expiry = freeze_after_renewal(1800, [&] { job.signal(SIGKILL); });
    ASSERT_TRUE(eventually([&] { return !redis.exists("job"); }));
    EXPECT_LT(last_beat(beats), expiry);
  });
}

TEST_F(loss, of_a_killed_holdfast_terminates_the_command_first) {
  passes_in_one_round_of(5, [&] {
    auto job = start({"--ttl", "2s"}, obedient);
    job.signal(SIGKILL);
    EXPECT_EQ(job.wait(), 128 + SIGKILL);
    EXPECT_TRUE(true_within(10s, [&] { return job.out() == "ready\ntold\n"; }));
  });
}

}  // namespace
