#include "terminal_window.hpp"

#include "eventually.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <stdexcept>

namespace holdfast::test {

terminal_window::terminal_window(words const& command, environment const& extra)
    : terminal_window{command, extra, size{}} {}

terminal_window::terminal_window(words const& command, environment const& extra, size const initial_size) {
  master_ = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (master_ < 0 || grantpt(master_) != 0 || unlockpt(master_) != 0) {
    throw std::runtime_error{"no pseudo-terminal"};
  }
  slave_ = open(ptsname(master_), O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (slave_ < 0) throw std::runtime_error{"no pseudo-terminal"};
  first_modes_ = modes();
  fcntl(master_, F_SETFL, O_NONBLOCK);
  resize(initial_size);
  auto arguments = command;
  auto variables = extra;
  variables.try_emplace("TERM", "xterm");
  variables.try_emplace("LC_ALL", "C.UTF-8");
  auto const argv = pointers(arguments);
  auto entries = environment_of(variables);
  auto const envp = pointers(entries);
  auto const parent = getpid();
  pid_ = fork();
  if (pid_ < 0) throw std::runtime_error{"fork failed"};
  if (pid_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    setsid();
    ioctl(slave_, TIOCSCTTY, 0);
    for (int const file : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(slave_, file);
    execvpe(argv.front(), argv.data(), envp.data());
    _exit(255);
  }
}

terminal_window::~terminal_window() {
  if (!exit_code()) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  hang_up();
}

void terminal_window::signal(int const number) const { kill(pid_, number); }

void terminal_window::type(std::string_view const keys) const {
  if (::write(master_, keys.data(), keys.size()) != static_cast<ssize_t>(keys.size())) {
    throw std::runtime_error{"can't type into the pseudo-terminal"};
  }
}

void terminal_window::resize(size const new_size) const {
  winsize const fields{.ws_row = new_size.lines, .ws_col = new_size.columns, .ws_xpixel = 0, .ws_ypixel = 0};
  ioctl(master_, TIOCSWINSZ, &fields);
}

void terminal_window::hang_up() {
  if (slave_ >= 0) close(slave_);
  if (master_ >= 0) close(master_);
  slave_ = master_ = -1;
}

std::string const& terminal_window::seen() {
  std::array<char, 4096> buffer{};
  for (;;) {
    auto const size_read = master_ < 0 ? -1 : ::read(master_, buffer.data(), buffer.size());
    if (size_read <= 0) return output_;
    output_.append(buffer.data(), static_cast<std::size_t>(size_read));
  }
}

bool terminal_window::shows(std::string_view const text, std::chrono::nanoseconds const within) {
  return true_within(within, [&] { return seen().find(text) != std::string::npos; });
}

void terminal_window::forget() {
  static_cast<void>(seen());
  output_.clear();
}

std::optional<int> terminal_window::exit_code() {
  if (!code_) code_ = exit_code_of(pid_);
  return code_;
}

int terminal_window::wait(std::chrono::nanoseconds const within) {
  // A full terminal would block the program.
  auto const ended = eventually(within, [this] {
    static_cast<void>(seen());
    return exit_code().has_value();
  });
  if (!ended) throw std::runtime_error{"a process did not end in time; it wrote: " + output_};
  static_cast<void>(seen());
  return *code_;
}

std::string terminal_window::modes() const {
  termios settings{};
  tcgetattr(slave_, &settings);
  std::string text;
  for (auto const flags : {settings.c_iflag, settings.c_oflag, settings.c_cflag, settings.c_lflag}) {
    text += std::to_string(flags) + ' ';
  }
  for (auto const key : settings.c_cc) text += std::to_string(key) + ' ';
  return text;
}

}  // namespace holdfast::test
