#include "memory_server.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace holdfast::test {
namespace {

std::filesystem::path folder_of_its_own() {
  auto path = (std::filesystem::temp_directory_path() / "holdfast-memory-XXXXXX").string();
  if (::mkdtemp(path.data()) == nullptr) throw std::runtime_error{"mkdtemp " + path};
  return path;
}

int listen_at(std::string const& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) throw std::runtime_error{"socket path too long: " + path};
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  auto const listener = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (listener < 0 || ::bind(listener, reinterpret_cast<sockaddr const*>(&address), sizeof address) != 0 ||
      ::listen(listener, 1024) != 0) {
    throw std::runtime_error{"can't listen on " + path};
  }
  return listener;
}

}  // namespace

memory_server::memory_server(std::string const& name)
    : deployment_{{.name = name}},
      folder_{folder_of_its_own()},
      listener_{listen_at(socket_path())},
      thread_{[this] { accept_all(); }} {}

memory_server::~memory_server() {
  ::shutdown(listener_, SHUT_RDWR);  // accept() returns
  thread_.join();
  visitors_.clear();
  ::close(listener_);
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

void memory_server::accept_all() {
  auto const node = memory::node::find(deployment_.url().substr(std::strlen("memory://")));
  for (;;) {
    auto const socket = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (socket < 0) return;
    visitors_.push_back(std::make_unique<visitor>(node, socket));
  }
}

memory_server::visitor::visitor(std::shared_ptr<memory::node> to, int socket)
    : node{std::move(to)}, fd{socket} {
  {
    std::scoped_lock const hold{node->guard()};
    served = std::make_unique<memory::served_connection>(*node, [this] { write(); });
  }
  thread = std::thread{[this] { serve(); }};
}

memory_server::visitor::~visitor() {
  ::shutdown(fd, SHUT_RDWR);
  thread.join();
  ::close(fd);
}

void memory_server::visitor::serve() {
  std::array<char, 65536> bytes{};
  for (;;) {
    auto const n = ::recv(fd, bytes.data(), bytes.size(), 0);
    std::scoped_lock const hold{node->guard()};
    if (n > 0) {
      served->receive({bytes.data(), static_cast<std::size_t>(n)});
      continue;
    }
    served.reset();
    ::shutdown(fd, SHUT_RDWR);
    return;
  }
}

/// The socket has room for what tests ask: this never waits for long.
void memory_server::visitor::write() {
  std::array<char, 65536> bytes{};
  while (served->readable()) {
    auto const n = served->read(bytes.data(), bytes.size());
    for (std::size_t sent = 0; sent < n;) {
      auto const m = ::send(fd, bytes.data() + sent, n - sent, MSG_NOSIGNAL);
      if (m <= 0) return;  // the client is gone, as recv() will say
      sent += static_cast<std::size_t>(m);
    }
  }
  if (served->ended()) ::shutdown(fd, SHUT_RDWR);
}

}  // namespace holdfast::test
