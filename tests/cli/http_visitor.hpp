/// A client of `holdfast serve` in tests: requests byte by byte, over connections of its own.
#pragma once

#include "support/eventually.hpp"

#include <nlohmann/json.hpp>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

namespace holdfast::test {

/// One connection. What has come is kept.
class http_connection {
 public:
  explicit http_connection(std::uint16_t port) : file_{socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)} {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (connect(file_, reinterpret_cast<sockaddr const*>(&address), sizeof address) != 0) {
      close(file_);
      throw std::runtime_error{"can't connect to port " + std::to_string(port)};
    }
  }
  ~http_connection() { close(file_); }
  http_connection(http_connection&& other) noexcept
      : file_{std::exchange(other.file_, -1)}, text_{std::move(other.text_)}, ended_{other.ended_} {}
  http_connection(http_connection const&) = delete;
  http_connection& operator=(http_connection const&) = delete;

  [[nodiscard]] int file() const noexcept { return file_; }
  /// False: the other side has closed.
  bool send(std::string const& text) {
    return ::send(file_, text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size());
  }
  /// All that has come by now.
  std::string const& received() {
    std::array<char, 65'536> bytes{};
    for (;;) {
      auto const size = recv(file_, bytes.data(), bytes.size(), MSG_DONTWAIT);
      if (size <= 0) {
        ended_ = ended_ || size == 0 || (errno != EAGAIN && errno != EINTR);
        return text_;
      }
      text_.append(bytes.data(), static_cast<std::size_t>(size));
    }
  }
  /// Whether the other side has closed.
  bool ended() {
    (void)received();
    return ended_;
  }
  bool gets(std::string const& part) {
    return eventually([&] { return received().find(part) != std::string::npos; });
  }

 private:
  int file_;
  std::string text_{};
  bool ended_ = false;
};

struct http_answer {
  int status = 0;
  std::string head{};
  std::string body{};

  /// An empty object for a body that is no JSON.
  [[nodiscard]] nlohmann::json json() const {
    auto value = nlohmann::json::parse(body, nullptr, false);
    return value.is_discarded() ? nlohmann::json::object() : value;
  }
  /// Of the header; empty: there is none.
  [[nodiscard]] std::string header(std::string const& name) const {
    auto const begin = head.find("\r\n" + name + ": ");
    if (begin == std::string::npos) return {};
    auto const value = begin + name.size() + 4;
    return head.substr(value, head.find("\r\n", value) - value);
  }
};

/// Status 0: it isn't one.
inline http_answer http_answer_in(std::string const& text) {
  http_answer answer;
  auto const end = text.find("\r\n\r\n");
  if (text.size() < 12 || end == std::string::npos) return answer;
  answer.status = std::stoi(text.substr(9, 3));
  answer.head = text.substr(0, end + 2);
  answer.body = text.substr(end + 4);
  return answer;
}

/// Sends a request, and reads until the connection ends.
inline http_answer http_exchange(std::uint16_t port, std::string const& request) {
  http_connection connection{port};
  connection.send(request);
  (void)eventually([&] { return connection.ended(); });
  return http_answer_in(connection.received());
}

inline std::string http_request_text(std::uint16_t port, std::string const& method, std::string const& target,
                                     std::string const& headers = {}, std::string const& body = {}) {
  auto text = method + " " + target + " HTTP/1.1\r\nConnection: close\r\n";
  if (headers.find("Host: ") == std::string::npos) text += "Host: 127.0.0.1:" + std::to_string(port) + "\r\n";
  if (!body.empty()) text += "Content-Length: " + std::to_string(body.size()) + "\r\n";
  return text + headers + "\r\n" + body;
}

}  // namespace holdfast::test
