// Signals that end or stop the whole process group of `holdfast run`, while its command works in another one.
#include "holdfast_command.hpp"
#include "process/process_table.hpp"
#include "support/eventually.hpp"
#include "support/redis_server.hpp"

#include <gmock/gmock.h>

#include <signal.h>
#include <unistd.h>

#include <string>

namespace {

using namespace holdfast::test;
using holdfast::cli::process_of;

constexpr auto work_text = "echo $$; while :; do sleep 0.02; done";

class run_group : public testing::Test {
 protected:
  /// In a process group of its own; waits until the work has printed its id.
  process start(words const& options, words const& command) {
    words all{"setsid", HOLDFAST_CLI, "run"};
    all.insert(all.end(), options.begin(), options.end());
    all.insert(all.end(), {"job", "--"});
    all.insert(all.end(), command.begin(), command.end());
    process job{all, {{"HOLDFAST_URL", server.url()}}};
    EXPECT_TRUE(eventually([&] { return job.out().ends_with('\n'); })) << job.err();
    work = std::stoi(job.out());
    return job;
  }
  void TearDown() override {
    if (work > 0) kill(work, SIGKILL);
  }

  redis_server const server;
  raw_redis redis = server.raw();
  pid_t work = -1;
};

TEST_F(run_group, that_is_killed_has_the_command_ended_before_the_lock_is_free) {
  for (std::string const own : {"exec timeout 60", "exec setsid", "timeout 60"}) {
    auto job = start({"--ttl", "1h"}, shell(own + " sh -c '" + work_text + "'; true"));
    ASSERT_EQ(kill(-job.pid(), SIGKILL), 0);
    EXPECT_TRUE(eventually([&] { return !redis.exists("job"); })) << own;
    EXPECT_FALSE(is_alive(work)) << own;
  }
}

TEST_F(run_group, that_is_stopped_has_the_command_killed_in_time) {
  auto job = start({"--ttl", "2s"}, {"timeout", "60", "sh", "-c", work_text});
  ASSERT_EQ(kill(-job.pid(), SIGSTOP), 0);
  EXPECT_TRUE(eventually([&] { return !is_alive(work); }));
  ASSERT_EQ(kill(-job.pid(), SIGCONT), 0);
  EXPECT_EQ(job.wait(), 79) << job.err();
}

/// The outer guard waits for the inner one, which is no daemon.
TEST_F(run_group, that_is_killed_keeps_an_outer_lock_while_the_command_of_an_inner_one_works) {
  auto const stubborn = std::string{"trap '' TERM; "} + work_text;
  auto job = start({"--ttl", "1h"},
                   {HOLDFAST_CLI, "run", "--ttl", "3s", "inner", "--", "setsid", "sh", "-c", stubborn});
  ASSERT_EQ(kill(-job.pid(), SIGKILL), 0);
  EXPECT_TRUE(outlives(redis, "job", work)) << "the lock was free first";
  EXPECT_TRUE(eventually([&] { return !redis.exists("job"); }));
}

/// The kernel ignores it in a group without a parent that could continue it: the guard must not count as one.
TEST_F(run_group, that_nobody_can_continue_is_not_stopped_by_the_key_for_it) {
  auto job = start({}, {"sh", "-c", work_text});
  ASSERT_EQ(kill(-job.pid(), SIGTSTP), 0);
  EXPECT_TRUE(always(200ms, [&] {
    auto const state = process_of(work);
    return state && !state->stopped();
  }));
  job.signal(SIGTERM);
  EXPECT_EQ(job.wait(), 128 + SIGTERM);
}

TEST_F(run_group, has_no_second_process_of_the_name_of_holdfast) {
  auto job = start({}, {"sh", "-c", work_text});
  holdfast::cli::process_table all;
  ASSERT_TRUE(all.read());
  int others = 0;
  for (auto const& entry : all.all()) {
    if (entry.parent != job.pid()) continue;
    ++others;
    EXPECT_EQ(content_of("/proc/" + std::to_string(entry.id) + "/comm").find("holdfast"), std::string::npos);
  }
  EXPECT_GT(others, 0);
  job.signal(SIGTERM);
  EXPECT_EQ(job.wait(), 128 + SIGTERM);
}

}  // namespace
