/// A server that isn't Redis: it answers the first bytes of each connection with a text of the test, and may
/// repeat another text for ever.
#pragma once

#include "support/redis_server.hpp"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <atomic>
#include <cstring>
#include <string>
#include <thread>

namespace holdfast::test {

class fake_server {
 public:
  enum class after_answer { stay_silent, repeat_for_ever, close };

  explicit fake_server(std::string answer, std::string repeated = {},
                       after_answer next = after_answer::stay_silent)
      : answer_{std::move(answer)}, repeated_{std::move(repeated)}, next_{next} {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    ::bind(listener_, generic, size);
    ::getsockname(listener_, generic, &size);
    ::listen(listener_, 64);
    port_ = ntohs(address.sin_port);
    thread_ = std::jthread{[this](std::stop_token stop) { run(stop); }};
  }
  ~fake_server() {
    thread_.request_stop();
    thread_.join();
    ::close(listener_);
  }
  fake_server(fake_server const&) = delete;
  fake_server& operator=(fake_server const&) = delete;

  [[nodiscard]] std::string url() const { return "redis://127.0.0.1:" + std::to_string(port_); }
  [[nodiscard]] std::uint64_t sent() const { return sent_; }

 private:
  static bool ready(int fd, short events) {
    auto poller = pollfd{fd, events, 0};
    return ::poll(&poller, 1, 20) > 0;
  }

  void run(std::stop_token const& stop) {
    while (!stop.stop_requested()) {
      if (!ready(listener_, POLLIN)) continue;
      auto const peer = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
      if (peer < 0) continue;
      serve(peer, stop);
      ::close(peer);
    }
  }

  /// Serves one connection at a time, until the peer or the test ends it.
  void serve(int peer, std::stop_token const& stop) {
    auto unsent = std::string{};
    auto answered = false;
    while (!stop.stop_requested()) {
      if (answered && unsent.empty() && next_ == after_answer::close) return;
      if (answered && unsent.empty() && next_ == after_answer::repeat_for_ever) unsent = repeated_;
      if (!ready(peer, unsent.empty() ? POLLIN : POLLIN | POLLOUT)) continue;
      char bytes[4096];
      auto const received = ::recv(peer, bytes, sizeof bytes, MSG_DONTWAIT);
      if (received == 0 || (received < 0 && errno != EAGAIN)) return;
      if (received > 0 && !answered) {
        unsent = answer_;
        answered = true;
      }
      if (unsent.empty()) continue;
      auto const written = ::send(peer, unsent.data(), unsent.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (written < 0 && errno != EAGAIN) return;
      if (written > 0) {
        unsent.erase(0, static_cast<std::size_t>(written));
        sent_ += static_cast<std::uint64_t>(written);
      }
    }
  }

  std::string answer_;
  std::string repeated_;
  after_answer next_;
  int listener_ = -1;
  std::uint16_t port_ = 0;
  std::atomic<std::uint64_t> sent_ = 0;
  std::jthread thread_;
};

}  // namespace holdfast::test
