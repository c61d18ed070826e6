#include "top/signals.hpp"

#include <poll.h>
#include <pthread.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>

namespace holdfast::cli {
namespace {

sigset_t signals_to_take() {
  sigset_t taken{};
  sigemptyset(&taken);
  for (int const signal : {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE, SIGTSTP, SIGCONT, SIGWINCH}) {
    sigaddset(&taken, signal);
  }
  return taken;
}

int file_to_read(sigset_t const& taken) {
  int const file = signalfd(-1, &taken, SFD_CLOEXEC | SFD_NONBLOCK);
  if (file < 0) throw std::system_error{errno, std::generic_category(), "signalfd"};
  return file;
}

}  // namespace

top_signals::top_signals() : taken_{signals_to_take()}, file_{file_to_read(taken_)} {
  pthread_sigmask(SIG_BLOCK, &taken_, &before_);
}

top_signals::~top_signals() {
  close(file_);
  // A pending signal ends the program now, as it should.
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

top_signals::event top_signals::wait(std::chrono::milliseconds const at_most) const {
  std::array<pollfd, 2> files{
      {{.fd = file_, .events = POLLIN, .revents = 0}, {.fd = STDIN_FILENO, .events = POLLIN, .revents = 0}}};
  if (poll(files.data(), files.size(), static_cast<int>(at_most.count())) <= 0) return {};
  signalfd_siginfo info{};
  if (read(file_, &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
    switch (auto const signal = static_cast<int>(info.ssi_signo)) {
      case SIGWINCH:
        return {.type = kind::resized};
      case SIGTSTP:
        return {.type = kind::stop};
      case SIGCONT:
        return {.type = kind::continued};
      default:
        return {.type = kind::end, .signal = signal};
    }
  }
  // A closed terminal would report events without end.
  if ((files[1].revents & (POLLHUP | POLLERR | POLLNVAL)) != 0) return {.type = kind::end, .signal = SIGHUP};
  return {.type = kind::input};
}

void top_signals::stop_here() const {
  sigset_t stop{};
  sigemptyset(&stop);
  sigaddset(&stop, SIGTSTP);
  raise(SIGTSTP);
  pthread_sigmask(SIG_UNBLOCK, &stop, nullptr);
  pthread_sigmask(SIG_BLOCK, &stop, nullptr);
}

}  // namespace holdfast::cli
