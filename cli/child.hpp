/// The command under the lock: started in a process group of its own, signalled as a group.
#pragma once

#include "signals.hpp"
#include "terminal.hpp"

#include <sys/types.h>

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace holdfast::cli {

/// The file descriptors that a process has. Remembered first thing, so that the command inherits these and
/// none that holdfast opened since, above all not the connection to Redis.
class inherited_files {
 public:
  inherited_files();

  /// Closes all but the standard ones, those inherited, and `keep`. Async-signal-safe.
  void close_others(int keep) const noexcept;
  /// Closes all but the standard ones. Async-signal-safe.
  static void close_all(int keep) noexcept;

 private:
  std::vector<int> open_;  // sorted
};

/// What has become of it.
struct child_state {
  enum class kind { exited, killed, stopped } what;
  int number;  ///< the exit code, or the signal
};

class child {
 public:
  struct start_options {
    std::span<char* const> command;        ///< without the closing null
    std::vector<std::string> environment;  ///< NAME=value, on top of holdfast's own
  };

  /// Makes its process and group, which wait for start(): whatever is to watch over them is there before the
  /// command is. Throws failure.
  child(start_options const&, signals const&, terminal const&, inherited_files const&);
  child(child const&) = delete;
  child& operator=(child const&) = delete;
  ~child();  ///< Kills the group if the command still runs: nothing of it may outlive an error here.

  /// Lets the command run. Throws failure, with a shell's 126 or 127, when it can't be executed.
  void start(terminal const&);

  /// What changed since the last call; empty when nothing did. After `exited` or `killed` it has ended.
  [[nodiscard]] std::optional<child_state> poll();

  /// Sends it to the whole group. Nothing once the group is gone.
  void signal(int number) const noexcept;

  /// Is any process of the group left?
  [[nodiscard]] bool group_exists() const noexcept;

  [[nodiscard]] pid_t group() const noexcept { return pid_; }

 private:
  std::string name_;
  pid_t pid_ = -1;
  int to_child_ = -1;  // until it has started
  bool running_ = false;
};

}  // namespace holdfast::cli
