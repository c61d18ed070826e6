#include "run/pause.hpp"

#include "common/boot_time.hpp"
#include "common/output.hpp"
#include "process/orphans.hpp"

#include <signal.h>

#include <algorithm>

namespace holdfast::cli {

int sleep_until(std::chrono::nanoseconds const time, signals const& receiver) {
  using namespace std::chrono_literals;
  for (;;) {
    auto const remaining = time - boot_time();
    if (remaining <= 0ns) return 0;
    reap_orphans();
    receiver.wake_in(std::min(remaining, output::write_kept()));
    int const signal = receiver.wait();
    if (signal == SIGTSTP) signals::stop_here();
    if (signals::is_ending(signal)) return signal;
  }
}

}  // namespace holdfast::cli
