#include "flaky_proxy.hpp"

#include "resp_scan.hpp"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
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

bool is_pubsub(std::string_view name) { return name.find("SUBSCRIBE") != std::string_view::npos; }

/// Reads the bytes that have arrived; false at the end of the stream.
bool read_into(int fd, std::string& buffer) {
  char bytes[65536];
  auto const received = ::recv(fd, bytes, sizeof bytes, MSG_DONTWAIT);
  if (received > 0) buffer.append(bytes, static_cast<std::size_t>(received));
  return received > 0 || (received < 0 && (errno == EAGAIN || errno == EINTR));
}

}  // namespace

bool request::has(std::string_view text) const {
  return std::find(words.begin(), words.end(), text) != words.end();
}

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
  for (auto& l : links_) drop(l);
  ::close(listener_);
  ::close(tcp_listener_);
  ::close(wake_fd_);
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

void flaky_proxy::wake() const { ::eventfd_write(wake_fd_, 1); }

void flaky_proxy::decide(decider d) {
  std::scoped_lock const hold{mutex_};
  decider_ = std::move(d);
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
  swallow_messages_ = on;
}

void flaky_proxy::refuse_pubsub() {
  std::scoped_lock const hold{mutex_};
  refuse_pubsub_ = true;
}

void flaky_proxy::refuse_connections(bool on) {
  std::scoped_lock const hold{mutex_};
  refuse_connections_ = on;
}

void flaky_proxy::freeze() {
  std::scoped_lock const hold{mutex_};
  hold_requests_ = hold_replies_ = true;
}

void flaky_proxy::freeze_requests() {
  std::scoped_lock const hold{mutex_};
  hold_requests_ = true;
}

void flaky_proxy::freeze_replies() {
  std::scoped_lock const hold{mutex_};
  hold_replies_ = true;
}

void flaky_proxy::thaw() {
  {
    std::scoped_lock const hold{mutex_};
    hold_requests_ = hold_replies_ = false;
  }
  wake();
}

void flaky_proxy::cut_all() {
  std::scoped_lock const hold{mutex_};
  for (auto& l : links_) l.dead = true;
  wake();
}

void flaky_proxy::hold_back_all() {
  std::scoped_lock const hold{mutex_};
  for (auto& l : links_) {
    if (l.dead || l.held_back) continue;
    hold_back(l, std::chrono::milliseconds::max());
  }
  wake();
}

void flaky_proxy::deliver() {
  std::scoped_lock const hold{mutex_};
  for (auto& l : links_) {
    if (l.held_back) l.deliver_at = clock::now();
  }
  wake();
}

int flaky_proxy::held_back() const {
  std::scoped_lock const hold{mutex_};
  return static_cast<int>(std::count_if(links_.begin(), links_.end(), [](link const& l) {
    return l.held_back && !l.dead && (l.ending || !l.kept_bytes.empty());
  }));
}

std::vector<request> flaky_proxy::requests() const {
  std::scoped_lock const hold{mutex_};
  return requests_;
}

std::size_t flaky_proxy::count(std::string_view name) const {
  std::scoped_lock const hold{mutex_};
  return static_cast<std::size_t>(
      std::count_if(requests_.begin(), requests_.end(), [name](request const& r) { return r.name == name; }));
}

std::size_t flaky_proxy::messages() const {
  std::scoped_lock const hold{mutex_};
  return messages_;
}

int flaky_proxy::connections() const {
  std::scoped_lock const hold{mutex_};
  return static_cast<int>(
      std::count_if(links_.begin(), links_.end(), [](link const& l) { return !l.held_back; }));
}

void flaky_proxy::forget() {
  std::scoped_lock const hold{mutex_};
  requests_.clear();
  messages_ = 0;
}

void flaky_proxy::run() {
  std::vector<pollfd> polled;
  for (std::unique_lock hold{mutex_}; !stop_;) {
    polled.assign({{wake_fd_, POLLIN, 0}, {listener_, POLLIN, 0}, {tcp_listener_, POLLIN, 0}});
    auto timeout = -1ms;
    auto const now = clock::now();
    for (auto& l : links_) {
      auto const blocked = !hold_replies_ && !l.to_client.empty() && l.to_client.front().due <= now;
      short const requests_wanted = hold_requests_ || l.held_back ? 0 : POLLIN;
      short const room_wanted = blocked ? POLLOUT : 0;
      auto const wanted = static_cast<short>(requests_wanted | room_wanted);
      polled.push_back({wanted == 0 ? -1 : l.client, wanted, 0});
      polled.push_back({hold_replies_ ? -1 : l.server,
                        static_cast<short>(l.to_server.empty() ? POLLIN : POLLIN | POLLOUT), 0});
      auto next = l.deliver_at;
      if (!hold_replies_ && !blocked && !l.to_client.empty()) next = std::min(next, l.to_client.front().due);
      if (next != clock::time_point::max()) {
        auto const left = std::max(0ms, std::chrono::ceil<std::chrono::milliseconds>(next - now));
        timeout = timeout < 0ms ? left : std::min(timeout, left);
      }
    }
    hold.unlock();
    ::poll(polled.data(), polled.size(), static_cast<int>(timeout.count()));
    hold.lock();

    eventfd_t ignored = 0;
    ::eventfd_read(wake_fd_, &ignored);
    for (auto& l : links_) {
      if (l.deliver_at <= clock::now()) deliver_kept(l);
      if (!hold_requests_ && !l.held_back && !l.dead) read_client(l);
      if (!hold_replies_ && !l.dead) read_server(l);
      if (!l.dead) write_out(l);
      if (l.dead) drop(l);
    }
    links_.remove_if([](link const& l) { return l.dead; });
    if ((polled[1].revents & POLLIN) != 0) accept_one(listener_);
    if ((polled[2].revents & POLLIN) != 0) accept_one(tcp_listener_);
  }
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
  auto& l = links_.emplace_back();
  l.id = ++last_id_;
  l.client = client;
  l.server = server;
}

void flaky_proxy::read_client(link& l) {
  if (!read_into(l.client, l.from_client)) l.dead = true;
  take_requests(l);
}

void flaky_proxy::take_requests(link& l) {
  while (!l.dead) {
    auto const length = value_length(l.from_client);
    if (!length) return;
    auto const bytes = l.from_client.substr(0, *length);
    l.from_client.erase(0, *length);
    request r{.name = {}, .words = words_of(bytes), .connection = l.id};
    if (!r.words.empty()) r.name = r.words[0];
    std::transform(r.name.begin(), r.name.end(), r.name.begin(),
                   [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    awaited_reply awaited{.decision = decider_ ? decider_(r) : fate::pass()};
    if (refuse_pubsub_ && is_pubsub(r.name))
      awaited.decision = fate::error("ERR unknown command '" + r.words[0] + "'");
    if (awaited.decision.type == fate::kind::pass && is_pubsub(r.name))
      awaited.replies = static_cast<int>(r.words.size()) - 1;
    requests_.push_back(std::move(r));

    auto const kind = awaited.decision.type;
    if (kind == fate::kind::cut_before) {
      l.dead = true;
      return;
    }
    if (l.keeping || kind == fate::kind::keep || kind == fate::kind::hold_back) {
      l.keeping = true;
      l.kept_bytes += bytes;
      if (kind != fate::kind::hold_back) continue;
      hold_back(l, awaited.decision.delay);
      return;
    }
    if (kind != fate::kind::answer && kind != fate::kind::swallow) l.to_server += bytes;
    l.awaited_replies.push_back(std::move(awaited));
    answer_injected(l);
  }
}

void flaky_proxy::read_server(link& l) {
  if (!read_into(l.server, l.from_server)) l.dead = true;
  take_replies(l);
}

void flaky_proxy::take_replies(link& l) {
  while (auto const length = value_length(l.from_server)) {
    auto bytes = l.from_server.substr(0, *length);
    l.from_server.erase(0, *length);
    if (bytes[0] == '*') {
      auto const words = words_of(bytes);
      if (words.size() >= 3 && (words[0] == "message" || words[0] == "smessage" || words[0] == "pmessage")) {
        ++messages_;
        if (!swallow_messages_) emit(l, std::move(bytes), 0ms);
        continue;
      }
    }
    if (l.awaited_replies.empty()) {
      emit(l, std::move(bytes), 0ms);
      continue;
    }
    auto& awaited = l.awaited_replies.front();
    if (awaited.decision.type == fate::kind::cut_after) {
      l.dead = true;
      return;
    }
    if (awaited.decision.type == fate::kind::swallow_reply) l.silent = true;
    emit(l, std::move(bytes), awaited.decision.delay);
    if (--awaited.replies <= 0) l.awaited_replies.pop_front();
    answer_injected(l);
  }
}

/// The proxy's own replies keep their place in the order of the server's.
void flaky_proxy::answer_injected(link& l) {
  while (!l.awaited_replies.empty()) {
    auto const& decision = l.awaited_replies.front().decision;
    if (decision.type == fate::kind::swallow)
      l.silent = true;
    else if (decision.type == fate::kind::answer)
      emit(l, decision.text, 0ms);
    else
      return;
    l.awaited_replies.pop_front();
  }
}

void flaky_proxy::emit(link& l, std::string bytes, std::chrono::milliseconds delay) {
  if (!l.silent) l.to_client.push_back({std::move(bytes), clock::now() + delay});
}

void flaky_proxy::write_out(link& l) {
  if (!l.to_server.empty()) {
    auto const sent = ::send(l.server, l.to_server.data(), l.to_server.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0)
      l.to_server.erase(0, static_cast<std::size_t>(sent));
    else if (errno != EAGAIN)
      l.dead = true;
  }
  if (l.ending && l.to_server.empty()) {
    ::shutdown(l.server, SHUT_WR);
    l.ending = false;
  }
  while (!hold_replies_ && !l.to_client.empty() && l.to_client.front().due <= clock::now()) {
    auto& bytes = l.to_client.front().bytes;
    auto const sent = ::send(l.client, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0) {
      if (errno != EAGAIN) l.dead = true;
      return;
    }
    bytes.erase(0, static_cast<std::size_t>(sent));
    if (!bytes.empty()) return;
    l.to_client.pop_front();
  }
}

void flaky_proxy::hold_back(link& l, std::chrono::milliseconds delay) {
  ::close(std::exchange(l.client, -1));
  l.held_back = l.silent = true;
  l.to_client.clear();
  l.kept_bytes += std::exchange(l.from_client, {});
  if (delay != std::chrono::milliseconds::max()) l.deliver_at = clock::now() + delay;
}

/// The end of the stream follows: the server runs all requests and closes the connection.
void flaky_proxy::deliver_kept(link& l) {
  l.deliver_at = clock::time_point::max();
  l.to_server += std::exchange(l.kept_bytes, {});
  l.ending = true;
}

void flaky_proxy::drop(link& l) {
  if (l.client >= 0) ::close(l.client);
  if (l.server >= 0) ::close(l.server);
  l.client = l.server = -1;
  l.dead = true;
}

}  // namespace holdfast::test
