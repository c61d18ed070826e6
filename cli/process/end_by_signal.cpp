#include "process/end_by_signal.hpp"

#include "common/exit_codes.hpp"
#include "process/signals.hpp"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>

namespace holdfast::cli {

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

}  // namespace holdfast::cli
