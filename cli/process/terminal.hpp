/// The terminal on stdin, if there is one: its foreground process group.
#pragma once

#include <unistd.h>

namespace holdfast::cli {

/// Gives the terminal to the command's process group and takes it back, as shells do for jobs. Needs SIGTTOU
/// blocked.
class terminal {
 public:
  terminal() : present_{isatty(STDIN_FILENO) == 1} {}

  [[nodiscard]] bool present() const noexcept { return present_; }
  [[nodiscard]] bool is_ours() const noexcept { return present_ && tcgetpgrp(STDIN_FILENO) == getpgrp(); }

  /// Only if our group has the terminal.
  void give_to(pid_t group) const noexcept {
    if (is_ours()) tcsetpgrp(STDIN_FILENO, group);
  }
  /// Only if `group` has the terminal.
  void take_from(pid_t group) const noexcept {
    if (present_ && tcgetpgrp(STDIN_FILENO) == group) tcsetpgrp(STDIN_FILENO, getpgrp());
  }

 private:
  bool present_;
};

}  // namespace holdfast::cli
