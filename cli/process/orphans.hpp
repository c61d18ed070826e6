/// Ended children that nobody else waits for. A subreaper gets what its descendants leave behind.
#pragma once

#include <sys/wait.h>

namespace holdfast::cli {

/// Reaps ended children. Stops at one that `is_awaited` says is waited for elsewhere: look again after that.
/// Async-signal-safe.
template <class IsAwaited>
void reap_orphans(IsAwaited is_awaited) noexcept {
  for (;;) {
    siginfo_t child{};
    if (waitid(P_ALL, 0, &child, WEXITED | WNOHANG | WNOWAIT) != 0 || child.si_pid == 0) return;
    if (is_awaited(child.si_pid)) return;
    waitpid(child.si_pid, nullptr, 0);
  }
}

/// All of them: for times at which this process waits for no child.
inline void reap_orphans() noexcept {
  reap_orphans([](pid_t) { return false; });
}

}  // namespace holdfast::cli
