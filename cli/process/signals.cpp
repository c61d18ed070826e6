#include "process/signals.hpp"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>

namespace holdfast::cli {
namespace {

/// With SIGCONT, which can't be ignored.
constexpr std::array passed_on{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGWINCH, SIGTSTP};

}  // namespace

signals::signals() {
  sigemptyset(&taken_);
  sigaddset(&taken_, SIGCHLD);
  sigaddset(&taken_, SIGCONT);
  sigaddset(&taken_, SIGRTMIN);
  // Ignored signals stay ignored (nohup; background jobs of a script ignore ^C): blocked, they would be
  // received here.
  for (int const signal : passed_on) {
    if (!is_ignored(signal)) sigaddset(&taken_, signal);
  }
  pthread_sigmask(SIG_BLOCK, &taken_, &mask_before_);

  // If SIGCHLD were ignored, the kernel would discard the command's exit code.
  struct sigaction plain{};
  plain.sa_handler = SIG_DFL;
  sigaction(SIGCHLD, &plain, &chld_before_);
  // The loss of the reader of stderr must not end the process that watches the lock.
  plain.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &plain, &pipe_before_);

  sigevent event{};
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = SIGRTMIN;
  if (timer_create(CLOCK_BOOTTIME, &event, &timer_) != 0) {
    throw std::system_error{errno, std::generic_category(), "timer_create"};
  }
}

signals::~signals() { timer_delete(timer_); }

int signals::wait() const {
  for (;;) {
    int const signal = sigwaitinfo(&taken_, nullptr);
    if (signal == SIGRTMIN) return 0;
    if (signal > 0) {
      was_told_to_end = was_told_to_end || is_ending(signal);
      return signal;
    }
    if (errno != EINTR) throw std::system_error{errno, std::generic_category(), "sigwaitinfo"};
  }
}

void signals::wake_in(std::chrono::nanoseconds const delay) const {
  // A zero would disarm the timer.
  auto const positive = std::max(delay, std::chrono::nanoseconds{1});
  auto const seconds = std::chrono::floor<std::chrono::seconds>(positive);
  itimerspec expiry{};
  expiry.it_value.tv_sec = static_cast<time_t>(seconds.count());
  expiry.it_value.tv_nsec = static_cast<long>((positive - seconds).count());
  timer_settime(timer_, 0, &expiry, nullptr);
}

void signals::wake() noexcept { kill(getpid(), SIGRTMIN); }

void signals::forget(int const signal) noexcept {
  sigset_t dropped{};
  sigemptyset(&dropped);
  sigaddset(&dropped, signal);
  constexpr timespec at_once{};
  static_cast<void>(sigtimedwait(&dropped, nullptr, &at_once));
}

void signals::stop_here() {
  if (is_ignored(SIGTSTP) || is_pending(SIGCONT)) return;
  raise(SIGTSTP);
  default_actions const stop{SIGTSTP};
}

void signals::restore_in_child() const noexcept {
  sigaction(SIGCHLD, &chld_before_, nullptr);
  sigaction(SIGPIPE, &pipe_before_, nullptr);
  pthread_sigmask(SIG_SETMASK, &mask_before_, nullptr);
}

bool signals::is_ignored(int const signal) noexcept {
  struct sigaction current{};
  sigaction(signal, nullptr, &current);
  return current.sa_handler == SIG_IGN;
}

bool signals::is_pending(int const signal) noexcept {
  sigset_t pending{};
  sigpending(&pending);
  return sigismember(&pending, signal) == 1;
}

bool signals::is_ending(int const signal) noexcept { return std::ranges::count(ending, signal) != 0; }

default_actions::default_actions(std::initializer_list<int> const numbers) {
  sigset_t unblocked{};
  sigemptyset(&unblocked);
  for (int const signal : numbers) sigaddset(&unblocked, signal);
  pthread_sigmask(SIG_UNBLOCK, &unblocked, &before_);
}

default_actions::~default_actions() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

}  // namespace holdfast::cli
