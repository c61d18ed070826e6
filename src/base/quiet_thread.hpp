/// Threads that receive none of the program's signals.
#pragma once

#include <pthread.h>

#include <csignal>
#include <thread>
#include <utility>

namespace holdfast {

/// While it lives, blocks all signals for this thread and the threads that it starts.
class signals_blocked {
 public:
  signals_blocked() noexcept {
    sigset_t all{};
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~signals_blocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  signals_blocked(signals_blocked const&) = delete;
  signals_blocked& operator=(signals_blocked const&) = delete;

 private:
  sigset_t before_{};
};

/// Throws std::system_error when the process may have no more threads.
template <class F>
[[nodiscard]] std::thread start_quiet_thread(F f) {
  signals_blocked const meanwhile;
  return std::thread{std::move(f)};
}

/// Advice for the error message of that exception.
inline constexpr auto advice_about_threads =
    "raise the number of threads that this process may have (ulimit -u, pids.max of its cgroup), or end "
    "others";

}  // namespace holdfast
