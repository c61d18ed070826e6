#include "common/standard_output.hpp"

#include "common/exit_codes.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

namespace holdfast::cli {

void occupy_closed_streams() {
  for (int const number : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(number, F_GETFD) != -1) continue;
    // Opened in the wrong direction, so that its use fails as on a closed stream; the lowest free number is
    // this one.
    open("/dev/null", (number == STDIN_FILENO ? O_WRONLY : O_RDONLY) | O_CLOEXEC);
  }
}

bool stdout_takes_a_line() {
  pollfd out{.fd = STDOUT_FILENO, .events = POLLOUT, .revents = 0};
  return poll(&out, 1, 0) != 0;
}

void print_line(std::string_view const text) {
  bool const written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size() &&
                       std::fputc('\n', stdout) != EOF && std::fflush(stdout) == 0;
  if (written) return;
  if (errno == EPIPE) throw output_closed{};
  char const* const reason = std::strerror(errno);
  throw failure{internal, std::string{"can't write to stdout: "} + reason};
}

void check_reader() {
  pollfd out{.fd = STDOUT_FILENO, .events = 0, .revents = 0};
  if (poll(&out, 1, 0) == 1 && (out.revents & (POLLERR | POLLHUP)) != 0) throw output_closed{};
}

}  // namespace holdfast::cli
