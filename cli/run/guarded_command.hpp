/// The command under the lock: runs in holdfast's own process group, below a guard.
#pragma once

#include "process/command_tree.hpp"
#include "process/inherited_files.hpp"
#include "process/signals.hpp"
#include "process/terminal_state.hpp"
#include "run/group_member.hpp"
#include "run/guard.hpp"
#include "run/loss_watch.hpp"

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace holdfast::cli {

struct command_end {
  int code = 0;    ///< as in shells
  int signal = 0;  ///< the one that ended the command; 0: it exited
};

/// A program that gives the lock back when holdfast was killed.
struct release_program {
  std::vector<std::string> words{};        ///< empty: the lock is left to its ttl
  std::vector<std::string> environment{};  ///< NAME=value, on top of holdfast's own
  int output = -1;                         ///< the descriptor that it has as stdout; -1: none
};

/// How a command is started.
struct command_start {
  std::vector<std::string> environment{};  ///< NAME=value, on top of holdfast's own
  release_program give_back{};
};

class guarded_command {
 public:
  struct start_options {
    std::span<char* const> words;  ///< without the closing null
    command_start start;
    on_lost policy;
    std::chrono::nanoseconds grace;
    /// For kill_at(): asked again and again until the command is executed, which a slow file system may delay
    /// beyond the present lease.
    std::function<std::chrono::nanoseconds()> latest_end;
  };

  /// Throws failure, with a shell's 126 or 127 when the command can't be executed; nothing runs then.
  guarded_command(start_options, signals const&, inherited_files const&);
  guarded_command(guarded_command const&) = delete;
  guarded_command& operator=(guarded_command const&) = delete;
  ~guarded_command();  ///< Kills the command if it still runs: it must not outlive an error here.

  /// The end of the command; empty while it runs. Once.
  [[nodiscard]] std::optional<command_end> poll();

  /// Reaps what has ended of all that the guard has left to us, but for what poll() waits for.
  void reap_rest() noexcept;

  /// Whether the command, and not holdfast, was stopped since the last call, and still is.
  [[nodiscard]] bool was_stopped() noexcept;

  /// Whether a signal that holdfast received went to the whole process group, hence to a command in it.
  [[nodiscard]] bool got_too(int signal) noexcept;

  /// Sends a signal that went to the whole group to a command that has made a group of its own, as timeout(1)
  /// does. Nothing to a command in ours, which has got it.
  void pass_to_own_group(int signal) const noexcept;

  /// Sends a signal that came to holdfast alone to the command (command_tree::part::front).
  void pass_on(int signal);

  /// SIGTERM to the command, which continues for it if it is stopped.
  command_tree::reach terminate() noexcept;
  /// SIGKILL to the command and all that it has started. To be repeated as long as there is a rest: a process
  /// may have started another one meanwhile.
  command_tree::reach kill() noexcept;
  /// Whether the command, or something that it has started, still runs. What it has left in the background
  /// counts too, but for daemons.
  [[nodiscard]] bool has_rest() noexcept;

  /// For a command that was told to end, and has ended: it may not have been able to do so.
  void restore_terminal() const noexcept { terminal_.restore(0); }

  /// Sets the time of CLOCK_BOOTTIME at which the command must be dead, even if holdfast is frozen. No effect
  /// with on_lost::warn.
  void kill_at(std::chrono::nanoseconds time) noexcept;
  /// Whether the guard has done so, or has begun to.
  [[nodiscard]] bool ended_by_guard() const noexcept { return board_->acted; }

 private:
  struct unmap {
    void operator()(guard_board*) const noexcept;
  };
  /// A file descriptor that is closed with its owner.
  class file {
   public:
    explicit file(int number = -1) noexcept : number_{number} {}
    ~file() { reset(); }
    file(file const&) = delete;
    file& operator=(file const&) = delete;
    void reset(int number = -1) noexcept;
    [[nodiscard]] int operator*() const noexcept { return number_; }

   private:
    int number_;
  };

  static std::unique_ptr<guard_board, unmap> new_board();
  /// The error that the guard or the command reports; 0 when the command was executed, or killed before.
  int read_report(int from, start_options const&);
  /// While the command waits for its execution, as on a slow file system.
  void follow_signals_at_start() const;

  std::unique_ptr<guard_board, unmap> board_ = new_board();
  command_tree tree_{board_->spared};
  terminal_state terminal_{};
  group_member member_{terminal_};  // before spare_present(): it is no part of the command
  on_lost policy_;
  file lifeline_{};
  pid_t guard_ = -1;           // -1: it has ended
  pid_t command_ = -1;         // -1: it has ended, and poll() has told so
  int passed_on_ = 0;          // the last signal
  std::vector<pid_t> told_{};  // that got it
};

}  // namespace holdfast::cli
