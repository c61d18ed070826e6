// What a loss ends besides the command itself, what it spares, and what it can't end.
#include "holdfast_command.hpp"
#include "support/eventually.hpp"
#include "support/redis_server.hpp"
#include "support/rounds.hpp"

#include <gmock/gmock.h>

#include <signal.h>
#include <unistd.h>

#include <fstream>
#include <string>

namespace {

using namespace holdfast::test;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

words joined(words first, words const& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

words const other_user{"setpriv", "--reuid=65534", "--clear-groups"};

class reach_of_a_loss : public testing::Test {
 protected:
  /// Starts a command and waits until it has printed "ready" and the id of the process that matters.
  process start(words const& options, std::string const& script) {
    auto job = holdfast_run(server.url(), options, "job", shell(script));
    work = printed_id(job);
    return job;
  }
  static pid_t printed_id(process const& job) {
    EXPECT_TRUE(eventually([&] { return job.out().ends_with('\n'); })) << job.err();
    auto const text = job.out();
    EXPECT_THAT(text, testing::StartsWith("ready "));
    return text.starts_with("ready ") ? std::stoi(text.substr(6)) : -1;
  }
  /// `holdfast run`, started by `starter`, may not kill its command, and has tried to. It keeps the lock for
  /// longer than the ttl.
  process hold_for_another_user(words const& starter) {
    auto const command = joined(other_user, shell("echo ready $$; exec sleep 60"));
    words const run{HOLDFAST_CLI, "run", "--ttl", "4s", "--max-hold", "1s", "job", "--"};
    process job{joined(starter, joined(run, command)), {{"HOLDFAST_URL", server.url()}}};
    work = printed_id(job);
    EXPECT_TRUE(eventually([&] {
      return job.err().find("the lock is renewed until it ends") != std::string::npos;
    })) << job.err();
    EXPECT_TRUE(always(5s, [&] { return redis.exists("job"); })) << "longer than the ttl\n" << job.err();
    return job;
  }
  void TearDown() override {
    if (work > 0) kill(work, SIGKILL);
  }

  temporary_folder const folder;
  redis_server server;
  raw_redis redis = server.raw();
  pid_t work = -1;
};

constexpr auto stubborn_work = "sh -c 'trap \"\" TERM; echo ready $$; while :; do sleep 0.02; done'";

TEST_F(reach_of_a_loss, is_work_under_timeout_or_in_a_session_of_its_own) {
  for (std::string const starter : {"timeout 60", "setsid", "setsid --fork --wait"}) {
    auto job = start({"--ttl", "3s"}, starter + ' ' + stubborn_work + "; true");
    redis.del("job");
    EXPECT_EQ(job.wait(), 79) << starter;
    EXPECT_FALSE(is_alive(work)) << starter;
  }
}

TEST_F(reach_of_a_loss, is_a_command_in_a_session_of_its_own) {
  for (std::string const starter : {"exec timeout 60", "exec setsid"}) {
    auto job = start({"--ttl", "3s", "--on-lost=kill"}, starter + ' ' + stubborn_work);
    redis.del("job");
    EXPECT_EQ(job.wait(), 79) << starter;
    EXPECT_FALSE(is_alive(work)) << starter;
  }
}

TEST_F(reach_of_a_loss, is_stubborn_work_that_an_ended_command_has_left_though_the_server_is_back) {
  passes_in_one_round_of(5, [&] {  // the server must be back in the second after SIGTERM
    auto job = start({"--ttl", "6s"}, std::string{stubborn_work} + " & exec sleep 60");
    server.freeze();
    EXPECT_TRUE(eventually([&] { return job.err().find("sent SIGTERM") != std::string::npos; }));
    server.thaw();
    EXPECT_EQ(job.wait(), 79) << job.err();
    EXPECT_THAT(job.err(), HasSubstr("is held for what the command has left behind; the command was killed"));
    EXPECT_FALSE(is_alive(work));
  });
}

TEST_F(reach_of_a_loss, is_the_same_when_holdfast_was_killed) {
  for (std::string const starter : {"timeout 60", "setsid"}) {
    auto job = start({"--ttl", "2s"}, starter + ' ' + stubborn_work + "; true");
    job.signal(SIGKILL);
    EXPECT_TRUE(eventually([&] { return !is_alive(work); })) << starter;
  }
}

TEST_F(reach_of_a_loss, is_the_same_when_holdfast_is_frozen) {
  auto job = start({"--ttl", "2s"}, std::string{"timeout 60 "} + stubborn_work + "; true");
  job.signal(SIGSTOP);
  EXPECT_TRUE(eventually([&] { return !is_alive(work); }));
  job.signal(SIGCONT);
  EXPECT_EQ(job.wait(), 79);
}

/// The guard knows the time that is due now, not that of the ttl.
TEST_F(reach_of_a_loss, is_the_same_when_holdfast_is_frozen_after_a_release_by_force) {
  auto job = start({"--ttl", "1h"}, std::string{"exec "} + stubborn_work);
  // It waits until the holder has let go.
  process const release{{HOLDFAST_CLI, "release", "--force", "--yes", "job"},
                        {{"HOLDFAST_URL", server.url()}}};
  ASSERT_TRUE(eventually([&] { return job.err().find("sent SIGTERM") != std::string::npos; })) << job.err();
  job.signal(SIGSTOP);
  EXPECT_TRUE(eventually([&] { return !is_alive(work); }));
  job.signal(SIGCONT);
  EXPECT_EQ(job.wait(), 79);
}

TEST_F(reach_of_a_loss, spares_daemons_that_the_command_has_started) {
  auto job = start({"--ttl", "3s"}, "setsid --fork sh -c 'echo ready $$; exec sleep 60'; exec sleep 60");
  redis.del("job");
  EXPECT_EQ(job.wait(), 79);
  EXPECT_TRUE(is_alive(work));
}

TEST_F(reach_of_a_loss, spares_what_ran_before_holdfast_did) {
  process job{shell("sleep 60 & echo ready $!; exec " HOLDFAST_CLI " run --ttl 3s job -- sleep 60"),
              {{"HOLDFAST_URL", server.url()}}};
  work = printed_id(job);
  ASSERT_TRUE(eventually([&] { return redis.exists("job"); }));
  redis.del("job");
  EXPECT_EQ(job.wait(), 79) << job.err();
  EXPECT_TRUE(is_alive(work));
}

TEST_F(reach_of_a_loss, spares_all_that_ran_before_holdfast_did_however_many_they_are) {
  auto const count = folder / "count";
  process job{shell("for i in $(seq 100); do sleep 60 & echo $! >> " + count +
                    "; done; exec " HOLDFAST_CLI " run --ttl 3s job -- sleep 60"),
              {{"HOLDFAST_URL", server.url()}}};
  ASSERT_TRUE(eventually([&] { return redis.exists("job"); }));
  redis.del("job");
  EXPECT_EQ(job.wait(), 79) << job.err();
  std::ifstream ids{count};
  int alive = 0;
  for (pid_t id = 0; ids >> id; kill(id, SIGKILL)) alive += is_alive(id) ? 1 : 0;
  EXPECT_EQ(alive, 100);
}

/// holdfast may not kill processes of other users here, as when a user's command changes to another user.
TEST_F(reach_of_a_loss, is_not_a_process_of_another_user_for_which_the_lock_is_kept) {
  words const not_allowed_to_kill{"setpriv", "--bounding-set=-kill"};
  if (geteuid() != 0 || process{joined(joined(not_allowed_to_kill, other_user), {"true"})}.wait() != 0)
    GTEST_SKIP() << "only root with all capabilities can give one up";
  auto job = hold_for_another_user(not_allowed_to_kill);
  auto const id = std::to_string(work);
  EXPECT_TRUE(is_alive(work));
  EXPECT_THAT(job.err(),
              AllOf(HasSubstr("reached --max-hold 1s"),
                    HasSubstr("the command can't be killed (process " + id + " of it is another user's)"),
                    Not(HasSubstr("was killed")), Not(HasSubstr("was sent"))));
  kill(work, SIGKILL);
  EXPECT_EQ(job.wait(), 79) << job.err();
  EXPECT_FALSE(redis.exists("job"));
}

/// As above, and /proc doesn't show it.
TEST_F(reach_of_a_loss, is_not_a_hidden_command_of_another_user_for_which_the_lock_is_kept) {
  for (std::string const hidepid : {"1", "2"}) {
    words const hidden{"unshare",
                       "--mount",
                       "sh",
                       "-c",
                       "mount -t proc -o gid=64999,hidepid=" + hidepid + " proc /proc && exec \"$@\"",
                       "sh",
                       "setpriv",
                       "--bounding-set=-kill,-sys_ptrace"};
    if (geteuid() != 0 || process{joined(joined(hidden, other_user), {"true"})}.wait() != 0)
      GTEST_SKIP() << "only root with all capabilities can mount /proc anew";
    auto job = hold_for_another_user(hidden);
    auto const id = std::to_string(work);
    kill(work, SIGKILL);
    EXPECT_EQ(job.wait(), 79) << job.err();
    auto const said = job.err();
    EXPECT_THAT(said, AllOf(HasSubstr("can't be killed (process " + id + " of it is another user's)"),
                            Not(HasSubstr("was killed"))));
    auto const note = said.find("processes of other users can't be seen here");
    EXPECT_NE(note, std::string::npos) << said;
    EXPECT_EQ(note, said.rfind("processes of other users can't be seen here"));
    EXPECT_FALSE(redis.exists("job"));
  }
}

}  // namespace
