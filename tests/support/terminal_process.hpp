/// A program run by a test on a terminal of its own: typed to, and what it shows read.
#pragma once

#include "support/process.hpp"

#include <chrono>
#include <optional>
#include <string>

#include <sys/types.h>

namespace holdfast::test {

/// Its three standard files are the terminal, which echoes. It ends with its terminal, at the latest when the
/// object goes.
class terminal_process {
 public:
  explicit terminal_process(words const& command);
  ~terminal_process();
  terminal_process(terminal_process const&) = delete;
  terminal_process& operator=(terminal_process const&) = delete;

  void type(std::string const& text) const;
  /// All that it has shown so far.
  [[nodiscard]] std::string const& shown();
  /// Its exit code, or 128 + the signal that ended it; throws when it is late.
  int wait(std::chrono::nanoseconds within = std::chrono::seconds{40});

 private:
  pid_t pid_ = -1;
  int terminal_ = -1;
  std::string shown_{};
};

}  // namespace holdfast::test
