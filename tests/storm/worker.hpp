/// A client in a process of its own: some threads that use locks of random kinds, until SIGTERM.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace holdfast::storm {

struct worker_task {
  std::string url{};
  std::string history{};
  std::string board{};
  std::string kinds{};  ///< see offer_of()
  std::uint64_t seed = 0;
  int threads = 3;    ///< that stroll
  int sprinters = 0;  ///< besides: see pace
  /// It lasts: no exit(), no fork(); and it measures itself, for that place on the board. Below 0: it
  /// doesn't.
  int measured_as = -1;
};

/// The command that runs it: this program, started again.
[[nodiscard]] std::vector<std::string> command_of(worker_task const& task);

/// To be called first in main(): if this process was started as a worker, runs it and exits. 0: it has ended
/// by SIGTERM, or by exit() at a moment that it chose. 3: something happened that must not, and stderr says
/// what.
void run_worker_if_requested(int argc, char** argv);

}  // namespace holdfast::storm
