/// The bytes of a visitor of `holdfast serve`, over TLS or as they are. For http_server.cpp only.
#pragma once

#include <boost/asio/buffer.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/beast/core/basic_stream.hpp>
#include <boost/container/static_vector.hpp>
#include <boost/system/error_code.hpp>

#include <openssl/x509.h>

#include <holdfast/move_only_function.hpp>

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace holdfast::cli::over_beast {

namespace asio = boost::asio;
using protocol = asio::generic::stream_protocol;
using executor = asio::io_context::executor_type;
using stream = boost::beast::basic_stream<protocol, executor>;

/// What is called with the bytes that were read or written, whatever waits for them: there are a dozen of
/// operations, and for each the compiler would make all that is below it anew, which took twenty seconds.
using bytes_handler = move_only_function<void(boost::system::error_code, std::size_t)>;

/// One class for both, so that what is built on it is compiled once. Not movable: TLS refers to the stream.
class visitor_stream {
 public:
  using executor_type = executor;

  /// `tls`: nullptr for none.
  visitor_stream(stream::socket_type socket, asio::ssl::context* const tls) : below_{std::move(socket)} {
    if (tls != nullptr) tls_.emplace(below_, *tls);
  }

  [[nodiscard]] executor_type get_executor() noexcept { return below_.get_executor(); }
  /// Time-outs are set, and bytes are taken from the socket, below TLS.
  [[nodiscard]] stream& below() noexcept { return below_; }
  [[nodiscard]] bool is_secure() const noexcept { return tls_.has_value(); }

  /// Into the first of the buffers that has room.
  template <class Buffers, class Handler>
  void async_read_some(Buffers const& to, Handler&& handler) {
    auto buffer = asio::buffer_sequence_begin(to);
    auto const end = asio::buffer_sequence_end(to);
    asio::mutable_buffer first;
    while (first.size() == 0 && buffer != end) first = *buffer++;
    read_some(first, bytes_handler{std::forward<Handler>(handler)});
  }
  template <class Buffers, class Handler>
  void async_write_some(Buffers const& from, Handler&& handler) {
    some_buffers some;
    for (auto buffer = asio::buffer_sequence_begin(from), end = asio::buffer_sequence_end(from);
         buffer != end && some.size() < most_buffers; ++buffer)
      some.push_back(*buffer);
    write_some(some, bytes_handler{std::forward<Handler>(handler)});
  }
  template <class Handler>
  void async_handshake(Handler&& handler) {
    tls_->async_handshake(asio::ssl::stream_base::server, std::forward<Handler>(handler));
  }

  /// The common name in the client's certificate, or all of its subject if it has none; empty: it sent no
  /// certificate. After the handshake, which has verified it.
  [[nodiscard]] std::string certified_name() {
    if (!tls_) return {};
    std::unique_ptr<X509, decltype(&X509_free)> const certificate{
        SSL_get1_peer_certificate(tls_->native_handle()), &X509_free};
    if (!certificate) return {};
    auto* const subject = X509_get_subject_name(certificate.get());
    std::array<char, 256> text{};
    auto const size = X509_NAME_get_text_by_NID(subject, NID_commonName, text.data(), text.size());
    if (size > 0) return {text.data(), static_cast<std::size_t>(size)};  // whatever bytes are in it
    X509_NAME_oneline(subject, text.data(), text.size());
    return text.data();
  }

 private:
  /// As many as one call to the kernel takes.
  static constexpr std::size_t most_buffers = 64;
  using some_buffers = boost::container::static_vector<asio::const_buffer, most_buffers>;

  void read_some(asio::mutable_buffer const to, bytes_handler handler) {
    if (tls_) {
      tls_->async_read_some(to, std::move(handler));
    } else {
      below_.async_read_some(to, std::move(handler));
    }
  }
  void write_some(some_buffers const& from, bytes_handler handler) {
    if (tls_) {
      tls_->async_write_some(from, std::move(handler));
    } else {
      below_.async_write_some(from, std::move(handler));
    }
  }

  stream below_;
  std::optional<asio::ssl::stream<stream&>> tls_{};
};

}  // namespace holdfast::cli::over_beast
