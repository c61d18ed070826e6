#include "flaky_proxy.hpp"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <algorithm>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <utility>

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

sockaddr_un address_of(std::string const& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) throw std::runtime_error{"socket path too long: " + path};
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return address;
}

int unix_socket() { return ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0); }

}  // namespace

flaky_proxy::flaky_proxy(std::string server_socket) : server_socket_{std::move(server_socket)} {
  folder_ = (std::filesystem::temp_directory_path() / "holdfast-proxy-XXXXXX").string();
  if (::mkdtemp(folder_.data()) == nullptr) throw std::runtime_error{"mkdtemp " + folder_};
  path_ = folder_ + "/proxy.sock";
  listener_ = unix_socket();
  wake_fd_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  auto const address = address_of(path_);
  if (::bind(listener_, reinterpret_cast<sockaddr const*>(&address), sizeof address) != 0 ||
      ::listen(listener_, 1024) != 0) {
    throw std::runtime_error{"can't listen on " + path_};
  }
  listen_on_port();
  thread_ = std::thread{[this] { run(); }};
}

void flaky_proxy::listen_on_port() {
  tcp_listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  if (::bind(tcp_listener_, generic, size) != 0 || ::listen(tcp_listener_, 1024) != 0 ||
      ::getsockname(tcp_listener_, generic, &size) != 0) {
    throw std::runtime_error{"can't listen on a port"};
  }
  port_ = ntohs(address.sin_port);
}

flaky_proxy::~flaky_proxy() {
  {
    std::scoped_lock const hold{mutex_};
    stop_ = true;
  }
  wake();
  thread_.join();
  ::close(listener_);
  ::close(tcp_listener_);
  ::close(wake_fd_);
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

void flaky_proxy::wake() const { ::eventfd_write(wake_fd_, 1); }

void flaky_proxy::decide(decider d) {
  std::scoped_lock const hold{mutex_};
  traffic_.decide = std::move(d);
}

void flaky_proxy::once(std::function<bool(request const&)> picks, fate f) {
  decide([picks = std::move(picks), f = std::move(f), used = false](request const& r) mutable {
    if (used || !picks(r)) return fate::pass();
    used = true;
    return f;
  });
}

void flaky_proxy::swallow_messages(bool on) {
  std::scoped_lock const hold{mutex_};
  traffic_.swallow_messages = on;
}

void flaky_proxy::refuse_pubsub() {
  std::scoped_lock const hold{mutex_};
  traffic_.refuse_pubsub = true;
}

void flaky_proxy::refuse_connections(bool on) {
  std::scoped_lock const hold{mutex_};
  refuse_connections_ = on;
}

void flaky_proxy::freeze() {
  std::scoped_lock const hold{mutex_};
  traffic_.hold_requests = traffic_.hold_replies = true;
}

void flaky_proxy::freeze_requests() {
  std::scoped_lock const hold{mutex_};
  traffic_.hold_requests = true;
}

void flaky_proxy::freeze_replies() {
  std::scoped_lock const hold{mutex_};
  traffic_.hold_replies = true;
}

void flaky_proxy::thaw() {
  {
    std::scoped_lock const hold{mutex_};
    traffic_.hold_requests = traffic_.hold_replies = false;
  }
  wake();
}

void flaky_proxy::cut_all() {
  std::scoped_lock const hold{mutex_};
  for (auto& connection : connections_) connection.end();
  wake();
}

void flaky_proxy::hold_back_all() {
  std::scoped_lock const hold{mutex_};
  for (auto& connection : connections_) {
    if (connection.ended() || connection.is_held_back()) continue;
    connection.hold_back(std::chrono::milliseconds::max());
  }
  wake();
}

void flaky_proxy::deliver() {
  std::scoped_lock const hold{mutex_};
  for (auto& connection : connections_) connection.deliver();
  wake();
}

int flaky_proxy::held_back() const {
  std::scoped_lock const hold{mutex_};
  return static_cast<int>(std::ranges::count_if(connections_, &proxied_connection::has_kept));
}

std::vector<request> flaky_proxy::requests() const {
  std::scoped_lock const hold{mutex_};
  return traffic_.requests;
}

std::size_t flaky_proxy::count(std::string_view name) const {
  std::scoped_lock const hold{mutex_};
  return static_cast<std::size_t>(
      std::ranges::count_if(traffic_.requests, [name](request const& r) { return r.name == name; }));
}

std::size_t flaky_proxy::messages() const {
  std::scoped_lock const hold{mutex_};
  return traffic_.messages;
}

int flaky_proxy::connections() const {
  std::scoped_lock const hold{mutex_};
  return static_cast<int>(std::ranges::count(connections_, false, &proxied_connection::is_held_back));
}

void flaky_proxy::forget() {
  std::scoped_lock const hold{mutex_};
  traffic_.requests.clear();
  traffic_.messages = 0;
}

void flaky_proxy::run() {
  for (std::unique_lock hold{mutex_}; !stop_;) {
    wait_for_events(hold);
    for (auto& connection : connections_) connection.step();
    connections_.remove_if([](auto const& connection) { return connection.ended(); });
    accept_one(listener_);
    accept_one(tcp_listener_);
  }
}

void flaky_proxy::wait_for_events(std::unique_lock<std::mutex>& hold) {
  using clock = proxied_connection::clock;
  std::vector<pollfd> polled{{wake_fd_, POLLIN, 0}, {listener_, POLLIN, 0}, {tcp_listener_, POLLIN, 0}};
  auto const now = clock::now();
  auto next = clock::time_point::max();
  for (auto const& connection : connections_) {
    for (auto const& [socket, events] : {connection.in_client(now), connection.in_server()})
      polled.push_back({socket, events, 0});
    next = std::min(next, connection.due(now));
  }
  auto const timeout = next == clock::time_point::max()
                           ? -1ms
                           : std::max(0ms, std::chrono::ceil<std::chrono::milliseconds>(next - now));
  hold.unlock();
  ::poll(polled.data(), polled.size(), static_cast<int>(timeout.count()));
  hold.lock();
  eventfd_t ignored = 0;
  ::eventfd_read(wake_fd_, &ignored);
}

void flaky_proxy::accept_one(int listener) {
  auto const client = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (client < 0) return;
  auto const server = unix_socket();
  auto const address = address_of(server_socket_);
  if (refuse_connections_ ||
      ::connect(server, reinterpret_cast<sockaddr const*>(&address), sizeof address) != 0) {
    ::close(client);
    ::close(server);
    return;
  }
  auto const enabled = 1;  // no reply waits for an earlier one to be acknowledged; unix sockets ignore it
  ::setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &enabled, sizeof enabled);
  connections_.emplace_back(traffic_, ++last_id_, client, server);
}

}  // namespace holdfast::test
