/// The file descriptors that a child process may have.
#pragma once

#include <vector>

namespace holdfast::cli {

/// The file descriptors that are open at the start of the process. The command inherits these, and none that
/// holdfast opens later, such as the connection to Redis.
class inherited_files {
 public:
  inherited_files();

  /// Closes all descriptors except the standard ones, the inherited ones and `keep`. Async-signal-safe.
  void close_others(int keep) const noexcept;
  /// Closes the standard ones. Async-signal-safe.
  static void close_standard() noexcept;
  /// Closes all descriptors except the standard ones and those to keep. Async-signal-safe.
  static void close_all(int keep) noexcept { close_all(keep, keep); }
  static void close_all(int keep, int keep_too) noexcept;

 private:
  std::vector<int> open_;  // sorted
};

}  // namespace holdfast::cli
