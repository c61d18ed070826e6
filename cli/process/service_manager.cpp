#include "process/service_manager.hpp"

#include "common/output.hpp"

#include <fmt/format.h>

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>

namespace holdfast::cli {
namespace {

constexpr auto variable = "NOTIFY_SOCKET";

/// A manager that reads no messages must not hold up the command for longer.
constexpr timeval send_limit{.tv_sec = 1, .tv_usec = 0};

/// 0, or errno.
int send_to(std::string_view const name, std::string_view const state) {
  sockaddr_un address{};
  if (name.size() >= sizeof address.sun_path) return ENAMETOOLONG;
  address.sun_family = AF_UNIX;
  std::ranges::copy(name, address.sun_path);
  if (name.starts_with('@')) address.sun_path[0] = '\0';
  auto const size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
  int const file = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (file < 0) return errno;
  setsockopt(file, SOL_SOCKET, SO_SNDTIMEO, &send_limit, sizeof send_limit);
  auto const sent = sendto(file, state.data(), state.size(), MSG_NOSIGNAL,
                           reinterpret_cast<sockaddr const*>(&address), size);
  int const error = sent < 0 ? errno : 0;
  close(file);
  return error;
}

}  // namespace

service_manager::service_manager() {
  auto const* const name = std::getenv(variable);
  if (name == nullptr) return;
  socket_ = name;
  unsetenv(variable);
}

void service_manager::tell(std::string_view const state) const {
  if (socket_.empty()) return;
  bool const is_supported = socket_.starts_with('/') || socket_.starts_with('@');
  int const error = is_supported ? send_to(socket_, state) : EAFNOSUPPORT;
  if (error == 0) return;
  output::note(fmt::format("the service manager can't be told ({}={}): {}", variable,
                           output::one_line(socket_), std::strerror(error)));
}

}  // namespace holdfast::cli
