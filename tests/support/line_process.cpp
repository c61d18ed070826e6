#include "line_process.hpp"

#include "eventually.hpp"
#include "process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <csignal>
#include <stdexcept>
#include <utility>

namespace holdfast::test {

line_process::line_process(std::vector<std::string> command) {
  auto const argv = pointers(command);
  int in[2];
  int out[2];
  if (::pipe2(in, O_CLOEXEC) != 0 || ::pipe2(out, O_CLOEXEC) != 0) throw std::runtime_error{"pipe"};
  auto const parent = ::getpid();
  pid_ = ::fork();
  if (pid_ < 0) throw std::runtime_error{"fork"};
  if (pid_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);
    ::signal(SIGPIPE, SIG_DFL);
    ::dup2(in[0], STDIN_FILENO);
    ::dup2(out[1], STDOUT_FILENO);
    ::execv(argv.front(), argv.data());
    ::_exit(127);
  }
  ::close(in[0]);
  ::close(out[1]);
  to_ = in[1];
  from_ = out[0];
}

line_process::line_process(line_process&& other) noexcept
    : pid_{std::exchange(other.pid_, 0)},
      to_{std::exchange(other.to_, -1)},
      from_{std::exchange(other.from_, -1)},
      heard_{std::move(other.heard_)} {}

line_process::~line_process() {
  kill9();
  if (to_ >= 0) ::close(to_);
  if (from_ >= 0) ::close(from_);
}

void line_process::say(std::string const& line) const {
  auto const text = line + '\n';
  if (::write(to_, text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    throw std::runtime_error{"process " + std::to_string(pid_) + " does not listen"};
  }
}

std::string line_process::hear(std::chrono::milliseconds within) {
  auto const deadline = std::chrono::steady_clock::now() + within;
  for (;;) {
    if (auto const end = heard_.find('\n'); end != std::string::npos) {
      auto line = heard_.substr(0, end);
      heard_.erase(0, end + 1);
      return line;
    }
    auto const left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    auto poller = pollfd{from_, POLLIN, 0};
    if (left <= 0ms || ::poll(&poller, 1, static_cast<int>(left.count())) <= 0) {
      throw std::runtime_error{"the process says nothing"};
    }
    char bytes[4096];
    auto const got = ::read(from_, bytes, sizeof bytes);
    if (got <= 0) throw std::runtime_error{"the process is gone"};
    heard_.append(bytes, static_cast<std::size_t>(got));
  }
}

std::string line_process::ask(std::string const& line, std::chrono::milliseconds within) {
  say(line);
  return hear(within);
}

void line_process::freeze() const {
  ::kill(pid_, SIGSTOP);
  siginfo_t info{};
  ::waitid(P_PID, static_cast<id_t>(pid_), &info, WSTOPPED | WNOWAIT);
}

void line_process::thaw() const { ::kill(pid_, SIGCONT); }

void line_process::kill9() {
  if (pid_ == 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
  pid_ = 0;
}

int line_process::wait(std::chrono::milliseconds within) {
  auto status = 0;
  if (!eventually(within, [&] { return ::waitpid(pid_, &status, WNOHANG) == pid_; })) {
    throw std::runtime_error{"process " + std::to_string(pid_) + " doesn't end"};
  }
  pid_ = 0;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

}  // namespace holdfast::test
