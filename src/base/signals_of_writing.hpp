/// What a write may end or stop the process by.
#pragma once

#include <csignal>
#include <ctime>

namespace holdfast {

/// While it lives, a write of this thread to a pipe that was closed, or beyond the limit of a file's size,
/// fails without a signal, and one to a terminal with `stty tostop` from the background succeeds.
class held_back_signals_of_writing {
 public:
  held_back_signals_of_writing() noexcept {
    ::sigemptyset(&dropped_);
    ::sigaddset(&dropped_, SIGPIPE);
    ::sigaddset(&dropped_, SIGXFSZ);
    sigset_t pending;
    ::sigpending(&pending);
    for (int const signal : {SIGPIPE, SIGXFSZ}) {
      if (::sigismember(&pending, signal) == 1) ::sigdelset(&dropped_, signal);  // another write's
    }
    auto blocked = dropped_;
    ::sigaddset(&blocked, SIGTTOU);  // the terminal doesn't send it then
    ::pthread_sigmask(SIG_BLOCK, &blocked, &before_);
  }
  ~held_back_signals_of_writing() {
    timespec const at_once{};
    while (::sigtimedwait(&dropped_, nullptr, &at_once) > 0) {
    }
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  held_back_signals_of_writing(held_back_signals_of_writing const&) = delete;
  held_back_signals_of_writing& operator=(held_back_signals_of_writing const&) = delete;

 private:
  sigset_t dropped_{};
  sigset_t before_{};
};

}  // namespace holdfast
