/// Plain commands to a server, to examine the server itself, for which the library has no interface.
#pragma once

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast {
struct call;
}  // namespace holdfast
namespace holdfast::net {
struct endpoint;
}  // namespace holdfast::net
namespace holdfast::resp {
struct reply;
}  // namespace holdfast::resp

namespace holdfast::probe {

/// A reply of the server, or a refusal.
struct reply {
  bool refused = false;
  bool hung_up = false;  ///< refused without a text: the server or a proxy closed the connection
  std::string text{};    ///< a number in decimal; of a refusal, its text
  std::vector<reply> parts{};
};

/// The result of sending a message to oneself.
struct delivery {
  enum class outcome { received, not_subscribed, not_published, silent };
  outcome result = outcome::silent;
  std::string text{};  ///< of a refusal
};

/// The servers that deliver a message.
enum class message_reach : std::uint8_t {
  everywhere,  ///< all servers of the deployment
  slot,        ///< the cluster node that serves the channel's slot
};

/// The transport of the connection.
enum class transport_kind { plain, tls, local };

/// A range of hash slots, including both ends.
struct slot_range {
  std::uint16_t first = 0;
  std::uint16_t last = 0;
};

/// The names whose rights are examined: all that begin with `prefix`, or those that belong to `lock`.
struct name_scope {
  std::string prefix{};  ///< empty: none in particular
  std::string lock{};    ///< empty: none in particular
};

/// The keys and the channel beside a lock, and the names that belong to this session.
struct probe_names {
  std::string lock{};
  std::string counter{};
  std::string queue{};
  std::string inbox{};
  std::string record{};
  std::string hints{};
  std::string stranger{};  ///< a key that no client uses, and that has none of the prefixes
};

/// Rules in the syntax of ACL SETUSER.
struct name_rules {
  std::string keys{};
  std::string channels{};
  std::string records{};
  std::string hints{};
  std::string whole{};       ///< all of them and the commands; empty: not expressible, or no scope
  std::string in_cluster{};  ///< the additional commands for a cluster
};

/// A separate connection, like that of a client. Each command blocks until its reply arrives, and throws
/// errc::unreachable and the like when the server can't be asked. Not thread-safe.
class server_session {
 public:
  /// Sends no request.
  explicit server_session(net::endpoint const& server, name_scope const& scope = {});
  ~server_session();
  server_session(server_session const&) = delete;
  server_session& operator=(server_session const&) = delete;

  /// Without its password.
  [[nodiscard]] std::string const& url() const noexcept;
  /// The user name on the server.
  [[nodiscard]] std::string user() const;
  [[nodiscard]] transport_kind transport() const noexcept;
  /// Unused names of the kinds that the product uses.
  [[nodiscard]] probe_names const& names() const noexcept;
  [[nodiscard]] name_scope const& scope() const noexcept;
  [[nodiscard]] name_rules const& rules() const noexcept;
  /// A key beside that lock.
  [[nodiscard]] std::string beside(std::string_view lock) const;
  /// For a cluster node, which accepts keys of some slots only: moves names() into one of these slots. No
  /// effect if `own` is empty.
  void use_slots(std::vector<slot_range> const& own);

  [[nodiscard]] reply ask(std::initializer_list<std::string_view> words);
  /// For commands that a proxy may not know: a closed connection counts as a refusal, after some seconds.
  [[nodiscard]] reply try_to_ask(std::initializer_list<std::string_view> words);

  [[nodiscard]] resp::reply ask(call const& script);

  /// Runs a script of the product, and again from the server's cache. It has no effect, since the lock of
  /// names() is not held. Returns the first refusal of the two.
  [[nodiscard]] reply run_script();
  /// Subscribes a channel on one more connection, publishes to it, and waits for the message.
  [[nodiscard]] delivery message_to_itself(message_reach reach);

 private:
  struct impl;
  std::unique_ptr<impl> impl_;
};

}  // namespace holdfast::probe
