/// What a connection says first: who we are, and which database.
#pragma once

#include <cstddef>
#include <holdfast/error.hpp>
#include <string>
#include <vector>

#include "net/loose_ends.hpp"
#include "net/url.hpp"
#include "resp/reply.hpp"

namespace holdfast::net {

/// AUTH, SELECT, CLIENT SETNAME, CLIENT INFO and ROLE, as far as each is needed, and PING, which alone tells
/// that a server is still loading its data. All are sent in one write; the replies are then fed in one by
/// one. Where earlier connections are to be ended first, that comes behind it, in one or two writes more. No
/// I/O in here.
class handshake {
 public:
  enum class step {
    more,       ///< feed the next reply
    send,       ///< send commands() once more, and feed what they bring
    done,       ///< the connection can be used
    failed,     ///< see failure(); trying again won't help
    not_ready,  ///< the server is loading its data or busy with a script: connect again later; see failure()
    elsewhere,  ///< it isn't the master; see failure()
  };

  /// What the server has to be.
  enum class role { any, master };

  /// Whether the connection has to be found again when it is a loose end.
  enum class identity { unasked, asked };

  handshake(endpoint const& to, std::string client_name, role expected = role::any,
            identity of_ours = identity::unasked);

  /// Ends these at the server, which knows this connection by then, and so whether it has been started again:
  /// a number that somebody else has now is let be. Before the first commands().
  void end_first(std::vector<loose_end> those, time_point now);

  /// The bytes to send: what hasn't been asked for yet.
  [[nodiscard]] std::string commands();

  /// How many replies that has brought, and brings, in all.
  [[nodiscard]] std::size_t expected() const noexcept { return steps_.size(); }

  /// Takes the next reply. After `failed`, `not_ready` or `elsewhere` the connection is of no use.
  step on_reply(resp::reply const& answer);

  /// Why the last step was one of these.
  [[nodiscard]] error failure() const;

  /// Once it is done: as what the server knows this connection.
  [[nodiscard]] connection_id const& ours() const noexcept { return ours_; }
  [[nodiscard]] std::vector<loose_end> const& ended() const noexcept { return to_end_; }
  /// Why they may go on; empty: they don't.
  [[nodiscard]] std::string const& not_ended() const noexcept { return not_ended_; }

 private:
  enum class request { auth, select, set_name, info, role, ping, list, kill };
  struct question {
    request what;
    std::size_t about = 0;  ///< which of those to end
  };

  void append(std::string& bytes, question const& asked) const;
  step next();
  void look_at_loose_ends();
  step read(question const& asked, resp::reply const& answer);
  step refused(request what, resp::reply const& answer);
  step refused_login(std::string const& words);
  step wrong_role(resp::reply const& answer);
  step fail(errc code, std::string const& why);

  endpoint to_;
  std::string client_name_;
  std::vector<question> steps_;
  std::size_t sent_ = 0;
  std::size_t next_ = 0;
  connection_id ours_;
  std::vector<loose_end> to_end_;
  time_point now_{};
  bool looked_ = false;   ///< at what is to be ended
  std::string not_told_;  ///< the words with which CLIENT INFO was refused
  std::string not_ended_;
  errc code_{};
  std::string why_;
};

}  // namespace holdfast::net
