/// A client of `holdfast serve` in tests that speaks TLS.
#pragma once

#include "http_visitor.hpp"

#include <openssl/ssl.h>

#include <sys/time.h>

#include <array>
#include <csignal>
#include <cstdint>
#include <memory>
#include <string>

namespace holdfast::test {

/// Whom a client believes, and what it says of itself: files in PEM format. Without a certificate it has
/// none.
struct tls_identity {
  std::string ca{};
  std::string certificate{};
  std::string key{};
};

/// One connection, which blocks, for half a minute at the most.
class https_connection {
 public:
  https_connection(std::uint16_t const port, tls_identity const& as)
      : tcp_{port}, context_{SSL_CTX_new(TLS_client_method()), &SSL_CTX_free} {
    timeval const patience{.tv_sec = 30, .tv_usec = 0};
    setsockopt(tcp_.file(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    SSL_CTX_load_verify_file(context_.get(), as.ca.c_str());
    SSL_CTX_set_verify(context_.get(), SSL_VERIFY_PEER, nullptr);
    if (!as.certificate.empty()) {
      SSL_CTX_use_certificate_file(context_.get(), as.certificate.c_str(), SSL_FILETYPE_PEM);
      SSL_CTX_use_PrivateKey_file(context_.get(), as.key.c_str(), SSL_FILETYPE_PEM);
    }
    tls_.reset(SSL_new(context_.get()));
    SSL_set_fd(tls_.get(), tcp_.file());
    verified_ = SSL_connect(tls_.get()) == 1;
  }

  ~https_connection() { std::signal(SIGPIPE, before_); }
  https_connection(https_connection const&) = delete;
  https_connection& operator=(https_connection const&) = delete;

  /// By this client. The server may refuse its certificate later.
  [[nodiscard]] bool verified() const noexcept { return verified_; }
  void send(std::string const& text) { SSL_write(tls_.get(), text.data(), static_cast<int>(text.size())); }
  /// Waits for it. False: the connection has ended before.
  bool gets(std::string const& part) {
    while (text_.find(part) == std::string::npos) {
      if (!read()) return false;
    }
    return true;
  }
  std::string const& all() {
    while (read()) {
    }
    return text_;
  }

 private:
  bool read() {
    std::array<char, 4'096> bytes{};
    int const size = SSL_read(tls_.get(), bytes.data(), static_cast<int>(bytes.size()));
    if (size > 0) text_.append(bytes.data(), static_cast<std::size_t>(size));
    return size > 0;
  }

  void (*before_)(int) = std::signal(SIGPIPE, SIG_IGN);  // OpenSSL writes to connections that may have ended
  http_connection tcp_;
  std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context_;
  std::unique_ptr<SSL, decltype(&SSL_free)> tls_{nullptr, &SSL_free};
  bool verified_ = false;
  std::string text_{};
};

/// Status 0: there was no answer.
inline http_answer https_exchange(std::uint16_t port, tls_identity const& as, std::string const& request) {
  https_connection connection{port, as};
  if (!connection.verified()) return {};
  connection.send(request);
  return http_answer_in(connection.all());
}

}  // namespace holdfast::test
