/// The guard: a small process that is the parent of the command, and ends it when holdfast can't.
#pragma once

#include "process/command_tree.hpp"
#include "process/prepared_program.hpp"
#include "run/group_member.hpp"
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
  spared_processes spared;

  static_assert(decltype(kill_at)::is_always_lock_free && decltype(command)::is_always_lock_free);
};

struct guard_duty {
  prepared_program const& program;
  prepared_program const* give_back;  ///< releases the lock; null: it is left to its ttl
  int give_back_output;               ///< its stdout; -1: it has none
  signals const& mask;
  inherited_files const& files;
  group_member const& member;
  on_lost policy;
  std::chrono::nanoseconds grace;
  pid_t holdfast;
  job started_in;  ///< holdfast's
  int lifeline;    ///< a socket, whose other end holdfast has: it wakes the guard when kill_at is earlier
  int report;      ///< for prepared_program::execute; also for errno when the command can't be forked
};

/// Starts the command and watches it; for a process that was just forked.
///
/// Ends with the command, which thereby becomes holdfast's child. When holdfast is killed, the guard sends
/// the command SIGTERM and, a grace later, SIGKILL. When holdfast is frozen, it sends SIGKILL at the time of
/// the board. Without it the command would run on under a lock that is not renewed, beside the next holder.
/// With on_lost::warn it leaves the command alone. Instead of a dead holdfast it has the terminal restored.
/// When holdfast is dead, and nothing of the command is left, it becomes the program that gives the lock
/// back, which has effect only while the owner still holds it.
///
/// It is in a session of its own with all signals blocked, so what ends or stops holdfast's process group
/// does not keep it from its work. A group_member is there in its stead.
[[noreturn]] void be_guard(guard_duty const&, guard_board&) noexcept;

}  // namespace holdfast::cli
