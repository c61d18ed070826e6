#include "server/local_socket.hpp"

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace holdfast::cli {
namespace {

/// Loopback replies at once unless the machine is overloaded.
constexpr int limit_ms = 200;

template <class Address>
bool answers(Address const& address, int const family) {
  int const file = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (file < 0) return false;
  bool connected = connect(file, reinterpret_cast<sockaddr const*>(&address), sizeof address) == 0;
  if (!connected && errno == EINPROGRESS) {
    pollfd wait{.fd = file, .events = POLLOUT, .revents = 0};
    int error = 0;
    socklen_t size = sizeof error;
    connected = poll(&wait, 1, limit_ms) == 1 && getsockopt(file, SOL_SOCKET, SO_ERROR, &error, &size) == 0 &&
                error == 0;
  } else if (!connected && errno == EAGAIN && family == AF_UNIX) {
    connected = true;  // the queue of new connections is full, so the server exists
  }
  close(file);
  return connected;
}

}  // namespace

bool answers_on_unix(std::string const& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() > longest_unix_path) return false;
  std::ranges::copy(path, address.sun_path);
  return answers(address, AF_UNIX);
}

bool answers_on_ipv4_loopback(std::uint16_t const port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return answers(address, AF_INET);
}

bool answers_on_ipv6_loopback(std::uint16_t const port) {
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_port = htons(port);
  address.sin6_addr = in6addr_loopback;
  return answers(address, AF_INET6);
}

}  // namespace holdfast::cli
