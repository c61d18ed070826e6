/// All processes that a command has started, whatever group or session they are in. Without malloc and with
/// async-signal-safe calls only, for the guard.
#pragma once

#include "process/process_table.hpp"

#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>

namespace holdfast::cli {

/// Processes below holdfast that aren't ended with the command. In memory that holdfast and the guard share.
/// A later process that is given the id of one of them isn't taken for it.
class spared_processes {
 public:
  void add(process_entry const&) noexcept;
  [[nodiscard]] bool has(process_entry const&) const noexcept;
  /// True for the first caller.
  [[nodiscard]] bool choose_now() noexcept { return !chosen_.exchange(true); }

 private:
  static constexpr std::size_t most = 4096;
  std::array<std::atomic<std::uint64_t>, most> identities_{};
  std::atomic<std::size_t> count_{0};
  std::atomic<bool> chosen_{false};
};

/// What the command was started in: holdfast's own group and session, as a process of these reads them.
struct job {
  pid_t group = getpgrp();
  pid_t session = getsid(0);
};

/// The command and its descendants. Both holdfast and the guard are subreapers: a descendant whose parent has
/// ended becomes a child of one of them, so that nothing gets out of the tree. One object per process, since
/// its root is the process that constructs it.
///
/// A signal may go to a process that has the id of a member that ended a moment before. As in kill(1) nothing
/// is done about it: the kernel gives an id again after all others.
class command_tree {
 public:
  /// How far a signal came.
  struct reach {
    int processes = 0;  ///< how many got it that had not ended
    pid_t refused = 0;  ///< one that may not be signalled, since it is another user's; 0: none
  };
  enum class part : std::uint8_t {
    all,
    /// The command and the rest of the job's process group, and of each other group those whose parent is in
    /// that. A signal that is passed on goes to these: a program such as timeout(1) passes it on to its own
    /// group.
    front,
  };

  explicit command_tree(spared_processes&, job = {}) noexcept;

  void set_guard(pid_t guard) noexcept { guard_ = guard; }
  void set_command(pid_t command) noexcept { command_ = command; }
  void set_command_ended() noexcept { command_ended_ = true; }

  /// Spares the present descendants of this process: those from before an exec of holdfast, and what earlier
  /// commands have left.
  void spare_present() noexcept;

  /// Spares the daemons and what is below them. Daemons are orphans in a session of their own: the command
  /// has left them in the background, and the lock does not cover them at its regular end either. To be
  /// called before the command is told to end, since its work may be orphaned then. Only the first call has
  /// an effect.
  void spare_daemons() noexcept;

  /// Reads the tree anew.
  void look() noexcept;

  /// Whether the last look found a process that had not ended.
  [[nodiscard]] bool is_empty() const noexcept;

  /// Sends the signal to those of the last look that `wanted` selects by their id. Parents come before their
  /// children: a shell whose command ends first would go on to the next one.
  template <class Wanted>
  reach send(int const signal, part const scope, Wanted wanted) const noexcept {
    reach result;
    for (int depth = 1; depth <= deepest_; ++depth) {
      for (auto const& entry : table_.all()) {
        if (entry.depth != depth || !is_in(scope, entry) || !wanted(entry.id)) continue;
        if (kill(entry.id, signal) != 0) {
          if (errno == EPERM) result.refused = entry.id;
        } else if (!entry.ended()) {
          ++result.processes;
        }
      }
    }
    return result;
  }
  /// Reads the tree anew and sends the signal.
  reach send(int signal, part) noexcept;

 private:
  /// Whether the command runs, by the kernel alone.
  [[nodiscard]] bool command_is_there() const noexcept;
  void add_command() noexcept;
  [[nodiscard]] bool is_own_child(process_entry const&) const noexcept;
  [[nodiscard]] bool is_daemon(process_entry const&) const noexcept;
  [[nodiscard]] bool is_in(part, process_entry const&) const noexcept;

  spared_processes& spared_;
  process_table table_;  // members have a depth, from 1 on
  int deepest_ = 0;
  pid_t root_ = getpid();
  job job_;
  pid_t guard_ = 0;  // 0: this process, or the guard has ended
  pid_t command_ = 0;
  bool command_ended_ = false;  // its id may be given again
};

}  // namespace holdfast::cli
