/// The certificates with which `holdfast serve` speaks TLS.
#pragma once

#include <openssl/types.h>

#include <memory>
#include <string>

namespace holdfast::cli {

struct tls_files {
  std::string certificate{};  ///< with its chain, as PEM; empty: no TLS
  std::string key{};
  std::string
      client_ca{};  ///< each visitor must have a certificate of these authorities; empty: none needs one
};

struct end_of_tls_context {
  void operator()(SSL_CTX* context) const noexcept;
};
using tls_context = std::unique_ptr<SSL_CTX, end_of_tls_context>;

/// Throws failure, which names the option, for files that can't be read, don't belong together, or that all
/// users may read though one is a key. Without a certificate there is no context.
[[nodiscard]] tls_context make_tls_context(tls_files const& files);

/// Throws failure if all users may read the file, which has a secret.
void check_secret_file(std::string const& option, std::string const& path);

}  // namespace holdfast::cli
