// Signals to the group of `holdfast run` at moments that are rare: while the command starts, or has just
// ended.
#include "holdfast_command.hpp"
#include "process/process_table.hpp"
#include "support/eventually.hpp"
#include "support/redis_server.hpp"

#include <gmock/gmock.h>

#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <optional>
#include <string>

namespace {

using namespace holdfast::test;

/// Runs a program until it forks, and calls `at_fork` while neither it nor its child runs. Then both run on.
class held_at_fork {
 public:
  explicit held_at_fork(words command, environment const& extra) {
    auto const argv = pointers(command);
    auto all = environment_of(extra);
    auto const envp = pointers(all);
    pid_ = fork();
    if (pid_ != 0) return;
    setsid();
    ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
    execvpe(argv.front(), argv.data(), envp.data());
    _exit(255);
  }
  ~held_at_fork() {
    if (pid_ <= 0) return;
    kill(-pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  held_at_fork(held_at_fork const&) = delete;
  held_at_fork& operator=(held_at_fork const&) = delete;

  [[nodiscard]] pid_t pid() const { return pid_; }

  template <class AtFork>
  testing::AssertionResult at_fork(AtFork at_fork) const {
    int status = 0;
    if (waitpid(pid_, &status, 0) != pid_ || !WIFSTOPPED(status))
      return testing::AssertionFailure() << "no ptrace";
    ptrace(PTRACE_SETOPTIONS, pid_, nullptr, PTRACE_O_TRACEFORK);
    for (int signal = 0; ptrace(PTRACE_CONT, pid_, nullptr, signal) == 0;) {
      if (waitpid(pid_, &status, 0) != pid_ || !WIFSTOPPED(status)) break;
      signal = WSTOPSIG(status);
      if (status >> 8 != (SIGTRAP | (PTRACE_EVENT_FORK << 8))) continue;
      unsigned long child = 0;
      ptrace(PTRACE_GETEVENTMSG, pid_, nullptr, &child);
      waitpid(static_cast<pid_t>(child), nullptr, __WALL);
      at_fork();
      ptrace(PTRACE_DETACH, static_cast<pid_t>(child), nullptr, nullptr);
      ptrace(PTRACE_DETACH, pid_, nullptr, nullptr);
      return testing::AssertionSuccess();
    }
    return testing::AssertionFailure() << "it has ended without a fork";
  }
  int wait() {
    std::optional<int> code;
    EXPECT_TRUE(eventually([&] {
      code = exit_code_of(pid_);
      return code.has_value();
    }));
    if (code) pid_ = -1;
    return code.value_or(-1);
  }

 private:
  pid_t pid_ = -1;
};

/// A sandbox may forbid it.
[[nodiscard]] bool can_trace() {
  auto const child = fork();
  if (child == 0) _exit(ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) == 0 ? 0 : 1);
  int status = -1;
  return waitpid(child, &status, 0) == child && status == 0;
}

class run_signal_times : public testing::Test {
 protected:
  redis_server server;
  raw_redis redis = server.raw();
};

TEST_F(run_signal_times, before_the_command_is_there_reach_it_all_the_same) {
  if (!can_trace()) GTEST_SKIP() << "nothing may be traced here";
  held_at_fork job{{HOLDFAST_CLI, "run", "job", "--", "sleep", "60"}, {{"HOLDFAST_URL", server.url()}}};
  ASSERT_TRUE(job.at_fork([&] { kill(-job.pid(), SIGTERM); }));
  EXPECT_EQ(job.wait(), 128 + SIGTERM);
  EXPECT_FALSE(redis.exists("job"));
}

/// The guard can't be asked any more whether the signal came to the group, too.
TEST_F(run_signal_times, that_end_the_command_before_holdfast_looks_reach_what_it_has_left_once) {
  // Not a shell: that handles two signals in a row as one.
  temporary_folder const folder;
  constexpr auto survivor = R"(
import os, signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
print(os.getppid(), flush=True)
while not os.path.exists(sys.argv[1]):
  if signal.sigtimedwait([signal.SIGTERM], 0.02): os.write(1, b"got\n")
os.write(1, b"end\n")
)";
  process job{{"setsid", HOLDFAST_CLI, "run", "job", "--", "sh", "-c", "python3 -c \"$0\" \"$1\" & wait",
               survivor, folder / "go"},
              {{"HOLDFAST_URL", server.url()}}};
  ASSERT_TRUE(eventually([&] { return job.out().ends_with('\n'); })) << job.err();
  auto const ready = job.out();
  auto const command = holdfast::cli::process_of(std::stoi(ready));
  ASSERT_TRUE(command);
  auto const guard = command->parent;
  job.signal(SIGSTOP);
  ASSERT_EQ(kill(-job.pid(), SIGTERM), 0);
  EXPECT_TRUE(eventually([&] { return !is_alive(guard); }));
  EXPECT_TRUE(eventually([&] { return job.out() == ready + "got\n"; }));
  job.signal(SIGCONT);
  EXPECT_EQ(job.wait(), 128 + SIGTERM);
  process{{"touch", folder / "go"}}.wait();
  EXPECT_TRUE(eventually([&] { return job.out().ends_with("end\n"); }));
  EXPECT_EQ(job.out(), ready + "got\nend\n");
}

}  // namespace
