/// A program that a test runs on a terminal of its own: the test types into it and reads its output.
#pragma once

#include "support/process.hpp"

#include <chrono>
#include <optional>
#include <string>

#include <sys/types.h>

namespace holdfast::test {

/// Its three standard files are the terminal, which echoes. The program ends with its terminal, at the latest
/// when the object is destroyed.
class terminal_process {
 public:
  explicit terminal_process(words const& command);
  ~terminal_process();
  terminal_process(terminal_process const&) = delete;
  terminal_process& operator=(terminal_process const&) = delete;

  void type(std::string const& text) const;
  /// All output so far.
  [[nodiscard]] std::string const& shown();
  /// Its exit code, or 128 + the signal that ended it; throws if it doesn't end in time.
  int wait(std::chrono::nanoseconds within = std::chrono::seconds{40});

 private:
  pid_t pid_ = -1;
  int terminal_ = -1;
  std::string output_{};
};

}  // namespace holdfast::test
