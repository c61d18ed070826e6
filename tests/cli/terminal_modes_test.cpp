// The terminal after a command that `holdfast run` has killed.
#include "holdfast_command.hpp"
#include "process/process_table.hpp"
#include "support/eventually.hpp"
#include "support/redis_server.hpp"
#include "support/terminal_window.hpp"

#include <gmock/gmock.h>

#include <signal.h>

#include <optional>
#include <string>

namespace {

using namespace holdfast::test;

/// A script that goes on with the terminal afterwards: it reads a line. Texts that a test awaits end with a
/// sum, since the terminal echoes what is typed.
class terminal_modes : public testing::Test {
 protected:
  void run(std::string const& command) {
    window.emplace(words{"bash", "-c",
                         std::string{HOLDFAST_CLI} + " run --ttl 2s --on-lost=kill job -- " + command +
                             "; echo code-$?; until [ -e " + go + " ]; do sleep 0.02; done" +
                             "; read line; echo got-$((1 + 1))-$line"},
                   environment{{"HOLDFAST_URL", server.url()}});
    ASSERT_TRUE(window->shows("ready-2")) << window->seen();
    EXPECT_NE(window->modes(), window->first_modes());
  }
  [[nodiscard]] bool reads_a_line() {
    process{{"touch", go}}.wait();
    window->type("word\n");
    return window->shows("got-2-word");
  }

  redis_server server;
  raw_redis redis = server.raw();
  temporary_folder const folder;
  std::string const go = folder / "go";
  std::string const raw = "sh -c 'trap \"\" TERM; echo $$ > " + (folder / "pid") +
                          "; stty raw -echo; echo ready-$((1 + 1)); exec sleep 60'";
  std::optional<terminal_window> window{};
};

TEST_F(terminal_modes, are_restored_when_the_command_was_killed) {
  run(raw);
  redis.del("job");
  EXPECT_TRUE(window->shows("code-79")) << window->seen();
  EXPECT_EQ(window->modes(), window->first_modes());
  EXPECT_TRUE(reads_a_line()) << window->seen();
}

TEST_F(terminal_modes, are_restored_by_the_guard_when_holdfast_was_killed_too) {
  run(raw);
  auto const command = holdfast::cli::process_of(std::stoi(content_of(folder / "pid")));
  ASSERT_TRUE(command);
  auto const guard = holdfast::cli::process_of(command->parent);
  ASSERT_TRUE(guard);
  kill(guard->parent, SIGKILL);
  EXPECT_TRUE(eventually([&] { return window->modes() == window->first_modes(); }));
  EXPECT_TRUE(reads_a_line()) << window->seen();
}

/// As an interactive shell does.
TEST_F(terminal_modes, are_restored_when_the_command_had_a_group_of_its_own_in_the_foreground) {
  run("python3 -c '"
      "import os, signal, time, tty\n"
      "signal.signal(signal.SIGTTOU, signal.SIG_IGN)\n"
      "os.setpgid(0, 0)\n"
      "os.tcsetpgrp(0, os.getpgrp())\n"
      "tty.setraw(0)\n"
      "print(\"ready-%d\" % (1 + 1), flush=True)\n"
      "time.sleep(60)'");
  redis.del("job");
  EXPECT_TRUE(window->shows("code-79")) << window->seen();
  EXPECT_EQ(window->modes(), window->first_modes());
  EXPECT_TRUE(reads_a_line()) << window->seen();
}

}  // namespace
