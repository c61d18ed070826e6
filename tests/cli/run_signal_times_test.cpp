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

class run_signal_times : public testing::Test {
 protected:
  redis_server server;
  raw_redis redis = server.raw();
};

TEST_F(run_signal_times, before_the_command_is_there_reach_it_all_the_same) {
  held_at_fork job{{HOLDFAST_CLI, "run", "job", "--", "sleep", "60"}, {{"HOLDFAST_URL", server.url()}}};
  ASSERT_TRUE(job.at_fork([&] { kill(-job.pid(), SIGTERM); }));
  EXPECT_EQ(job.wait(), 128 + SIGTERM);
  EXPECT_FALSE(redis.exists("job"));
}

}  // namespace
