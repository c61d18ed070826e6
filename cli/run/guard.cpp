#include "run/guard.hpp"

#include "common/boot_time.hpp"
#include "common/exit_codes.hpp"
#include "process/child.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <new>
#include <string>

namespace holdfast::cli {
namespace {

using std::chrono::nanoseconds;

/// Waits until `time`, or until the lifeline becomes readable. Async-signal-safe.
enum class guard_event { time_is_up, lifeline };
guard_event wait_until(nanoseconds const time, int const timer, int const lifeline) noexcept {
  auto const positive = std::max(time, nanoseconds{1});
  auto const seconds = std::chrono::floor<std::chrono::seconds>(positive);
  itimerspec expiry{};
  expiry.it_value.tv_sec = static_cast<time_t>(seconds.count());
  expiry.it_value.tv_nsec = static_cast<long>((positive - seconds).count());
  // A timer on CLOCK_BOOTTIME, because a time-out of poll stands still while the machine is suspended.
  timerfd_settime(timer, TFD_TIMER_ABSTIME, &expiry, nullptr);
  std::array<pollfd, 2> files{
      {{.fd = timer, .events = POLLIN, .revents = 0}, {.fd = lifeline, .events = POLLIN, .revents = 0}}};
  while (poll(files.data(), files.size(), -1) < 0) {
  }
  return files[1].revents != 0 ? guard_event::lifeline : guard_event::time_is_up;
}

[[noreturn]] void kill_group(pid_t const group) noexcept {
  kill(-group, SIGKILL);
  _exit(ok);
}

}  // namespace

guard::guard(pid_t const group, on_lost const policy, nanoseconds const grace, nanoseconds const kill_at) {
  if (policy == on_lost::warn) return;
  auto const fail = [](char const* call) {
    char const* const reason = std::strerror(errno);
    throw failure{internal, std::string{"the command can't be guarded: "} + call + ": " + reason};
  };
  void* const memory =
      mmap(nullptr, sizeof(shared_time), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) fail("mmap");
  kill_at_ = new (memory) shared_time{kill_at.count()};
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) fail("pipe");
  pid_ = fork();
  if (pid_ == 0) {
    // Only async-signal-safe calls from here on.
    setpgid(0, group);
    sigset_t all{};
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, nullptr);
    for (int const standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) close(standard);
    inherited_files::close_all(ends[0]);
    watch(ends[0], group, policy, grace, *kill_at_);
  }
  close(ends[0]);
  lifeline_ = ends[1];
  if (pid_ < 0) fail("fork");
}

guard::~guard() {
  if (pid_ < 0) return;
  // A byte means a regular end; a close without a byte means that holdfast died.
  static_cast<void>(!write(lifeline_, "", 1));
  close(lifeline_);
  // A SIGSTOP to the group has stopped the guard too.
  kill(pid_, SIGCONT);
  waitpid(pid_, nullptr, 0);
  munmap(kill_at_, sizeof(shared_time));
}

void guard::kill_at(nanoseconds const time) noexcept {
  if (kill_at_ != nullptr) kill_at_->store(time.count(), std::memory_order_relaxed);
}

void guard::watch(int const lifeline, pid_t const group, on_lost const policy, nanoseconds const grace,
                  shared_time const& kill_at) noexcept {
  int const timer = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC);
  for (;;) {
    nanoseconds const time{kill_at.load(std::memory_order_relaxed)};
    if (time <= boot_time()) kill_group(group);
    if (wait_until(time, timer, lifeline) == guard_event::time_is_up) continue;
    char word = 0;
    if (read(lifeline, &word, 1) == 1) _exit(ok);
    if (policy == on_lost::kill) kill_group(group);
    kill(-group, SIGTERM);
    kill(-group, SIGCONT);
    constexpr int no_file = -1;  // ignored by poll: the other end of the lifeline is closed
    static_cast<void>(wait_until(std::min(time, boot_time() + grace), timer, no_file));
    kill_group(group);
  }
}

}  // namespace holdfast::cli
