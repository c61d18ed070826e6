/// The command under the lock: started in a process group of its own, signalled as a group.
#pragma once

#include "process/signals.hpp"
#include "process/terminal.hpp"

#include <sys/types.h>

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace holdfast::cli {

/// The file descriptors that are open at the start of the process. The command inherits these, and none that
/// holdfast opens later, such as the connection to Redis.
class inherited_files {
 public:
  inherited_files();

  /// Closes all descriptors except the standard ones, the inherited ones and `keep`. Async-signal-safe.
  void close_others(int keep) const noexcept;
  /// Closes all descriptors except the standard ones and `keep`. Async-signal-safe.
  static void close_all(int keep) noexcept;

 private:
  std::vector<int> open_;  // sorted
};

/// A change of state of the command.
struct child_state {
  enum class kind { exited, killed, stopped } change;
  int number;  ///< the exit code, or the signal
};

class child {
 public:
  struct start_options {
    std::span<char* const> command;        ///< without the closing null
    std::vector<std::string> environment;  ///< NAME=value, on top of holdfast's own
  };

  /// Creates the process and its group, which wait for start(). The guard can thus be created before the
  /// command runs. Throws failure.
  child(start_options const&, signals const&, terminal const&, inherited_files const&);
  child(child const&) = delete;
  child& operator=(child const&) = delete;
  ~child();  ///< Kills the group if the command still runs: it must not outlive an error here.

  /// Lets the command run. Throws failure, with a shell's 126 or 127, when it can't be executed.
  void start(terminal const&);

  /// The change since the last call; empty if there is none. `exited` and `killed` are final.
  [[nodiscard]] std::optional<child_state> poll();

  /// Sends the signal to the whole group. No effect after the group has ended.
  void signal(int number) const noexcept;

  /// Whether any process of the group is left.
  [[nodiscard]] bool group_exists() const noexcept;

  [[nodiscard]] pid_t group() const noexcept { return pid_; }

 private:
  std::string name_;
  pid_t pid_ = -1;
  int to_child_ = -1;  // until the command has started
  bool running_ = false;
};

}  // namespace holdfast::cli
