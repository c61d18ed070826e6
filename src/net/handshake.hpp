/// The commands with which a connection begins: credentials, database, name.
#pragma once

#include <cstddef>
#include <holdfast/error.hpp>
#include <string>
#include <utility>
#include <vector>

#include "net/broken_connections.hpp"
#include "net/translation.hpp"
#include "net/url.hpp"
#include "resp/reply.hpp"

namespace holdfast::net {

/// AUTH, SELECT, CLIENT SETNAME, CLIENT INFO and ROLE, each only if needed, and PING, whose reply alone shows
/// that a server is still loading its data. All are sent in one write; the replies are then fed in one by
/// one. The commands that end earlier connections follow, in one or two more writes. No I/O.
class handshake {
 public:
  enum class step {
    more,       ///< feed the next reply
    send,       ///< send commands() once more, and feed their replies
    done,       ///< the connection can be used
    failed,     ///< see failure(); trying again won't help
    not_ready,  ///< the server is loading its data or busy with a script: connect again later; see failure()
    elsewhere,  ///< it isn't the master; see failure()
  };

  /// The required role of the server.
  enum class role { any, master };

  /// `asked`: CLIENT INFO is sent, so that the connection can be ended later as a loose end.
  enum class identity { unasked, asked };

  handshake(endpoint const& to, std::string client_name, role expected = role::any,
            identity own_identity = identity::unasked);

  /// Adds the ending of these connections at the server, after the other commands. Compared with this
  /// connection's number, theirs show whether the server was restarted: a number that another client's
  /// connection has now is left alone. Before the first commands().
  void end_first(std::vector<broken_connection> connections, time_point now);

  /// Adds commands whose replies tell what the server can do, refusals included. Before the first commands().
  void explore(exchange probe);

  /// The bytes of all commands that are not sent yet.
  [[nodiscard]] std::string commands();

  /// The number of replies, fed already or still to come, to all commands so far.
  [[nodiscard]] std::size_t expected() const noexcept { return steps_.size(); }

  /// Takes the next reply. After `failed`, `not_ready` or `elsewhere` the connection is of no use.
  step on_reply(resp::reply const& reply);

  /// The error of the last step, if it was one of these.
  [[nodiscard]] error failure() const;

  /// After `done`: the replies to the commands of explore().
  [[nodiscard]] std::vector<resp::reply> take_found() noexcept { return std::move(found_); }
  /// After `done`: the server's id of this connection.
  [[nodiscard]] client_info const& own_info() const noexcept { return own_info_; }
  [[nodiscard]] std::vector<broken_connection> const& ended() const noexcept { return to_end_; }
  /// Why they may not have been ended; empty: they were.
  [[nodiscard]] std::string const& not_ended() const noexcept { return not_ended_; }

 private:
  enum class request { auth, select, set_name, info, role, explore, ping, list, kill };
  struct question {
    request command;
    std::size_t target = 0;  ///< index in to_end_; of explore: which of its commands
  };

  void append(std::string& bytes, question const& asked) const;
  step next();
  void look_for_broken_connections();
  step read(question const& asked, resp::reply const& reply);
  step refused(request command, resp::reply const& reply);
  step refused_login(std::string const& text);
  step wrong_role(resp::reply const& reply);
  step fail(errc code, std::string const& reason);

  endpoint to_;
  std::string client_name_;
  std::vector<question> steps_;
  std::size_t sent_ = 0;
  std::size_t next_ = 0;
  std::string probe_;
  std::vector<resp::reply> found_;
  client_info own_info_;
  std::vector<broken_connection> to_end_;
  time_point now_{};
  bool looked_ = false;       ///< look_for_broken_connections() was called
  std::string info_refusal_;  ///< the error reply to CLIENT INFO
  std::string not_ended_;
  errc code_{};
  std::string reason_;
};

}  // namespace holdfast::net
