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
  child_input_ = in[1];
  child_output_ = out[0];
}

line_process::line_process(line_process&& other) noexcept
    : pid_{std::exchange(other.pid_, 0)},
      child_input_{std::exchange(other.child_input_, -1)},
      child_output_{std::exchange(other.child_output_, -1)},
      received_{std::move(other.received_)} {}

line_process::~line_process() {
  kill9();
  if (child_input_ >= 0) ::close(child_input_);
  if (child_output_ >= 0) ::close(child_output_);
}

void line_process::write_line(std::string const& line) const {
  auto const text = line + '\n';
  if (::write(child_input_, text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    throw std::runtime_error{"process " + std::to_string(pid_) + " does not listen"};
  }
}

std::string line_process::read_line(std::chrono::milliseconds within) {
  auto const deadline = std::chrono::steady_clock::now() + within;
  for (;;) {
    if (auto const end = received_.find('\n'); end != std::string::npos) {
      auto line = received_.substr(0, end);
      received_.erase(0, end + 1);
      return line;
    }
    auto const remaining =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    auto poller = pollfd{child_output_, POLLIN, 0};
    if (remaining <= 0ms || ::poll(&poller, 1, static_cast<int>(remaining.count())) <= 0) {
      throw std::runtime_error{"the process says nothing"};
    }
    char bytes[4096];
    auto const size = ::read(child_output_, bytes, sizeof bytes);
    if (size <= 0) throw std::runtime_error{"the process is gone"};
    received_.append(bytes, static_cast<std::size_t>(size));
  }
}

std::string line_process::reply_to(std::string const& line, std::chrono::milliseconds within) {
  write_line(line);
  return read_line(within);
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
