#include "server/local_socket.hpp"

#include "server/local_folder.hpp"

#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace holdfast::cli {
namespace {

/// Loopback replies at once, but not for a server whose queue of new connections is full.
constexpr int limit_ms = 200;

/// The error of a connection attempt; 0 for success, EINPROGRESS when there is no reply in time.
template <class Address>
int try_to_connect(Address const& address, int const family) {
  int const file = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (file < 0) return errno;
  int error = connect(file, reinterpret_cast<sockaddr const*>(&address), sizeof address) == 0 ? 0 : errno;
  pollfd wait{.fd = file, .events = POLLOUT, .revents = 0};
  if (error == EINPROGRESS && poll(&wait, 1, limit_ms) == 1) {
    socklen_t size = sizeof error;
    getsockopt(file, SOL_SOCKET, SO_ERROR, &error, &size);
  }
  close(file);
  return error;
}

/// Whether an attempt proves that nobody listens: the connection was refused, or this machine has no such
/// address. A server that is too busy to accept is still there, and so are its locks.
bool nobody_listens(int const error) {
  return error == ECONNREFUSED || error == EAFNOSUPPORT || error == EADDRNOTAVAIL || error == ENETUNREACH;
}

}  // namespace

bool listens_on_unix(std::string const& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() > longest_unix_path) return false;
  std::ranges::copy(path, address.sun_path);
  int const error = try_to_connect(address, AF_UNIX);
  if (error == ECONNREFUSED || error == ENOENT) return false;
  if (error == 0 || error == EAGAIN) return true;  // EAGAIN: the queue of new connections is full
  no_private_server(fmt::format("can't tell whether one runs at {}: {}", path, std::strerror(error)));
}

bool listens_on_ipv4_loopback(std::uint16_t const port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return !nobody_listens(try_to_connect(address, AF_INET));
}

bool listens_on_ipv6_loopback(std::uint16_t const port) {
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_port = htons(port);
  address.sin6_addr = in6addr_loopback;
  return !nobody_listens(try_to_connect(address, AF_INET6));
}

}  // namespace holdfast::cli
