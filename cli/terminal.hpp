/// The terminal on stdin, if there is one: whose turn it is to read from it.
#pragma once

#include <unistd.h>

namespace holdfast::cli {

/// Hands the terminal to the command's process group and back, as a shell does for its jobs. Needs SIGTTOU
/// blocked.
class terminal {
 public:
  terminal() : present_{isatty(STDIN_FILENO) == 1} {}

  [[nodiscard]] bool present() const noexcept { return present_; }
  [[nodiscard]] bool is_ours() const noexcept { return present_ && tcgetpgrp(STDIN_FILENO) == getpgrp(); }

  /// If it is ours.
  void give_to(pid_t group) const noexcept {
    if (is_ours()) tcsetpgrp(STDIN_FILENO, group);
  }
  /// If it is the group's.
  void take_from(pid_t group) const noexcept {
    if (present_ && tcgetpgrp(STDIN_FILENO) == group) tcsetpgrp(STDIN_FILENO, getpgrp());
  }

 private:
  bool present_;
};

}  // namespace holdfast::cli
