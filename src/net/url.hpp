/// The address and options of a server, from a URL.
#pragma once

#include <holdfast/options.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace holdfast::net {

/// Files in PEM; an empty name means none.
struct tls_options {
  std::string ca;      ///< authorities to trust instead of the system's
  std::string cert;    ///< our certificate chain
  std::string key;     ///< its private key
  bool verify = true;  ///< check the server's certificate and its name
};

struct endpoint {
  enum class scheme { tcp, tls, unix_socket, memory };

  scheme transport = scheme::tcp;
  std::string host;
  std::uint16_t port = 6379;
  std::string path;  ///< of the unix socket
  std::string user;
  std::string password;
  int db = 0;
  tls_options tls;
  holdfast::wire wire = holdfast::wire::automatic;  ///< the format of locks there; automatic: not given
  holdfast::cas cas = holdfast::cas::automatic;
  holdfast::script_calls scripts = holdfast::script_calls::automatic;
  std::string display;  ///< the URL for messages, its password as ***
};

/// Reads `redis://[user:password@]host[:port][/db]`, `rediss://` (TLS) with `?ca= cert= key= verify=`,
/// `redis+unix://[user:password@]/path/of/socket[?db=n]` (or `unix://`), plain `host[:port]`, and
/// `memory://[name]`, which is for tests (holdfast/testing.hpp); any may have `?wire=plain|redisson`,
/// `?cas=auto|native|module|lua` and `?scripts=yes|no`. Throws error{errc::bad_url} that names the wrong part
/// and what is allowed, and never shows the password. `taken`: parameters that the caller has taken out of
/// the URL, for the message about one that isn't known, as in "nat, ".
[[nodiscard]] endpoint parse_url(std::string_view url, std::string_view taken = {});

}  // namespace holdfast::net
