#include "run/guard.hpp"

#include "common/boot_time.hpp"
#include "common/exit_codes.hpp"
#include "process/orphans.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace holdfast::cli {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

constexpr nanoseconds first_pause = 5ms;
constexpr nanoseconds longest_pause = 1s;
/// From a SIGKILL until the lifeline is closed: holdfast has threads, and may be about to write.
constexpr nanoseconds longest_death = 1s;

/// Only async-signal-safe calls: the process was forked from one with threads.
class guard_process {
 public:
  guard_process(guard_duty const& duty, guard_board& board, pid_t const command) noexcept
      : duty_{duty}, board_{board}, command_{command}, tree_{board.spared, duty.started_in} {
    tree_.set_command(command);
    sigset_t ends{};
    sigemptyset(&ends);
    sigaddset(&ends, SIGCHLD);
    children_ = signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK);
  }

  [[noreturn]] void watch() noexcept {
    for (;;) {
      if (command_has_ended()) {
        if (was_killed_with_holdfast()) holdfast_has_died();
        leave();
      }
      auto const end = kill_time();
      if (end <= boot_time()) end_command();
      if (wait_until(end, duty_.lifeline) && holdfast_is_dead()) holdfast_has_died();
    }
  }

 private:
  /// As long as holdfast lives it can put the time off, or bring it forward.
  [[nodiscard]] nanoseconds kill_time() const noexcept { return nanoseconds{board_.kill_at.load()}; }

  /// True when `file` (-1: none) became readable. Returns early when a child changes its state.
  bool wait_until(nanoseconds const time, int const file) const noexcept {
    auto const positive = std::max(time, nanoseconds{1});
    auto const seconds = std::chrono::floor<std::chrono::seconds>(positive);
    itimerspec expiry{};
    expiry.it_value.tv_sec = static_cast<time_t>(seconds.count());
    expiry.it_value.tv_nsec = static_cast<long>((positive - seconds).count());
    timerfd_settime(timer_, TFD_TIMER_ABSTIME, &expiry, nullptr);
    std::array<pollfd, 3> files{{{.fd = timer_, .events = POLLIN, .revents = 0},
                                 {.fd = children_, .events = POLLIN, .revents = 0},
                                 {.fd = file, .events = POLLIN, .revents = 0}}};
    while (poll(files.data(), files.size(), -1) < 0) {
    }
    signalfd_siginfo ignored{};
    while (read(children_, &ignored, sizeof ignored) > 0) {
    }
    return files[2].revents != 0;
  }

  /// Reaps orphans, but not the command, whose exit code is for holdfast.
  bool command_has_ended() noexcept {
    bool ended = false;
    reap_orphans([&](pid_t const id) { return ended = id == command_; });
    if (ended) {
      tree_.set_command_ended();
      return true;
    }
    siginfo_t stop{};
    if (waitid(P_PID, static_cast<id_t>(command_), &stop, WSTOPPED | WNOHANG) == 0 &&
        stop.si_pid == command_) {
      board_.stopped = true;
      if (getppid() == duty_.holdfast) kill(duty_.holdfast, SIGRTMIN);  // as signals::wake() does
    }
    return false;
  }

  /// By the lifeline: holdfast is still our parent for a moment after its end has closed that. What comes
  /// over it has only woken us.
  [[nodiscard]] bool holdfast_is_dead() const noexcept {
    std::array<char, 16> ignored{};
    ssize_t size = 0;
    do {
      size = recv(duty_.lifeline, ignored.data(), ignored.size(), MSG_DONTWAIT);
    } while (size > 0);
    return size == 0 || errno == ECONNRESET;
  }

  /// A SIGKILL to the group ends holdfast and the command, but nothing that works in another group.
  [[nodiscard]] bool was_killed_with_holdfast() noexcept {
    siginfo_t end{};
    if (waitid(P_PID, static_cast<id_t>(command_), &end, WEXITED | WNOHANG | WNOWAIT) != 0 ||
        end.si_code != CLD_KILLED || end.si_status != SIGKILL)
      return false;
    auto const latest = std::min(boot_time() + longest_death, kill_time());
    for (;;) {
      tree_.look();
      if (tree_.is_empty()) return false;
      if (holdfast_is_dead()) return true;
      auto const now = boot_time();
      if (now >= latest) return false;
      wait_until(std::min(latest, now + first_pause), duty_.lifeline);
    }
  }

  /// The lock stays while something of the command is at work, as another user's process that can't be
  /// killed.
  [[noreturn]] void leave() noexcept {
    bool const alone = holdfast_is_dead();
    if (alone && told_to_end_) {
      reap_orphans();  // a group in the foreground whose zombies these are has ended
      duty_.member.restore_terminal(command_);
    }
    if (alone && duty_.give_back != nullptr) {
      tree_.look();
      if (tree_.is_empty()) duty_.give_back->execute(duty_.mask, duty_.files, no_file);
    }
    _exit(ok);
  }

  /// Exits when the command has ended and nothing is left that can be killed.
  [[noreturn]] void end_command() noexcept {
    board_.acted = true;
    told_to_end_ = true;
    tree_.spare_daemons();
    for (auto pause = first_pause;; pause = std::min(pause * 2, longest_pause)) {
      auto const reached = tree_.send(SIGKILL, command_tree::part::all);
      if (command_has_ended() && reached.processes == 0) leave();
      wait_until(boot_time() + pause, no_file);
    }
  }

  [[noreturn]] void holdfast_has_died() noexcept {
    if (duty_.policy == on_lost::warn) _exit(ok);
    if (duty_.policy == on_lost::kill) end_command();
    told_to_end_ = true;
    tree_.spare_daemons();
    tree_.send(SIGTERM, command_tree::part::front);
    tree_.send(SIGCONT, command_tree::part::front);
    auto const end = std::min(kill_time(), boot_time() + duty_.grace);
    while (boot_time() < end) {
      static_cast<void>(command_has_ended());
      tree_.look();
      if (tree_.is_empty()) leave();
      wait_until(end, no_file);
    }
    end_command();
  }

  static constexpr int no_file = -1;  // which poll ignores

  guard_duty const& duty_;
  guard_board& board_;
  pid_t command_;
  bool told_to_end_ = false;  // the command, by us
  command_tree tree_;
  int children_ = -1;
  // Time-outs of poll stand still while the machine is suspended.
  int timer_ = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC);
};

[[noreturn]] void report_and_exit(guard_duty const& duty, int const error) noexcept {
  static_cast<void>(!write(duty.report, &error, sizeof error));
  _exit(internal);
}

/// Not before the guard has left the group: a SIGKILL to that must not leave the command alone.
[[noreturn]] void be_command(guard_duty const& duty, std::array<int, 2> const& gate) noexcept {
  close(gate[1]);
  char opened = 0;
  if (read(gate[0], &opened, 1) != 1) _exit(internal);  // the guard was killed
  duty.program.execute(duty.mask, duty.files, duty.report);
}

}  // namespace

void be_guard(guard_duty const& duty, guard_board& board) noexcept {
  sigset_t all{};
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, nullptr);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  std::array<int, 2> gate{};
  if (pipe2(gate.data(), O_CLOEXEC) != 0) report_and_exit(duty, errno);
  // Not fork(): that runs the handlers of libraries, which aren't for the child of a program with threads.
  auto const command = _Fork();
  if (command == 0) {
    board.command = getpid();
    be_command(duty, gate);
  }
  if (command < 0) report_and_exit(duty, errno);
  board.command = command;
  // Out of the group, where a SIGKILL or SIGSTOP for all of it would end the watch. A session of its own:
  // with a parent in another group of its session the job would never be orphaned, and ^Z would stop it where
  // no shell can continue it.
  setsid();
  prctl(PR_SET_NAME, guard_name);
  duty.member.forget_signals();
  static_cast<void>(!write(gate[1], "", 1));
  // Readers of the command's output would wait for us.
  inherited_files::close_standard();
  if (duty.give_back_output >= 0) dup2(duty.give_back_output, STDOUT_FILENO);
  inherited_files::close_all(duty.lifeline, duty.member.line());
  guard_process{duty, board, command}.watch();
}

}  // namespace holdfast::cli
