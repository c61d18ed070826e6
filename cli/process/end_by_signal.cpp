#include "process/end_by_signal.hpp"

#include "common/exit_codes.hpp"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

namespace holdfast::cli {
namespace {

/// Async-signal-safe, as end_by_signal() makes system calls alone.
void on_ending_signal(int const signal) { _exit(end_by_signal(signal)); }

}  // namespace

int end_by_signal(int const signal) noexcept {
  // The core of interest is the command's. The limit alone doesn't keep the kernel from piping ours to a
  // program (core(5)).
  rlimit const none{.rlim_cur = 0, .rlim_max = 0};
  setrlimit(RLIMIT_CORE, &none);
  prctl(PR_SET_DUMPABLE, 0);
  struct sigaction plain{};
  plain.sa_handler = SIG_DFL;
  sigaction(signal, &plain, nullptr);
  raise(signal);
  default_actions const end{signal};
  return by_signal + signal;
}

endable_by_signals::endable_by_signals() {
  struct sigaction end{};
  end.sa_handler = on_ending_signal;
  sigset_t unblocked{};
  sigemptyset(&unblocked);
  auto before = actions_before_.begin();
  for (int const signal : signals::ending) {
    sigaddset(&unblocked, signal);
    sigaction(signal, signals::is_ignored(signal) ? nullptr : &end, &*before++);
  }
  pthread_sigmask(SIG_UNBLOCK, &unblocked, &mask_before_);
}

endable_by_signals::~endable_by_signals() {
  pthread_sigmask(SIG_SETMASK, &mask_before_, nullptr);
  auto before = actions_before_.begin();
  for (int const signal : signals::ending) sigaction(signal, &*before++, nullptr);
}

}  // namespace holdfast::cli
