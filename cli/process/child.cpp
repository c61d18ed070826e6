#include "process/child.hpp"

#include "common/exit_codes.hpp"
#include "common/output.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/close_range.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <utility>

namespace holdfast::cli {
namespace {

void close_between(int const first, int const last) noexcept {
  if (first <= last) close_range(static_cast<unsigned>(first), static_cast<unsigned>(last), 0);
}

/// holdfast's environment with the additions, in the format of exec. Points into `additions` and the
/// environment.
std::vector<char*> merged(std::vector<std::string>& additions) {
  std::vector<char*> all;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    std::string_view const old{*entry};
    auto const name = old.substr(0, old.find('=') + 1);
    bool const replaced = std::ranges::any_of(additions, [&](auto const& a) { return a.starts_with(name); });
    if (!replaced) all.push_back(*entry);
  }
  for (auto& addition : additions) all.push_back(addition.data());
  all.push_back(nullptr);
  return all;
}

/// Async-signal-safe.
ssize_t read_from(int const from, void* const into, std::size_t const size) noexcept {
  ssize_t got = 0;
  do {
    got = read(from, into, size);
  } while (got < 0 && errno == EINTR);
  return got;
}

[[noreturn]] void refuse(std::string_view const command, int const error) {
  if (error == ENOENT || error == ENOTDIR) {
    throw failure{not_found, fmt::format("{}: command not found", output::quoted(command))};
  }
  throw failure{not_executable,
                fmt::format("{}: can't be executed: {}", output::quoted(command), std::strerror(error))};
}

}  // namespace

inherited_files::inherited_files() {
  std::error_code error;
  for (auto const& entry : std::filesystem::directory_iterator{"/proc/self/fd", error}) {
    auto const text = entry.path().filename().string();
    int number = -1;
    std::from_chars(text.data(), text.data() + text.size(), number);
    // The list includes the folder's own descriptor, which is closed afterwards.
    if (number > STDERR_FILENO) open_.push_back(number);
  }
  std::erase_if(open_, [](int const number) { return fcntl(number, F_GETFD) == -1; });
  std::ranges::sort(open_);
}

void inherited_files::close_others(int const keep) const noexcept {
  int next = STDERR_FILENO + 1;
  bool keep_is_next = keep >= next;
  for (int const number : open_) {
    if (keep_is_next && keep <= number) {
      close_between(next, keep - 1);
      next = keep + 1;
      keep_is_next = false;
    }
    close_between(next, number - 1);
    next = std::max(next, number + 1);
  }
  if (keep_is_next) {
    close_between(next, keep - 1);
    next = keep + 1;
  }
  close_range(static_cast<unsigned>(next), ~0U, 0);
}

void inherited_files::close_all(int const keep) noexcept {
  close_between(STDERR_FILENO + 1, keep - 1);
  close_range(static_cast<unsigned>(keep) + 1, ~0U, 0);
}

child::child(start_options const& options, signals const& mask, terminal const& tty,
             inherited_files const& files)
    : name_{options.command.front()} {
  std::vector<char*> arguments{options.command.begin(), options.command.end()};
  arguments.push_back(nullptr);
  auto additions = options.environment;
  auto const environment = merged(additions);
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    throw failure{internal, fmt::format("socketpair: {}", std::strerror(errno))};
  bool const foreground = tty.is_ours();

  pid_ = fork();
  if (pid_ == 0) {
    // Only async-signal-safe calls from here: the client's thread may have held any lock at the fork.
    setpgid(0, 0);
    if (foreground) tcsetpgrp(STDIN_FILENO, getpid());
    files.close_others(ends[1]);
    char go = 0;
    if (read_from(ends[1], &go, 1) != 1) _exit(internal);  // holdfast has died
    mask.restore_in_child();
    execvpe(arguments.front(), arguments.data(), environment.data());
    int const error = errno;
    static_cast<void>(!write(ends[1], &error, sizeof error));
    _exit(error == ENOENT ? not_found : not_executable);
  }
  int const fork_error = errno;
  close(ends[1]);
  if (pid_ < 0) {
    close(ends[0]);
    throw failure{internal, fmt::format("the command can't be started: fork: {}", std::strerror(fork_error))};
  }
  to_child_ = ends[0];
  // Both processes call setpgid, as in shells: the group exists before it is needed, whichever runs first.
  setpgid(pid_, pid_);
  if (foreground) tcsetpgrp(STDIN_FILENO, pid_);
  running_ = true;
}

void child::start(terminal const& tty) {
  // Without SIGPIPE: the child may be dead already, which poll() reports.
  static_cast<void>(send(to_child_, "", 1, MSG_NOSIGNAL));
  int exec_error = 0;
  auto const got = read_from(to_child_, &exec_error, sizeof exec_error);
  close(std::exchange(to_child_, -1));
  if (got != static_cast<ssize_t>(sizeof exec_error)) return;
  waitpid(pid_, nullptr, 0);
  running_ = false;
  tty.take_from(pid_);
  refuse(name_, exec_error);
}

child::~child() {
  if (to_child_ >= 0) close(to_child_);
  if (!running_) return;
  kill(-pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

std::optional<child_state> child::poll() {
  int status = 0;
  if (!running_ || waitpid(pid_, &status, WNOHANG | WUNTRACED) != pid_) return {};
  if (WIFSTOPPED(status)) return child_state{child_state::kind::stopped, WSTOPSIG(status)};
  running_ = false;
  if (WIFSIGNALED(status)) return child_state{child_state::kind::killed, WTERMSIG(status)};
  return child_state{child_state::kind::exited, WEXITSTATUS(status)};
}

void child::signal(int const number) const noexcept { kill(-pid_, number); }

bool child::group_exists() const noexcept { return kill(-pid_, 0) == 0; }

}  // namespace holdfast::cli
