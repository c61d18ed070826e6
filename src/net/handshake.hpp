/// What a connection says first: who we are, and which database.
#pragma once

#include <cstddef>
#include <holdfast/error.hpp>
#include <string>
#include <vector>

#include "net/url.hpp"
#include "resp/reply.hpp"

namespace holdfast::net {

/// AUTH, SELECT, CLIENT SETNAME and ROLE, as far as each is needed, and PING, which alone tells that a server
/// is still loading its data. All are sent in one write; the replies are then fed in one by one. No I/O in
/// here.
class handshake {
 public:
  enum class step {
    more,       ///< feed the next reply
    done,       ///< the connection can be used
    failed,     ///< see failure(); trying again won't help
    not_ready,  ///< the server is loading its data or busy with a script: connect again later; see failure()
    elsewhere,  ///< it isn't the master; see failure()
  };

  /// What the server has to be.
  enum class role { any, master };

  handshake(endpoint const& to, std::string client_name, role expected = role::any);

  /// The bytes to send.
  [[nodiscard]] std::string commands() const;

  /// How many replies they bring.
  [[nodiscard]] std::size_t expected() const noexcept { return steps_.size(); }

  /// Takes the next reply. After `failed`, `not_ready` or `elsewhere` the connection is of no use.
  step on_reply(resp::reply const& answer);

  /// Why the last step was one of these.
  [[nodiscard]] error failure() const;

 private:
  enum class request { auth, select, set_name, role, ping };

  step refused(request what, resp::reply const& answer);
  step refused_login(std::string const& words);
  step wrong_role(resp::reply const& answer);
  step fail(errc code, std::string const& why);

  endpoint to_;
  std::string client_name_;
  std::vector<request> steps_;
  std::size_t next_ = 0;
  errc code_{};
  std::string why_;
};

}  // namespace holdfast::net
