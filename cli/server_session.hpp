/// Plain commands to a server: for looking at the server itself, which the library has no words for.
#pragma once

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::net {
struct endpoint;
}  // namespace holdfast::net

namespace holdfast::cli {

/// What the server answered. A refusal is an answer, too.
struct answer {
  bool refused = false;
  bool hung_up = false;  ///< refused without words: whoever was asked closes the connection
  std::string text{};    ///< a number in decimal; of a refusal, the words of who refused
  std::vector<answer> parts{};
};

/// How a message to oneself went.
struct delivery {
  enum class outcome { received, not_subscribed, not_published, silent };
  outcome how = outcome::silent;
  std::string words{};  ///< of who refused
};

/// Who hears a message.
enum class message_reach : std::uint8_t {
  everywhere,  ///< all servers that belong together
  slot,        ///< of a cluster the node that has the channel's slot
};

/// What the connection goes over.
enum class line_kind { plain, tls, local };

/// Hash slots, both ends among them.
struct slot_range {
  std::uint16_t first = 0;
  std::uint16_t last = 0;
};

/// Whose rights are looked at: those to all names that begin with `prefix`, or to what belongs to `lock`.
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
  std::string stranger{};  ///< a key that is nobody's, and has none of the prefixes of others
};

/// As ACL SETUSER has them.
struct name_rules {
  std::string keys{};
  std::string channels{};
  std::string records{};
  std::string hints{};
  std::string whole{};       ///< all of them, and the commands; empty: it can't be said, or is of no names
  std::string in_cluster{};  ///< more commands
};

/// A connection of its own, like that of a client. Each question blocks until its answer is there, and throws
/// errc::unreachable and the like when the server can't be asked. Not for several threads at once.
class server_session {
 public:
  /// Asks no server.
  explicit server_session(net::endpoint const& server, name_scope const& of = {});
  ~server_session();
  server_session(server_session const&) = delete;
  server_session& operator=(server_session const&) = delete;

  /// Without its password.
  [[nodiscard]] std::string const& url() const noexcept;
  /// Whom the server takes us for.
  [[nodiscard]] std::string user() const;
  [[nodiscard]] line_kind line() const noexcept;
  /// Fresh names of the product's kinds, which nobody else uses.
  [[nodiscard]] probe_names const& names() const noexcept;
  [[nodiscard]] name_scope const& scope() const noexcept;
  [[nodiscard]] name_rules const& rules() const noexcept;
  /// A key beside that lock.
  [[nodiscard]] std::string beside(std::string_view lock) const;
  /// Of a cluster's node, which takes keys of some slots only: names() are in one of these from now on.
  /// Without any they stay what they are.
  void use_slots(std::vector<slot_range> const& own);

  [[nodiscard]] answer ask(std::initializer_list<std::string_view> words);
  /// For what a proxy may not know: one that hangs up on it counts as a refusal. Takes some seconds then.
  [[nodiscard]] answer try_to_ask(std::initializer_list<std::string_view> words);

  /// Runs a script of the product, and then once more from the server's cache. It does nothing, since nobody
  /// holds the lock of names(). A refusal is the first of either.
  [[nodiscard]] answer run_script();
  /// Subscribes a channel on one more connection, publishes to it, and waits for the message.
  [[nodiscard]] delivery message_to_itself(message_reach reach);

 private:
  struct impl;
  std::unique_ptr<impl> impl_;
};

}  // namespace holdfast::cli
