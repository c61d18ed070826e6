/// The guard: a small process that is the parent of the command, and ends it when holdfast can't.
#pragma once

#include "process/command_tree.hpp"
#include "process/prepared_program.hpp"
#include "process/terminal_state.hpp"
#include "run/loss_watch.hpp"

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstdint>

namespace holdfast::cli {

/// What holdfast and the guard tell each other, in memory that they share.
struct guard_board {
  std::atomic<std::int64_t> kill_at{0};  ///< nanoseconds of CLOCK_BOOTTIME: the command must be dead by then
  std::atomic<pid_t> command{0};         ///< 0: not started
  std::atomic<bool> acted{false};        ///< the guard has told the command to end
  std::atomic<bool> stopped{false};      ///< the command was stopped; holdfast clears it
  /// The signals that a guard that has ended had got, and was not asked about: bit n for signal n.
  std::atomic<std::uint64_t> got_at_end{0};
  spared_processes spared;

  static_assert(decltype(kill_at)::is_always_lock_free && decltype(command)::is_always_lock_free &&
                decltype(got_at_end)::is_always_lock_free);
};

struct guard_duty {
  prepared_program const& program;
  prepared_program const* give_back;  ///< releases the lock; null: it is left to its ttl
  int give_back_output;               ///< its stdout; -1: it has none
  signals const& mask;
  inherited_files const& files;
  terminal_state const& terminal;  ///< from before the command
  on_lost policy;
  std::chrono::nanoseconds grace;
  pid_t holdfast;
  int lifeline;  ///< a socket, whose other end holdfast has: see guard_answer
  int report;    ///< for prepared_program::execute; also for errno when the command can't be forked
};

/// What comes back for a byte with a signal's number: whether the guard has got that signal too.
struct guard_answer {
  std::uint8_t signal;
  bool got_too;
};

/// Starts the command and watches it; for a process that was just forked.
///
/// Ends with the command, which thereby becomes holdfast's child. When holdfast is killed, the guard sends
/// the command SIGTERM and, a grace later, SIGKILL. When holdfast is frozen, it sends SIGKILL at the time of
/// the board. Without it the command would run on under a lock that is not renewed, beside the next holder.
/// With on_lost::warn it leaves the command alone. Instead of a dead holdfast it restores the terminal. When
/// holdfast is dead, and nothing of the command is left, it becomes the program that gives the lock back,
/// which has effect only while the owner still holds it.
///
/// It is in holdfast's process group with all signals blocked. So ^Z does not stop it, and holdfast learns
/// from it whether a signal came to holdfast alone or to the whole group, thus to the command as well.
[[noreturn]] void be_guard(guard_duty const&, guard_board&) noexcept;

}  // namespace holdfast::cli
