#include "run/end_of_input.hpp"

#include "process/signals.hpp"

#include <signal.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <thread>

namespace holdfast::cli {
namespace {

constexpr std::chrono::milliseconds pause_in_background{500};

bool is_dev_null(int const file) {
  struct stat facts{};
  return fstat(file, &facts) == 0 && S_ISCHR(facts.st_mode) && facts.st_rdev == makedev(1, 3);
}

}  // namespace

end_of_input::end_of_input() {
  if (is_dev_null(STDIN_FILENO)) return;
  std::thread{[come = come_] {
    // A job in the background isn't stopped for reading the terminal: it gets EIO until it is in the
    // foreground.
    sigset_t reads_in_background{};
    sigemptyset(&reads_in_background);
    sigaddset(&reads_in_background, SIGTTIN);
    pthread_sigmask(SIG_BLOCK, &reads_in_background, nullptr);
    std::array<char, 4096> ignored{};
    for (;;) {
      auto const size = read(STDIN_FILENO, ignored.data(), ignored.size());
      if (size > 0 || (size < 0 && errno == EINTR)) continue;
      if (size == 0 || errno != EIO) break;
      std::this_thread::sleep_for(pause_in_background);
    }
    *come = true;
    signals::wake();
  }}.detach();
}

}  // namespace holdfast::cli
