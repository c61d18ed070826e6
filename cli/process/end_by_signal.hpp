/// The end of holdfast by a signal.
#pragma once

#include "process/signals.hpp"

#include <signal.h>

#include <array>

namespace holdfast::cli {

/// Ends this process by the signal, as far as others can see: a shell then ends a script at ^C, where it
/// would go on after an exit code. Leaves no core. Returns a shell's exit code for the signal if it doesn't
/// end the process, as in the first process of a container.
[[nodiscard]] int end_by_signal(int signal) noexcept;

/// For as long as it lives, signals::ending end this process as end_by_signal() does, also the first process
/// of a container, whose default actions the kernel leaves out. For steps that signals::wait() would not
/// interrupt, and that leave nothing behind. Ignored signals stay ignored. For one thread at a time.
class endable_by_signals {
 public:
  endable_by_signals();
  ~endable_by_signals();
  endable_by_signals(endable_by_signals const&) = delete;
  endable_by_signals& operator=(endable_by_signals const&) = delete;

 private:
  std::array<struct sigaction, signals::ending.size()> actions_before_{};
  sigset_t mask_before_{};
};

}  // namespace holdfast::cli
