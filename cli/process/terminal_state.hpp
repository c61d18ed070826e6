/// What a killed program can't put right on the terminal.
#pragma once

#include <sys/types.h>
#include <termios.h>

#include <optional>

namespace holdfast::cli {

/// The modes of the terminal at the construction. Nothing if our process group isn't in its foreground, or we
/// are a script's job in its background, or stdout or stderr is a pipe: its reader may be a pager, which sets
/// modes of its own at any time.
class terminal_state {
 public:
  terminal_state() noexcept;

  /// Restores the modes, and puts our process group back into the foreground. Does nothing when the terminal
  /// is somebody else's by now, such as a shell's: neither our group's, nor that of `command` (0: none), nor
  /// of a group that has ended. Async-signal-safe.
  void restore(pid_t command) const noexcept;

 private:
  std::optional<termios> modes_;
};

}  // namespace holdfast::cli
