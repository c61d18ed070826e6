/// The address and options of a deployment, from a URL: one server, or several that belong together.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "net/url.hpp"

namespace holdfast::net {

struct deployment_url {
  enum class kind {
    single,    ///< redis://, rediss://, redis+unix://
    sentinel,  ///< redis+sentinel://h1,h2,h3/mymaster[/db]: the master, found by its sentinels
    cluster,   ///< redis+cluster://h1,h2: all nodes of the cluster, found by these
    quorum,    ///< redis+quorum://h1,h2,h3: these, which are independent of each other
    etcd,      ///< etcd://h1,h2,h3[/prefix], etcds:// with TLS: members of one cluster of etcd
  };

  kind deployment = kind::single;
  /// The server; with several servers, the common settings of all that hold data: credentials, database, TLS.
  /// Its display is the whole URL, with *** for its password and the sentinels'.
  endpoint server;
  /// The servers that the URL names, each with a display of its own: the sentinels, with their credentials;
  /// some nodes of the cluster; the masters of the quorum. Empty for one server.
  std::vector<endpoint> hosts{};
  std::string master{};  ///< its name at the sentinels
  std::string prefix{};  ///< of all keys in etcd; empty, or it ends in a slash
  /// Maps a "host:port" that the deployment announces to the one reachable from here (NAT, containers).
  std::map<std::string, std::string, std::less<>> nat{};

  /// The endpoint of a server that is announced with this address, after `nat`; otherwise like `server`.
  [[nodiscard]] endpoint announced(std::string const& host, std::uint16_t port) const;
};

/// Reads all that parse_url does, and with the schemes redis+sentinel, redis+cluster, redis+quorum (with TLS:
/// rediss+sentinel…) several hosts with commas between. Besides its parameters: `nat=announced/reachable,…`
/// of a sentinel or cluster URL, each host:port; `sentinel_user=`, `sentinel_password=`,
/// `sentinel_tls=yes|no` of a sentinel URL. Also etcd://h1,h2,h3[/prefix], and etcds:// with `ca= cert=
/// key=`. Throws error{errc::bad_url} that names the wrong part and what is allowed, and never shows a
/// password.
[[nodiscard]] deployment_url parse_deployment_url(std::string_view url);

/// Advice about a server that lacks a command that every server with data has.
inline constexpr std::string_view advice_about_sentinels =
    "it is not a server that can keep locks; if it is a sentinel, the URL is "
    "redis+sentinel://host:26379/NAME, with the name of a master that it watches";

/// "host:port", an IPv6 address in brackets.
[[nodiscard]] std::string host_and_port(std::string const& host, std::uint16_t port);

}  // namespace holdfast::net
