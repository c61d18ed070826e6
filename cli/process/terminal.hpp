/// The terminal of this process's session.
#pragma once

#include <fcntl.h>
#include <unistd.h>

namespace holdfast::cli {

/// -1: the session has none. To be closed.
[[nodiscard]] inline int open_terminal() noexcept {
  return open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC);
}

[[nodiscard]] inline bool session_has_terminal() noexcept {
  int const terminal = open_terminal();
  if (terminal >= 0) close(terminal);
  return terminal >= 0;
}

/// Whether our process group is in the foreground of this terminal.
[[nodiscard]] inline bool in_foreground(int const terminal) noexcept {
  return tcgetpgrp(terminal) == getpgrp();
}

/// Whether there is one and our process group is in its foreground, whatever stdin is.
[[nodiscard]] inline bool in_foreground() noexcept {
  int const terminal = open_terminal();
  if (terminal < 0) return false;
  bool const found = in_foreground(terminal);
  close(terminal);
  return found;
}

}  // namespace holdfast::cli
