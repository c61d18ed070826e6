#include "serve/tls_context.hpp"

#include "common/exit_codes.hpp"

#include <fmt/format.h>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/stat.h>

#include <cstddef>
#include <string_view>

namespace holdfast::cli {
namespace {

[[noreturn]] void refuse_file(std::string_view const option, std::string_view const path,
                              std::string_view const wanted) {
  auto const* const reason = ERR_reason_error_string(ERR_peek_last_error());
  throw failure{usage, fmt::format("{}: {} is no {}: {}", option, path, wanted,
                                   reason == nullptr ? "it can't be read" : reason)};
}

/// Otherwise OpenSSL would ask on the terminal for the passphrase of an encrypted key.
int no_passphrase(char* const text, int const size, int, void*) {
  if (size > 0) *text = '\0';
  return 0;
}

}  // namespace

void end_of_tls_context::operator()(SSL_CTX* const context) const noexcept { SSL_CTX_free(context); }

void check_secret_file(std::string const& option, std::string const& path) {
  struct stat facts{};
  if (stat(path.c_str(), &facts) == 0 && (facts.st_mode & S_IROTH) != 0)
    throw failure{usage, fmt::format("{}: all users may read {}; chmod o-r it", option, path)};
}

tls_context make_tls_context(tls_files const& files) {
  if (files.certificate.empty()) return {};
  check_secret_file("--tls-key", files.key);
  // As the clients of the library do it: OpenSSL must not end itself in exit().
  OPENSSL_init_ssl(OPENSSL_INIT_NO_ATEXIT | OPENSSL_INIT_LOAD_SSL_STRINGS, nullptr);
  tls_context context{SSL_CTX_new(TLS_server_method())};
  auto* const raw = context.get();
  if (raw == nullptr || SSL_CTX_set_min_proto_version(raw, TLS1_2_VERSION) != 1)
    throw failure{internal, "OpenSSL has no TLS 1.2"};
  // What a client costs is bounded: it can't begin a handshake again, nor have this process keep its session,
  // and an idle connection has no buffers of OpenSSL's.
  SSL_CTX_set_options(raw, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  SSL_CTX_set_session_cache_mode(raw, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_mode(raw, SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_default_passwd_cb(raw, no_passphrase);
  ERR_clear_error();
  if (SSL_CTX_use_certificate_chain_file(raw, files.certificate.c_str()) != 1)
    refuse_file("--tls-cert", files.certificate, "certificate in PEM format");
  if (SSL_CTX_use_PrivateKey_file(raw, files.key.c_str(), SSL_FILETYPE_PEM) != 1)
    refuse_file("--tls-key", files.key, "key in PEM format without a passphrase, for that certificate");
  if (files.client_ca.empty()) return context;
  // A session that is continued is one that was verified here.
  constexpr unsigned char session_context[] = "holdfast serve";
  SSL_CTX_set_session_id_context(raw, session_context, sizeof session_context - 1);
  auto* const names = SSL_load_client_CA_file(files.client_ca.c_str());
  if (names == nullptr || SSL_CTX_load_verify_file(raw, files.client_ca.c_str()) != 1)
    refuse_file("--client-ca", files.client_ca, "file of certificates in PEM format");
  SSL_CTX_set_client_CA_list(raw, names);
  SSL_CTX_set_verify(raw, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  return context;
}

}  // namespace holdfast::cli
