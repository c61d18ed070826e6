/// Connections that broke before all was answered. What they still carry, in the network or in a proxy, must
/// not be carried out behind the copies that are sent again, so the next connection to that server ends them
/// there before anything else.
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
struct connection_id {
  std::uint64_t number = 0;  ///< never given out twice, until the server is started again; 0: not known
  std::string address{};     ///< whence it came, for the server: "10.0.0.7:51342", "/run/redis.sock:0"

  friend bool operator==(connection_id const&, connection_id const&) = default;
};

/// One that was ended on our side.
struct loose_end {
  endpoint at;
  connection_id id;
  time_point since;  ///< when the handshake was done: it is no younger
};

/// Those of one client, whichever of its connections they were. All under the client's lock.
class loose_ends {
 public:
  /// `refused` is told, once, that a server won't end them, and why.
  explicit loose_ends(std::function<void(std::string const& why)> refused);

  /// Made ready as long as all is well: what isn't noted here does harm.
  using prepared = std::list<loose_end>;
  void add(prepared&& one) noexcept;
  /// Those at that server.
  [[nodiscard]] std::vector<loose_end> at(endpoint const& server) const;
  /// They are no more, or nothing can be done about them: `refusal` says why not.
  void settle(std::vector<loose_end> const& those, std::string const& refusal);

 private:
  std::function<void(std::string const&)> refused_;
  prepared all_;
};

}  // namespace holdfast::net
