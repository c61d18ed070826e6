#include "run/guarded_command.hpp"

#include "common/exit_codes.hpp"
#include "process/orphans.hpp"
#include "run/can_not_start.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <new>
#include <utility>

namespace holdfast::cli {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

/// Until a signal is looked at before the command is executed.
constexpr nanoseconds longest_deafness = 100ms;

command_end end_of(int const status) {
  if (WIFSIGNALED(status)) return {.code = by_signal + WTERMSIG(status), .signal = WTERMSIG(status)};
  return {.code = WEXITSTATUS(status), .signal = 0};
}

}  // namespace

void guarded_command::unmap::operator()(guard_board* const board) const noexcept {
  munmap(board, sizeof(guard_board));
}

void guarded_command::file::reset(int const number) noexcept {
  if (number_ >= 0) close(number_);
  number_ = number;
}

std::unique_ptr<guard_board, guarded_command::unmap> guarded_command::new_board() {
  void* const memory =
      mmap(nullptr, sizeof(guard_board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) can_not_start("mmap", errno);
  return std::unique_ptr<guard_board, unmap>{new (memory) guard_board};
}

void guarded_command::follow_signals_at_start() const {
  // ^Z may have stopped the command before it is executed: we stop with it.
  if (signals::is_pending(SIGTSTP)) {
    signals::forget(SIGTSTP);
    signals::stop_here();
  }
  // Before it is executed it has no handlers. The signal stays for who waits for it.
  for (int const signal : signals::ending) {
    if (board_->command > 0 && signals::is_pending(signal)) ::kill(board_->command, signal);
  }
}

int guarded_command::read_report(int const from, start_options const& options) {
  auto const period = std::clamp<nanoseconds>(options.grace / 2, 1ms, longest_deafness);
  pollfd report{.fd = from, .events = POLLIN, .revents = 0};
  while (::poll(&report, 1, static_cast<int>(period / 1ms)) <= 0) {
    kill_at(options.latest_end());
    follow_signals_at_start();
  }
  int error = 0;
  return read(from, &error, sizeof error) == static_cast<ssize_t>(sizeof error) ? error : 0;
}

guarded_command::guarded_command(start_options options, signals const& mask, inherited_files const& files)
    : policy_{options.policy} {
  board_->kill_at = nanoseconds::max().count();
  kill_at(options.latest_end());
  tree_.spare_present();
  // What the guard leaves when it ends, first of all the command's exit code, comes to us.
  if (prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) can_not_start("prctl", errno);
  prepared_program const program{options.words, std::move(options.start.environment)};
  auto& give_back = options.start.give_back;
  std::vector<char*> release_words;
  release_words.reserve(give_back.words.size());
  for (auto& word : give_back.words) release_words.push_back(word.data());
  std::optional<prepared_program> release;
  if (!release_words.empty()) release.emplace(release_words, std::move(give_back.environment));

  std::array<int, 2> line{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, line.data()) != 0)
    can_not_start("socketpair", errno);
  lifeline_.reset(line[0]);
  file guards_end{line[1]};
  std::array<int, 2> pipe_ends{};
  if (pipe2(pipe_ends.data(), O_CLOEXEC) != 0) can_not_start("pipe", errno);
  file const report{pipe_ends[0]};
  file to_report{pipe_ends[1]};

  guard_duty const duty{.program = program,
                        .give_back = release ? &*release : nullptr,
                        .give_back_output = give_back.output,
                        .mask = mask,
                        .files = files,
                        .member = member_,
                        .policy = policy_,
                        .grace = options.grace,
                        .holdfast = getpid(),
                        .started_in = {},
                        .lifeline = *guards_end,
                        .report = *to_report};
  guard_ = fork();
  if (guard_ == 0) be_guard(duty, *board_);
  if (guard_ < 0) can_not_start("fork", errno);
  tree_.set_guard(guard_);
  guards_end.reset();
  to_report.reset();
  int const error = read_report(*report, options);
  if (error == 0 && board_->command > 0) {
    command_ = board_->command;
    tree_.set_command(command_);
    return;
  }
  // The guard ends with the command, at the latest after it has written the command's id.
  waitpid(guard_, nullptr, 0);
  pid_t const ended = board_->command;
  if (ended == 0) can_not_start("fork", error);
  waitpid(ended, nullptr, 0);
  program.refuse(error);
}

guarded_command::~guarded_command() {
  if (command_ < 0) return;
  static_cast<void>(kill());
  if (guard_ < 0) return;
  ::kill(guard_, SIGKILL);
  waitpid(guard_, nullptr, 0);
}

std::optional<command_end> guarded_command::poll() {
  if (guard_ > 0 && waitpid(guard_, nullptr, WNOHANG) == guard_) {
    guard_ = -1;
    tree_.set_guard(0);
  }
  // Before the end of the guard the command is not our child.
  if (guard_ > 0 || command_ < 0) return {};
  int status = SIGKILL;                                     // in case that the status is lost
  if (waitpid(command_, &status, WNOHANG) == 0) return {};  // the guard was killed, the command was not
  command_ = -1;
  tree_.set_command_ended();
  auto const end = end_of(status);
  if (end.signal != 0 && end.signal == passed_on_) {
    // What the command had just started when the signal was passed on has not got it, and nobody else is left
    // to end it.
    tree_.look();
    tree_.send(end.signal, command_tree::part::front,
               [this](pid_t const id) { return !std::ranges::count(told_, id); });
  }
  return end;
}

void guarded_command::reap_rest() noexcept {
  reap_orphans([this](pid_t const id) { return id == guard_ || id == command_; });
}

bool guarded_command::was_stopped() noexcept {
  if (!board_->stopped.exchange(false)) return false;
  auto const state = process_of(command_);
  return state && state->stopped();
}

bool guarded_command::got_too(int const signal) noexcept { return member_.got(signal); }

void guarded_command::pass_on(int const signal) {
  passed_on_ = signal;
  told_.clear();
  tree_.look();
  tree_.send(signal, command_tree::part::front, [this](pid_t const id) {
    told_.push_back(id);
    return true;
  });
  if (signal == SIGCONT) member_.resume();
}

void guarded_command::pass_to_own_group(int const signal) const noexcept {
  if (command_ < 0) return;
  auto const group = getpgid(command_);
  if (group < 0 || group == getpgrp()) return;
  // To all of it what such programs leave to the kernel. It would ignore SIGTSTP: the group has no parent in
  // its session, since the guard has one of its own.
  bool const is_of_job = signal == SIGTSTP || signal == SIGCONT;
  ::kill(is_of_job && group == command_ ? -command_ : command_, signal == SIGTSTP ? SIGSTOP : signal);
}

command_tree::reach guarded_command::terminate() noexcept {
  tree_.spare_daemons();
  auto const reached = tree_.send(SIGTERM, command_tree::part::front);
  tree_.send(SIGCONT, command_tree::part::front);
  return reached;
}

command_tree::reach guarded_command::kill() noexcept {
  tree_.spare_daemons();
  auto const reached = tree_.send(SIGKILL, command_tree::part::all);
  // At once again, for what was started meanwhile.
  auto const again = tree_.send(SIGKILL, command_tree::part::all);
  return {.processes = again.processes, .refused = reached.refused};
}

bool guarded_command::has_rest() noexcept {
  tree_.look();
  return !tree_.is_empty();
}

void guarded_command::kill_at(nanoseconds const time) noexcept {
  if (policy_ == on_lost::warn) return;
  // The guard sleeps until the time that it knows.
  if (time.count() < board_->kill_at.exchange(time.count()))
    static_cast<void>(send(*lifeline_, "", 1, MSG_NOSIGNAL | MSG_DONTWAIT));
}

}  // namespace holdfast::cli
