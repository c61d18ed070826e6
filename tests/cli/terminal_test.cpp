// `holdfast run` on a terminal: pipelines, scripts, loops and job control work as with flock(1).
#include "holdfast_command.hpp"
#include "process/process_table.hpp"
#include "process/signals.hpp"
#include "support/eventually.hpp"
#include "support/redis_server.hpp"
#include "support/rounds.hpp"
#include "support/terminal_window.hpp"

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <optional>
#include <string>

namespace {

using namespace holdfast::test;
using testing::HasSubstr;
using testing::Not;

constexpr auto control_c = "\x03";
constexpr auto control_d = "\x04";
constexpr auto control_z = "\x1a";

/// Texts that a test awaits end with a sum. The terminal echoes what is typed, so only the command's output
/// has the result.
class terminal : public testing::Test {
 protected:
  void open(words const& command) {
    window.emplace(command, environment{{"HOLDFAST_URL", server.url()}, {"PS1", ""}},
                   terminal_window::size{.columns = 300, .lines = 24});
  }
  void open_interactive_shell() { open({"bash", "--norc", "--noprofile", "--noediting", "-i"}); }

  void enter(std::string const& line) const { window->type(line + '\n'); }

  [[nodiscard]] bool shell_is_back() {
    enter("echo shell-$((1 + 1))");
    return window->shows("shell-2");
  }

  static std::string run(std::string const& command, std::string const& options = {}) {
    return std::string{HOLDFAST_CLI} + " run " + options + " job -- " + command;
  }
  static std::string run_script(std::string const& script, std::string const& options = {}) {
    return run("sh -c '" + script + "'", options);
  }

  /// A script that says who it is, and that it is ready, before `rest`.
  [[nodiscard]] std::string ready_for(std::string const& rest) const {
    return "echo $$ > " + (folder / "pid") + "; echo ready-$((1 + 1)); " + rest;
  }
  [[nodiscard]] pid_t command() const { return std::stoi(content_of(folder / "pid")); }

  /// Presses ^Z. The shell may be back before the command is stopped, which then could read the next key.
  [[nodiscard]] bool stops_by_control_z() {
    window->type(control_z);
    return window->shows("Stopped") && eventually([this] {
             auto const state = holdfast::cli::process_of(command());
             return state && state->stopped();
           });
  }

  redis_server server;
  raw_redis redis = server.raw();
  temporary_folder const folder;
  std::optional<terminal_window> window{};
  std::string const asks = ready_for("read line; echo \"got-$((1 + 1))-$line\"");
};

TEST_F(terminal, pipeline_reads_from_it_and_ends) {
  open_interactive_shell();
  enter(run("cat") + " | tr a-z A-Z; echo end-$((1 + 1))");
  enter("hello");
  EXPECT_TRUE(window->shows("HELLO")) << window->seen();
  window->type(control_d);
  EXPECT_TRUE(window->shows("end-2")) << window->seen();
}

TEST_F(terminal, pipeline_has_a_pager_at_its_end) {
  open_interactive_shell();
  enter(run("echo text") + " | sh -c 'cat; exec < /dev/tty; " + asks + "'");
  ASSERT_TRUE(window->shows("ready-2")) << window->seen();
  enter("word");
  EXPECT_TRUE(window->shows("got-2-word")) << window->seen();
}

TEST_F(terminal, control_c_ends_a_loop_in_a_script) {
  for (std::string const shell : {"bash", "dash", "zsh"}) {
    passes_in_one_round_of(5, [&] {  // dash misses signals while it starts a process
      auto const command = run("sh -c \"echo ready-$i; read line\"");
      open({shell, "-c", "for i in 1 2 3; do " + command + "; done; echo through"});
      ASSERT_TRUE(window->shows("ready-1")) << shell << window->seen();
      window->type(control_c);
      int code = 0;
      EXPECT_NO_THROW(code = window->wait()) << shell;
      EXPECT_EQ(code, 128 + SIGINT) << shell;
      EXPECT_THAT(window->seen(), testing::AllOf(Not(HasSubstr("ready-2")), Not(HasSubstr("through"))))
          << shell;
    });
    EXPECT_TRUE(eventually([&] { return !redis.exists("job"); }));
  }
}

TEST_F(terminal, control_c_and_control_z_reach_a_command_in_a_group_of_its_own) {
  passes_in_one_round_of(5, [&] {  // timeout leaves its child alone if its fork has not returned yet
    open_interactive_shell();
    enter(run("timeout 60 sh -c '" + ready_for("exec sleep 60") + "'"));
    ASSERT_TRUE(window->shows("ready-2")) << window->seen();
    ASSERT_TRUE(stops_by_control_z()) << window->seen();
    enter("fg");
    EXPECT_TRUE(eventually([this] {
      auto const state = holdfast::cli::process_of(command());
      return state && !state->stopped();
    })) << window->seen();
    window->type(control_c);
    EXPECT_TRUE(shell_is_back()) << window->seen();
    EXPECT_TRUE(eventually([this] { return !is_alive(command()); })) << window->seen();
    if (is_alive(command())) kill(command(), SIGKILL);
  });
}

TEST_F(terminal, control_c_while_it_waits_ends_a_loop_in_a_script) {
  redis.command({"SET", "job", "somebody else", "PX", "60000"});
  open({"bash", "-c", "for i in 1 2 3; do echo round-$i; " + run("true") + "; done"});
  ASSERT_TRUE(eventually([&] { return redis.keys("*:holdfast_queue").size() == 1; })) << window->seen();
  window->type(control_c);
  EXPECT_EQ(window->wait(), 128 + SIGINT);
  EXPECT_THAT(window->seen(), Not(HasSubstr("round-2")));
}

TEST_F(terminal, shows_whom_it_waits_for) {
  redis.command({"SET", "job", "somebody else", "PX", "60000"});
  open({"bash", "-c", run("echo ran-$((1 + 1))")});
  EXPECT_TRUE(window->shows("waiting for lock \"job\": held by unknown (somebody else)")) << window->seen();
  redis.del("job");
  EXPECT_TRUE(window->shows("ran-2")) << window->seen();
}

TEST_F(terminal, control_c_that_the_command_handles_lets_the_script_go_on) {
  auto const command = run("sh -c 'trap \"exit 0\" INT; echo ready-2; while :; do sleep 0.02; done'");
  open({"bash", "-c", command + "; echo went-$((1 + 1))-on"});
  ASSERT_TRUE(window->shows("ready-2"));
  window->type(control_c);
  EXPECT_EQ(window->wait(), 0);
  EXPECT_THAT(window->seen(), HasSubstr("went-2-on"));
}

TEST_F(terminal, control_z_stops_the_job_and_fg_goes_on) {
  open_interactive_shell();
  enter(run_script(asks));
  ASSERT_TRUE(window->shows("ready-2")) << window->seen();
  EXPECT_TRUE(stops_by_control_z()) << window->seen();
  EXPECT_TRUE(shell_is_back()) << window->seen();
  enter("fg");
  enter("word");
  EXPECT_TRUE(window->shows("got-2-word")) << window->seen();
  EXPECT_TRUE(eventually([&] { return !redis.exists("job"); }));
}

TEST_F(terminal, control_z_stops_a_script_with_its_command) {
  std::ofstream{folder / "script"} << run_script(asks) << "; echo after-$((1 + 1))\n";
  open_interactive_shell();
  enter("dash " + (folder / "script"));
  ASSERT_TRUE(window->shows("ready-2")) << window->seen();
  EXPECT_TRUE(stops_by_control_z()) << window->seen();
  EXPECT_TRUE(shell_is_back()) << window->seen();
  enter("fg");
  enter("word");
  EXPECT_TRUE(window->shows("after-2")) << window->seen();
  EXPECT_THAT(window->seen(), HasSubstr("got-2-word"));
}

/// The shell continues the job before the command has stopped itself.
TEST(signals, stop_is_left_out_after_fg) {
  auto const child = fork();
  if (child == 0) {
    setpgid(0, 0);  // not orphaned: its parent is in another group of the same session
    holdfast::cli::signals const received;
    kill(getpid(), SIGCONT);
    holdfast::cli::signals::stop_here();
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, WUNTRACED), child);
  EXPECT_TRUE(WIFEXITED(status));
  if (WIFSTOPPED(status)) {
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
  }
}

TEST_F(terminal, bg_lets_a_stopped_job_run_on) {
  open_interactive_shell();
  auto const go = folder / "go";
  enter(run_script(ready_for("until [ -e " + go + " ]; do sleep 0.02; done; echo went-$((1 + 1))")));
  ASSERT_TRUE(window->shows("ready-2")) << window->seen();
  window->type(control_z);
  EXPECT_TRUE(window->shows("Stopped")) << window->seen();
  enter("bg; : > " + go);
  EXPECT_TRUE(window->shows("went-2")) << window->seen();
}

TEST_F(terminal, job_in_the_background_stops_when_it_reads) {
  open_interactive_shell();
  enter(run_script(asks) + " &");
  EXPECT_TRUE(eventually([&] {
    enter("jobs");
    return window->shows("Stopped", 500ms);
  })) << window->seen();
  enter("fg");
  enter("word");
  EXPECT_TRUE(window->shows("got-2-word")) << window->seen();
}

TEST_F(terminal, editor_reads_raw_keys) {
  open_interactive_shell();
  enter(run_script("stty raw -echo; echo ready-$((1 + 1)); dd bs=1 count=2 2>&- | od -An -tx1; stty sane"));
  ASSERT_TRUE(window->shows("ready-2")) << window->seen();
  window->type(std::string{control_c} + control_z);
  EXPECT_TRUE(window->shows("03 1a")) << window->seen();
  EXPECT_TRUE(shell_is_back()) << window->seen();
}

TEST_F(terminal, editor_that_stops_itself_gives_the_shell_back) {
  open_interactive_shell();
  enter(run_script("echo ready-$((1 + 1)); kill -STOP $$; echo on-$((1 + 1))"));
  EXPECT_TRUE(window->shows("Stopped")) << window->seen();
  EXPECT_TRUE(shell_is_back()) << window->seen();
  enter("fg");
  EXPECT_TRUE(window->shows("on-2")) << window->seen();
}

TEST_F(terminal, job_that_is_killed_by_its_shell_gets_the_signal_once) {
  open_interactive_shell();
  auto const go = folder / "go";
  enter(run_script("trap \"echo got-\\$((1 + 1))\" TERM; echo ready-$((1 + 1)); until [ -e " + go +
                   " ]; do sleep 0.02; done; echo end-$((1 + 1))") +
        " &");
  ASSERT_TRUE(window->shows("ready-2")) << window->seen();
  enter("kill %1");
  ASSERT_TRUE(window->shows("got-2")) << window->seen();
  auto const got = [&] {
    auto const text = window->seen();
    return text.find("got-2") == text.rfind("got-2");
  };
  EXPECT_TRUE(always(300ms, got)) << window->seen();
  enter(": > " + go);
  EXPECT_TRUE(window->shows("end-2")) << window->seen();
  EXPECT_TRUE(got());
}

TEST_F(terminal, job_that_was_stopped_for_too_long_loses_its_lock_and_says_so) {
  open_interactive_shell();
  enter(run_script(ready_for("exec sleep 60"), "--ttl 2s"));
  ASSERT_TRUE(window->shows("ready-2")) << window->seen();
  window->type(control_z);
  EXPECT_TRUE(window->shows("Stopped")) << window->seen();
  EXPECT_TRUE(eventually([&] { return !redis.exists("job"); }));
  EXPECT_TRUE(eventually([&] { return !is_alive(command()); }));
  EXPECT_TRUE(passes(redis, 2'500ms));
  enter("fg; echo code-$?");
  EXPECT_TRUE(window->shows("code-79")) << window->seen();
  EXPECT_THAT(window->seen(),
              testing::AllOf(HasSubstr("lock \"job\" lost: holdfast stood still for at least"),
                             HasSubstr("the command was killed")));
}

}  // namespace
