/// A small process that stays in holdfast's process group, which the guard leaves.
#pragma once

#include "process/terminal_state.hpp"

#include <sys/types.h>

namespace holdfast::cli {

/// Does for holdfast and the guard what only a member of the group and of its session can do. It has all
/// signals blocked: one that is pending there went to the whole group. Ends when both are dead.
///
/// The guard is not in the group, so that a SIGKILL or SIGSTOP for it does not reach the guard. Without this
/// process (it was killed too, or is stopped) every signal counts as one to holdfast alone.
class group_member {
 public:
  /// Starts the process. The terminal's state is from before the command. Throws failure.
  explicit group_member(terminal_state const&);
  group_member(group_member const&) = delete;
  group_member& operator=(group_member const&) = delete;
  ~group_member();

  /// Whether it has got a signal that holdfast has received. Each is told once.
  [[nodiscard]] bool got(int signal) const noexcept;

  /// For the guard, and async-signal-safe. What has come to the group so far has not reached the command.
  void forget_signals() const noexcept;
  /// The same; see terminal_state::restore.
  void restore_terminal(pid_t command) const noexcept;

  /// A stop of the whole group (SIGSTOP) has stopped it as well.
  void resume() const noexcept;

  /// The file that reaches it: for a process that closes all others.
  [[nodiscard]] int line() const noexcept { return line_; }

 private:
  [[nodiscard]] bool runs() const noexcept;

  int line_ = -1;
  pid_t id_ = -1;
};

}  // namespace holdfast::cli
