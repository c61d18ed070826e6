/// Ended children that nobody else waits for. A subreaper gets what its descendants leave behind.
#pragma once

#include <sys/wait.h>

namespace holdfast::cli {

/// Reaps ended children, and calls `gone` with the id of each before its id can be given again. Stops at one
/// that `is_awaited` says is waited for elsewhere: look again after that. Async-signal-safe.
template <class IsAwaited, class Gone>
void reap_orphans(IsAwaited is_awaited, Gone gone) noexcept {
  for (;;) {
    siginfo_t child{};
    if (waitid(P_ALL, 0, &child, WEXITED | WNOHANG | WNOWAIT) != 0 || child.si_pid == 0) return;
    if (is_awaited(child.si_pid)) return;
    gone(child.si_pid);
    waitpid(child.si_pid, nullptr, 0);
  }
}

/// All of them: for times at which this process waits for no child.
inline void reap_orphans() noexcept {
  reap_orphans([](pid_t) { return false; }, [](pid_t) {});
}

}  // namespace holdfast::cli
