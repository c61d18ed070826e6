#include "terminal_process.hpp"

#include "eventually.hpp"

#include <fcntl.h>
#include <pty.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <stdexcept>
#include <vector>

namespace holdfast::test {

terminal_process::terminal_process(words const& command) {
  auto arguments = command;
  std::vector<char*> argv;
  for (auto& word : arguments) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_ = forkpty(&terminal_, nullptr, nullptr, nullptr);
  if (pid_ < 0) throw std::runtime_error{"forkpty failed"};
  if (pid_ == 0) {
    execvp(argv.front(), argv.data());
    _exit(255);
  }
  fcntl(terminal_, F_SETFL, O_NONBLOCK);
  fcntl(terminal_, F_SETFD, FD_CLOEXEC);
}

terminal_process::~terminal_process() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  close(terminal_);
}

void terminal_process::type(std::string const& text) const {
  if (write(terminal_, text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    throw std::runtime_error{"typing failed"};
}

std::string const& terminal_process::shown() {
  std::array<char, 4096> buffer{};
  for (;;) {
    auto const size = read(terminal_, buffer.data(), buffer.size());
    if (size <= 0) return output_;
    output_.append(buffer.data(), static_cast<std::size_t>(size));
  }
}

int terminal_process::wait(std::chrono::nanoseconds within) {
  int status = 0;
  bool const ended = eventually(within, [&] {
    (void)shown();  // a full terminal would block the program
    return waitpid(pid_, &status, WNOHANG) == pid_;
  });
  if (!ended) throw std::runtime_error{"the program did not end in time; it has shown: " + output_};
  pid_ = -1;
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace holdfast::test
