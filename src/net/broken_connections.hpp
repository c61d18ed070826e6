/// Connections that broke before all replies came. Requests that they still carry, in the network or in a
/// proxy, must not be executed after the copies that are sent again. So the next connection to that server
/// first ends them there.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "net/url.hpp"

namespace holdfast::net {

/// A connection as its server knows it, from CLIENT INFO.
struct client_info {
  std::uint64_t number = 0;  ///< unique until the server is restarted; 0: not known
  std::string address{};     ///< the client's address at the server: "10.0.0.7:51342", "/run/redis.sock:0"

  friend bool operator==(client_info const&, client_info const&) = default;
};

/// A connection that was ended on our side.
struct broken_connection {
  endpoint at;
  client_info id;
  time_point greeted_at;  ///< when the handshake was done: the connection is at least as old
};

/// The broken connections of all connections of a client. All under the client's lock.
class broken_connections {
 public:
  /// `refused` is called once, when a server won't end them, with the reason.
  explicit broken_connections(std::function<void(std::string const& reason)> refused);

  /// Allocated while the connection is up, so that add() can't fail: a missing record would do harm.
  using prepared = std::list<broken_connection>;
  void add(prepared&& ended) noexcept;
  /// The broken connections at that server.
  [[nodiscard]] std::vector<broken_connection> at(endpoint const& server) const;
  /// Removes them: the server has ended them, or won't, with `refusal` as the reason.
  void settle(std::vector<broken_connection> const& settled, std::string const& refusal);

 private:
  std::function<void(std::string const&)> refused_;
  prepared all_;
};

}  // namespace holdfast::net
