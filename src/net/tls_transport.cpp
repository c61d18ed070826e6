#include "net/tls_transport.hpp"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <atomic>
#include <boost/asio/buffer.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/write.hpp>
#include <exception>
#include <holdfast/error.hpp>
#include <mutex>
#include <optional>
#include <utility>

#include "base/fork.hpp"
#include "net/dial.hpp"
#include "reactor/room_for_one.hpp"

namespace holdfast::net {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

/// 0: not an error of TLS.
unsigned long openssl_code_of(error_code const& failure) {
  auto const of_tls = failure.category() == asio::error::get_ssl_category();
  return of_tls ? static_cast<unsigned int>(failure.value()) : 0;
}

int tls_reason_of(error_code const& failure) { return ERR_GET_REASON(openssl_code_of(failure)); }

std::string reason_of(error_code const& failure) {
  char const* const reason = ::ERR_reason_error_string(openssl_code_of(failure));
  return reason != nullptr ? reason : failure.message();
}

void check_file(error_code const& failure, std::string const& parameter, std::string const& file) {
  if (!failure) return;
  throw error{errc::bad_url,
              "URL: the parameter " + parameter + ": can't use the file " + file + ": " + reason_of(failure)};
}

/// Read once and never freed: reading a hundred and more certificates takes longer than connecting to a
/// server. Not a dynamically initialized function-local static: a child forked during its initialization
/// would wait for ever.
X509_STORE* authorities_of_the_system() {
  static constinit X509_STORE* store = nullptr;
  std::lock_guard const hold{guard_across_fork(static_cast<void const*>(&store))};
  if (store == nullptr) {
    store = ::X509_STORE_new();
    if (store != nullptr) ::X509_STORE_set_default_paths(store);  // without them no certificate is trusted
  }
  return store;
}

/// Throws if a setting of OpenSSL failed, since a connection without it would not be safe.
void must(bool done, char const* problem) {
  if (!done) throw error{errc::unreachable, std::string{"TLS: "} + problem};
}

asio::ssl::context make_context(tls_options const& options) {
  // Before anything else uses it: OpenSSL must not end itself in exit(), where a client may have to connect
  // once more to give its locks back, and its thread may connect at any time.
  ::OPENSSL_init_ssl(OPENSSL_INIT_NO_ATEXIT | OPENSSL_INIT_LOAD_SSL_STRINGS, nullptr);
  asio::ssl::context context{asio::ssl::context::tls_client};
  must(::SSL_CTX_set_min_proto_version(context.native_handle(), TLS1_2_VERSION) == 1,
       "OpenSSL has no TLS 1.2");
  error_code failure;
  if (options.ca.empty()) {
    if (options.verify) {
      auto* const known = authorities_of_the_system();
      must(known != nullptr, "no memory for the authorities of the system");
      ::SSL_CTX_set1_cert_store(context.native_handle(), known);
    }
  } else {
    context.load_verify_file(options.ca, failure);
    check_file(failure, "ca", options.ca);
  }
  // Without this OpenSSL asks on the terminal for the passphrase of an encrypted key.
  context.set_password_callback([](std::size_t, auto) { return std::string{}; });
  if (!options.cert.empty()) {
    context.use_certificate_chain_file(options.cert, failure);
    check_file(failure, "cert", options.cert);
    context.use_private_key_file(options.key, asio::ssl::context::pem, failure);
    check_file(failure, "key", options.key);
  }
  context.set_verify_mode(options.verify ? asio::ssl::verify_peer : asio::ssl::verify_none);
  return context;
}

/// Sets the server name to send (SNI), and the name or address that its certificate must have. False: OpenSSL
/// doesn't accept the name, and would then accept any certificate.
bool set_name(SSL* ssl, std::string const& host, tls_options const& options) {
  error_code not_numeric;
  auto const ip = asio::ip::make_address(host, not_numeric);
  auto* const checks = ::SSL_get0_param(ssl);
  if (not_numeric) {
    // OpenSSL treats an empty name as no name, and a name that begins with a dot as all names below it.
    if (host.empty() || host.front() == '.' || host.find('\0') != std::string::npos) return !options.verify;
    if (::SSL_set_tlsext_host_name(ssl, host.c_str()) != 1) return false;
    if (!options.verify) return true;
    ::X509_VERIFY_PARAM_set_hostflags(checks, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    return ::X509_VERIFY_PARAM_set1_host(checks, host.data(), host.size()) == 1;
  }
  if (!options.verify) return true;
  // The address without its scope ("fe80::1%eth0"): the scope is an interface of this machine, which no
  // certificate names.
  auto const set = [checks](auto const& bytes) {
    return ::X509_VERIFY_PARAM_set1_ip(checks, bytes.data(), bytes.size()) == 1;
  };
  return ip.is_v6() ? set(ip.to_v6().to_bytes()) : set(ip.to_v4().to_bytes());
}

constexpr char const* without_tls =
    "is that a TLS port? Without TLS the URL begins with redis instead of rediss";

/// Everything runs in the loop's thread, since an SSL object isn't thread-safe: calls from other threads are
/// posted there.
class tls_transport final : public transport, public std::enable_shared_from_this<tls_transport> {
 public:
  tls_transport(asio::io_context& io, endpoint const& to)
      : io_{io},
        host_{to.host},
        options_{to.tls},
        context_{make_context(to.tls)},
        dial_{std::make_shared<dial>(io, to)} {}

  void async_connect(connect_handler done) override {
    dial_->start([self = shared_from_this(), done = std::move(done)](std::string const& failure,
                                                                     stream_socket socket) mutable {
      if (!failure.empty()) return done(failure);
      if (self->closed_) return done(self->failed(asio::error::operation_aborted));
      self->shake_hands(std::move(socket), std::move(done));
    });
  }

  void async_read_some(char* into, std::size_t size, io_handler done) override {
    in_loop(done, [this, into, size](io_handler const& then) {
      stream_->async_read_some(asio::buffer(into, size),
                               [self = shared_from_this(), then](error_code failure, std::size_t n) {
                                 // Redis hangs up without TLS's close_notify: an ordinary end.
                                 if (failure == asio::ssl::error::stream_truncated)
                                   failure = asio::error::eof;
                                 then(as_aborted(failure), n);
                               });
    });
  }

  void async_write(std::string_view bytes, io_handler done) override {
    // A copy: the owner clears its bytes when it closes, while a pending step may still read them.
    out_ = bytes;
    in_loop(done, [this](io_handler const& then) {
      asio::async_write(*stream_, asio::buffer(out_),
                        [self = shared_from_this(), then](error_code failure, std::size_t n) {
                          then(as_aborted(failure), n);
                        });
    });
  }

  std::size_t try_write(std::string_view, error_code& failure) override {
    failure.clear();
    return 0;
  }

  [[nodiscard]] bool direct() const noexcept override { return false; }

  void close() noexcept override { end(); }

  void reset() noexcept override {
    resets_ = true;
    end();
  }

  /// A port without TLS may wait for the rest of a request for ever, instead of refusing it.
  [[nodiscard]] std::string peer() const override {
    return dial_->peer() + (shakes_hands_ ? ", which takes connections but has not answered with TLS; " +
                                                std::string{without_tls}
                                          : "");
  }

  /// With TLS 1.3 the server's refusal of our certificate arrives after the handshake has ended on our side.
  [[nodiscard]] std::string words_for(error_code const& failure) const override {
    return reason_of(failure) + advice_on_own_certificate(failure);
  }

 private:
  /// Calls begin(done) in the loop's thread, at once or soon.
  template <class Begin>
  void in_loop(io_handler const& done, Begin begin) {
    if (io_.get_executor().running_in_this_thread()) {
      if (stream_) return begin(done);
      return abort(done);
    }
    asio::post(io_, [self = shared_from_this(), done, begin] {
      if (!self->stream_) return done(asio::error::operation_aborted, 0);
      try {
        begin(done);
      } catch (std::exception const&) {
        done(asio::error::no_memory, 0);
      }
    });
  }

  /// Allocates nothing: the call has its room in room_.
  void end() noexcept {
    dial_->cancel();
    if (std::exchange(ends_, true)) return;
    asio::dispatch(io_, reactor::in_room{&room_, [self = shared_from_this()] { self->close_socket(); }});
  }

  /// In the loop's thread.
  void close_socket() noexcept {
    closed_ = true;
    if (!stream_) return;
    if (resets_) throw_away_unsent(stream_->next_layer());
    error_code ignored;
    stream_->lowest_layer().close(ignored);
  }

  void shake_hands(stream_socket socket, connect_handler done) {
    stream_.emplace(std::move(socket), context_);
    if (!set_name(stream_->native_handle(), host_, options_)) {
      done("TLS handshake with " + dial_->peer() + ": no certificate can be checked for the name \"" +
           std::string{host_.c_str()} + "\"");
      return;
    }
    shakes_hands_ = true;
    stream_->async_handshake(asio::ssl::stream_base::client,
                             [self = shared_from_this(), done = std::move(done)](error_code failure) {
                               self->shakes_hands_ = false;
                               done(failure ? self->failed(as_aborted(failure)) : std::string{});
                             });
  }

  [[nodiscard]] std::string failed(error_code const& failure) {
    std::string text = "TLS handshake with " + dial_->peer() + ": ";
    if (failure == asio::ssl::error::stream_truncated || failure == asio::error::eof) {
      return text + "the server hung up (" + without_tls + ")";
    }
    text += words_for(failure);
    if (tls_reason_of(failure) == SSL_R_WRONG_VERSION_NUMBER) return text + " (" + without_tls + ")";
    auto const verdict = stream_ ? ::SSL_get_verify_result(stream_->native_handle()) : X509_V_OK;
    if (options_.verify && verdict != X509_V_OK)
      text += " (" + std::string{::X509_verify_cert_error_string(verdict)} + ")" + advice_on(verdict);
    return text;
  }

  /// Advice for when the server refuses our certificate, or the lack of one.
  [[nodiscard]] std::string advice_on_own_certificate(error_code const& failure) const {
    auto const reason = tls_reason_of(failure);
    if (options_.cert.empty()) {
      return reason == SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED ||
                     reason == SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE
                 ? "; if it asks for a certificate of ours, name it in the URL: cert=FILE&key=FILE"
                 : "";
    }
    return reason == SSL_R_TLSV1_ALERT_UNKNOWN_CA || reason == SSL_R_SSLV3_ALERT_BAD_CERTIFICATE
               ? "; it doesn't trust cert=" + options_.cert + " in the URL"
               : "";
  }

  /// Advice for a certificate that isn't trusted.
  [[nodiscard]] std::string advice_on(long verdict) const {
    switch (verdict) {
      case X509_V_ERR_HOSTNAME_MISMATCH:
      case X509_V_ERR_IP_ADDRESS_MISMATCH:
        return "; the certificate has to name " + host_;
      case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
      case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
      case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
      case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
      case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
      case X509_V_ERR_CERT_SIGNATURE_FAILURE:
        return options_.ca.empty() ? "; name the file of its authority in the URL: ca=FILE"
                                   : "; ca=" + options_.ca + " in the URL isn't the file of its authority";
      default:
        return {};
    }
  }

  void abort(io_handler const& done) {
    asio::post(io_, [self = shared_from_this(), done] { done(asio::error::operation_aborted, 0); });
  }

  asio::io_context& io_;
  std::string const host_;
  tls_options const options_;
  asio::ssl::context context_;
  std::shared_ptr<dial> const dial_;
  std::optional<asio::ssl::stream<stream_socket>> stream_;
  std::string out_;  ///< being written
  bool closed_ = false;
  bool ends_ = false;                      ///< close_socket() was dispatched
  std::atomic<bool> shakes_hands_{false};  ///< connected, and not yet by TLS
  std::atomic<bool> resets_{false};        ///< close_socket() is to discard unsent bytes
  reactor::room_for_one room_;
};

}  // namespace

std::shared_ptr<transport> make_tls_transport(asio::io_context& io, endpoint const& to) {
  return std::make_shared<tls_transport>(io, to);
}

}  // namespace holdfast::net
