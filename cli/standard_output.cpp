#include "standard_output.hpp"

#include "exit_codes.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace holdfast::cli {

void print_line(std::string_view const text) {
  bool const written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size() &&
                       std::fputc('\n', stdout) != EOF && std::fflush(stdout) == 0;
  if (written) return;
  if (errno == EPIPE) throw output_closed{};
  throw failure{internal, fmt::format("can't write to stdout: {}", std::strerror(errno))};
}

void check_reader() {
  pollfd out{.fd = STDOUT_FILENO, .events = 0, .revents = 0};
  if (poll(&out, 1, 0) == 1 && (out.revents & (POLLERR | POLLHUP)) != 0) throw output_closed{};
}

}  // namespace holdfast::cli
