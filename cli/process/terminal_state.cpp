#include "process/terminal_state.hpp"

#include "process/signals.hpp"
#include "process/terminal.hpp"

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

namespace holdfast::cli {
namespace {

bool is_pipe(int const descriptor) noexcept {
  struct stat found{};
  return fstat(descriptor, &found) == 0 && (S_ISFIFO(found.st_mode) || S_ISSOCK(found.st_mode));
}

}  // namespace

terminal_state::terminal_state() noexcept {
  // In the background of a script, whose group is that of the foreground, too.
  if (signals::is_ignored(SIGINT)) return;
  if (is_pipe(STDOUT_FILENO) || is_pipe(STDERR_FILENO)) return;
  int const terminal = open_terminal();
  if (terminal < 0) return;
  termios modes{};
  if (in_foreground(terminal) && tcgetattr(terminal, &modes) == 0) modes_ = modes;
  close(terminal);
}

void terminal_state::restore(pid_t const command) const noexcept {
  if (!modes_) return;
  int const terminal = open_terminal();
  if (terminal < 0) return;
  pid_t const own = getpgrp();
  pid_t const foreground = tcgetpgrp(terminal);
  if (foreground > 0 && foreground != own && foreground != command) {
    while (waitpid(-foreground, nullptr, WNOHANG) > 0) {  // a zombie of ours would still be there
    }
  }
  bool const has_ended = foreground > 0 && kill(-foreground, 0) != 0 && errno == ESRCH;
  if (foreground > 0 && (foreground == own || foreground == command || has_ended)) {
    // It would stop a process in the background, as we are if the command made a group of its own.
    sigset_t stop{};
    sigset_t before{};
    sigemptyset(&stop);
    sigaddset(&stop, SIGTTOU);
    pthread_sigmask(SIG_BLOCK, &stop, &before);
    tcsetattr(terminal, TCSANOW, &*modes_);
    tcsetpgrp(terminal, own);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }
  close(terminal);
}

}  // namespace holdfast::cli
