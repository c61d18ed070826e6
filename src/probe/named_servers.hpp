/// The servers that a URL names, one or several, and sessions with each of them.
#pragma once

#include <holdfast/options.hpp>

#include "net/server_address.hpp"
#include "probe/deployment_kind.hpp"
#include "probe/server_session.hpp"

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::probe {

using net::server_address;

/// Sends no request itself; its sessions do.
class named_servers {
 public:
  /// Throws errc::bad_url.
  explicit named_servers(std::string_view url, name_scope scope = {});
  ~named_servers();
  named_servers(named_servers const&) = delete;
  named_servers& operator=(named_servers const&) = delete;

  [[nodiscard]] deployment_kind kind() const noexcept;
  /// The format of locks that the URL names; automatic: none.
  [[nodiscard]] holdfast::wire wire() const noexcept;
  /// Whether one request can be about all these keys.
  [[nodiscard]] bool keep_together(std::span<std::string const> keys) const noexcept;
  /// Without its passwords.
  [[nodiscard]] std::string const& url() const noexcept;
  /// For a client; not to be shown.
  [[nodiscard]] std::string const& url_with_passwords() const noexcept;
  /// Of all keys in etcd; empty, or it ends in a slash.
  [[nodiscard]] std::string const& key_prefix() const noexcept;
  /// The names that are meant.
  [[nodiscard]] name_scope const& scope() const noexcept;
  /// The name of the master for the sentinels.
  [[nodiscard]] std::string const& master() const noexcept;
  /// The hosts that the URL names: the sentinels, some nodes, the masters of the quorum. Empty for one
  /// server.
  [[nodiscard]] std::vector<server_address> const& hosts() const noexcept;

  /// A session with the only server.
  [[nodiscard]] std::unique_ptr<server_session> to_server() const;
  /// A session with one of hosts().
  [[nodiscard]] std::unique_ptr<server_session> to_host(std::size_t index) const;
  /// A session with a server with data, at an address that other servers announced.
  [[nodiscard]] std::unique_ptr<server_session> to_announced(server_address const&) const;
  /// A session with a sentinel, at an address that other sentinels announced.
  [[nodiscard]] std::unique_ptr<server_session> to_sentinel(server_address const&) const;

 private:
  struct impl;
  std::unique_ptr<impl> impl_;
};

}  // namespace holdfast::probe
