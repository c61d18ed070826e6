#include "run/group_member.hpp"

#include "common/exit_codes.hpp"
#include "process/inherited_files.hpp"
#include "run/can_not_start.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>

namespace holdfast::cli {
namespace {

/// A signal to a group or to a whole cgroup, and one to holdfast and then to its group (timeout), may reach
/// holdfast a moment earlier.
constexpr timespec longest_delay_in_a_group{.tv_sec = 0, .tv_nsec = 20'000'000};
/// A member that doesn't answer for so long is taken for stopped.
constexpr int answer_limit_ms = 1000;

enum class task : std::uint8_t { tell_signal, forget_signals, restore_terminal };

struct request {
  task kind;
  int number;  ///< a signal, or the id of the command

  bool operator==(request const&) const = default;
};

struct response {
  request to;
  bool yes;
};

bool has_got(int const signal) noexcept {
  sigset_t asked{};
  sigemptyset(&asked);
  sigaddset(&asked, signal);
  return sigtimedwait(&asked, nullptr, &longest_delay_in_a_group) == signal;
}

void drop_all_signals() noexcept {
  sigset_t all{};
  sigfillset(&all);
  constexpr timespec at_once{};
  while (sigtimedwait(&all, nullptr, &at_once) > 0) {
  }
}

/// Only async-signal-safe calls: the process was forked from one with threads.
[[noreturn]] void be_member(int const line, terminal_state const& terminal) noexcept {
  sigset_t all{};
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, nullptr);
  // What is sent to all processes of holdfast's name is not sent to the group.
  prctl(PR_SET_NAME, "lock-group");
  inherited_files::close_standard();
  inherited_files::close_all(line);
  for (;;) {
    request asked{};
    auto const size = recv(line, &asked, sizeof asked, 0);
    if (size < 0 && errno == EINTR) continue;
    if (size != static_cast<ssize_t>(sizeof asked)) _exit(ok);
    response answer{.to = asked, .yes = true};
    if (asked.kind == task::tell_signal) answer.yes = has_got(asked.number);
    if (asked.kind == task::forget_signals) drop_all_signals();
    if (asked.kind == task::restore_terminal) terminal.restore(asked.number);
    static_cast<void>(send(line, &answer, sizeof answer, MSG_NOSIGNAL));
  }
}

bool ask(int const line, request const question) noexcept {
  response answer{};
  // An answer that came too late for its question.
  while (recv(line, &answer, sizeof answer, MSG_DONTWAIT) > 0) {
  }
  if (send(line, &question, sizeof question, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) return false;
  pollfd answered{.fd = line, .events = POLLIN, .revents = 0};
  if (poll(&answered, 1, answer_limit_ms) != 1) return false;
  if (recv(line, &answer, sizeof answer, MSG_DONTWAIT) != static_cast<ssize_t>(sizeof answer)) return false;
  return answer.to == question && answer.yes;
}

}  // namespace

group_member::group_member(terminal_state const& terminal) {
  std::array<int, 2> ends{};
  // Each question and each answer in one piece.
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0)
    can_not_start("socketpair", errno);
  // Not fork(): that runs the handlers of libraries, which aren't for the child of a program with threads.
  id_ = _Fork();
  if (id_ == 0) be_member(ends[1], terminal);
  close(ends[1]);
  if (id_ > 0) {
    line_ = ends[0];
    return;
  }
  int const error = errno;
  close(ends[0]);
  can_not_start("fork", error);
}

group_member::~group_member() {
  close(line_);
  if (!runs()) return;
  kill(id_, SIGKILL);  // it may be stopped
  waitpid(id_, nullptr, 0);
}

bool group_member::got(int const signal) const noexcept { return ask(line_, {task::tell_signal, signal}); }

void group_member::forget_signals() const noexcept {
  static_cast<void>(ask(line_, {task::forget_signals, 0}));
}

void group_member::restore_terminal(pid_t const command) const noexcept {
  static_cast<void>(ask(line_, {task::restore_terminal, command}));
}

void group_member::resume() const noexcept {
  if (!runs()) return;
  kill(id_, SIGCONT);
  static_cast<void>(got(SIGCONT));  // by us: forgotten
}

/// Its id is not given again before that.
bool group_member::runs() const noexcept { return waitpid(id_, nullptr, WNOHANG) == 0; }

}  // namespace holdfast::cli
