/// A program that a child process executes, prepared before the fork.
#pragma once

#include "process/inherited_files.hpp"
#include "process/signals.hpp"

#include <span>
#include <string>
#include <vector>

namespace holdfast::cli {

class prepared_program {
 public:
  /// `command` is without the closing null; `environment` has NAME=value, on top of holdfast's own.
  prepared_program(std::span<char* const> command, std::vector<std::string> environment);
  prepared_program(prepared_program const&) = delete;
  prepared_program& operator=(prepared_program const&) = delete;

  /// Replaces this process, which then has the inherited files only. Writes errno into `report` when that is
  /// not possible. Async-signal-safe.
  [[noreturn]] void execute(signals const&, inherited_files const&, int report) const noexcept;

  /// Throws failure, with a shell's 126 or 127, for the error that execute() reported.
  [[noreturn]] void refuse(int error) const;

 private:
  std::vector<std::string> additions_;
  std::vector<char*> arguments_;
  std::vector<char*> environment_;  // points into `additions_` and the environment of holdfast
};

}  // namespace holdfast::cli
