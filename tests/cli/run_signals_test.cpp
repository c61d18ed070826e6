// Signals to `holdfast run` away from a terminal: each reaches the command once.
#include "holdfast_command.hpp"
#include "support/eventually.hpp"
#include "support/redis_server.hpp"

#include <gmock/gmock.h>

#include <signal.h>

#include <filesystem>
#include <string>

namespace {

using namespace holdfast::test;

/// Prints "got" for each signal, in one piece, until the file of its argument is there. Not a shell: that
/// handles two signals in a row as one. Not print(): unbuffered, it writes the end of the line by itself.
constexpr auto counter = R"(
import os, signal, sys
numbers = [signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2]
signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
print("ready", flush=True)
while not os.path.exists(sys.argv[1]):
  if signal.sigtimedwait(numbers, 0.02): os.write(1, b"got\n")
sys.exit(9)
)";

class run_signals : public testing::Test {
 protected:
  /// In a process group of its own.
  [[nodiscard]] process start(words const& wrapper = {}, words const& wrapped = {}) const {
    words command{"setsid"};
    command.insert(command.end(), wrapper.begin(), wrapper.end());
    command.insert(command.end(), {HOLDFAST_CLI, "run", "job", "--"});
    command.insert(command.end(), wrapped.begin(), wrapped.end());
    command.insert(command.end(), {"python3", "-c", counter, go});
    process job{command, {{"HOLDFAST_URL", server.url()}}};
    EXPECT_TRUE(eventually([&] { return job.out() == "ready\n"; })) << job.err();
    return job;
  }
  /// The signal has come, and comes no second time.
  static testing::AssertionResult got_once(process const& job) {
    if (!eventually([&] { return job.out() != "ready\n"; }))
      return testing::AssertionFailure() << "not at all";
    if (always(100ms, [&] { return job.out() == "ready\ngot\n"; })) return testing::AssertionSuccess();
    return testing::AssertionFailure() << job.out();
  }
  void let_go() { process{{"touch", go}}.wait(); }

  redis_server server;
  raw_redis redis = server.raw();
  temporary_folder folder;
  std::string const go = folder / "go";
};

TEST_F(run_signals, to_holdfast_alone_reach_the_command_once) {
  for (int const number : {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2}) {
    auto job = start();
    job.signal(number);
    EXPECT_TRUE(got_once(job)) << number;
    let_go();
    EXPECT_EQ(job.wait(), 9);
    std::filesystem::remove(go);
  }
  EXPECT_FALSE(redis.exists("job"));
}

TEST_F(run_signals, to_the_whole_group_reach_the_command_once) {
  for (int const number : {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2}) {
    auto job = start();
    ASSERT_EQ(kill(-job.pid(), number), 0);
    EXPECT_TRUE(got_once(job)) << number;
    let_go();
    EXPECT_EQ(job.wait(), 9);
    std::filesystem::remove(go);
  }
}

TEST_F(run_signals, to_the_whole_group_reach_a_command_in_a_group_of_its_own) {
  for (words const& wrapped : {words{"setsid"}, words{"timeout", "60"}}) {
    auto job = start({}, wrapped);
    ASSERT_EQ(kill(-job.pid(), SIGTERM), 0);
    // timeout sends it to its child, and then to its group.
    EXPECT_TRUE(eventually([&] { return job.out().starts_with("ready\ngot\n"); })) << wrapped.front();
    if (wrapped.front() == "setsid") EXPECT_TRUE(got_once(job));
    let_go();
    EXPECT_EQ(job.wait(), 9);
    std::filesystem::remove(go);
  }
}

TEST_F(run_signals, to_holdfast_and_to_its_group_reach_the_command_once) {
  auto job = start({"timeout", "60"});
  job.signal(SIGTERM);  // timeout sends it to its child, and then to its group
  EXPECT_TRUE(got_once(job));
  let_go();
  EXPECT_EQ(job.wait(), 9);
}

TEST_F(run_signals, that_continue_holdfast_alone_continue_the_command) {
  auto job = start();
  ASSERT_EQ(kill(-job.pid(), SIGSTOP), 0);
  job.signal(SIGCONT);
  let_go();
  EXPECT_EQ(job.wait(), 9);
}

TEST_F(run_signals, reach_all_processes_of_the_command) {
  auto job = holdfast_run(server.url(), {}, "job", shell("sleep 60 & echo $!; wait; exit 3"));
  ASSERT_TRUE(eventually([&] { return job.out().ends_with('\n'); }));
  auto const background = std::stoi(job.out());
  job.signal(SIGTERM);
  EXPECT_EQ(job.wait(), 128 + SIGTERM);
  EXPECT_TRUE(eventually([&] { return !is_alive(background); }));
}

TEST_F(run_signals, reach_work_in_a_group_of_its_own) {
  for (words const& wrapped : {words{"timeout", "60"}, words{"setsid"}, words{"env", "timeout", "60"}}) {
    auto job = start({}, wrapped);
    job.signal(SIGTERM);
    EXPECT_TRUE(eventually([&] { return job.out().starts_with("ready\ngot\n"); })) << wrapped.front();
    let_go();
    EXPECT_EQ(job.wait(), 9);
    std::filesystem::remove(go);
  }
}

}  // namespace
