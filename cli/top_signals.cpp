#include "top_signals.hpp"

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
  // One that came meanwhile ends the program now, as it should.
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

top_signals::event top_signals::wait(std::chrono::milliseconds const at_most) const {
  std::array<pollfd, 2> files{
      {{.fd = file_, .events = POLLIN, .revents = 0}, {.fd = STDIN_FILENO, .events = POLLIN, .revents = 0}}};
  if (poll(files.data(), files.size(), static_cast<int>(at_most.count())) <= 0) return {};
  signalfd_siginfo came{};
  if (read(file_, &came, sizeof came) == static_cast<ssize_t>(sizeof came)) {
    switch (auto const signal = static_cast<int>(came.ssi_signo)) {
      case SIGWINCH:
        return {.what = kind::resized};
      case SIGTSTP:
        return {.what = kind::stop};
      case SIGCONT:
        return {.what = kind::continued};
      default:
        return {.what = kind::end, .signal = signal};
    }
  }
  // A terminal that is gone tells nothing more: there would be no end to it.
  if ((files[1].revents & (POLLHUP | POLLERR | POLLNVAL)) != 0) return {.what = kind::end, .signal = SIGHUP};
  return {.what = kind::input};
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
