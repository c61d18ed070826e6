/// A connection that is made, set up, kept and made again: the common base of `connection` and `subscriber`.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <holdfast/client.hpp>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/backoff.hpp"
#include "net/broken_connections.hpp"
#include "net/handshake.hpp"
#include "net/locator.hpp"
#include "net/resp_stream.hpp"
#include "net/session_errors.hpp"
#include "net/translation.hpp"
#include "net/url.hpp"
#include "reactor/reactor.hpp"
#include "resp/parser.hpp"

namespace holdfast::net {

/// The settings of a connection. Constant for a client's life.
struct settings {
  endpoint server;  ///< with a locator only used for its name in messages
  std::string client_name;
  milliseconds connect_timeout{};
  milliseconds reply_timeout{};
  resp::limits limits;
  net::locator* locator = nullptr;  ///< finds the server to connect to; null: `server`
  std::string advice{};             ///< added to the error when the server has never been reached
  /// Records connections that broke before all replies came; null: late copies of requests do no harm.
  broken_connections* known_broken = nullptr;
  /// Says requests in the commands that the server has; null: as they stand.
  net::translator* translator = nullptr;
  /// Called when a connection for requests breaks, and when it is up again, with the time between. Empty:
  /// nobody wants to know.
  std::function<void()> lost{};
  std::function<void(std::chrono::nanoseconds away)> restored{};
  /// Called when a connection for messages breaks.
  std::function<void()> unheard{};
};

/// One connection to the server. All under the client's lock. A session may be destroyed under the lock, but
/// not by the functions that it calls.
///
/// When an allocation fails the connection is ended, as if it had broken, and made again: not inside the call
/// in which it failed, but by the loop.
class session : public resp_stream::user {
 public:
  session(reactor::loop& loop, settings const& config, client_stats& counts);
  ~session() override;

  /// Connects, unless that is under way.
  void open() noexcept;

  /// Ends a connection that is up, as if it had broken; another is made when one is needed.
  void replace(std::string const& reason) noexcept;

  /// Ends the connection without another try. Bytes that were written still arrive.
  void close() noexcept;

  [[nodiscard]] bool up() const noexcept { return state_ == state::up; }
  /// The number of this connection, or of the last one, among all connections that the client has made.
  [[nodiscard]] std::uint64_t connection_id() const noexcept { return connection_id_; }

  /// `f` is called whenever the connection has broken, or couldn't be made; it must not destroy the session.
  void on_trouble(std::function<void()> f) { troubled_ = std::move(f); }

  // For the locator.

  /// How a connection ended.
  enum class end {
    broken,     ///< or couldn't be made
    not_ready,  ///< the server was reached, and isn't ready yet
    elsewhere,  ///< not, or no longer, the right server: another try may find that
    final,      ///< another try would end the same way: a wrong password, say
  };

  /// The locator has found the server, by what it asked at `asked_at`: connects to it.
  void found(endpoint const& to, time_point asked_at) noexcept;
  void not_found(errc code, std::string const& reason, end outcome) noexcept;
  /// Another server than `to()` is the right one from now on: connects to it without a pause, if a connection
  /// is wanted.
  void move(std::string const& reason) noexcept;
  /// The server that it is connected to, or tries, or tried last.
  [[nodiscard]] endpoint const& to() const noexcept { return to_; }

  /// An allocation for this connection has failed: the loop ends the connection, and makes it again.
  void starve() noexcept;

  bool flush(bool driving) override;
  void on_lost_handler() noexcept override;

 protected:
  /// What is sent with the handshake to learn what the server can do; null: nothing.
  [[nodiscard]] virtual translator const* explorer() const noexcept { return nullptr; }
  /// The handshake is done. `found`: the replies to what the explorer wanted to know.
  virtual void on_up(std::vector<resp::reply>&& found) = 0;
  virtual void on_down(std::shared_ptr<error const> const& reason, end outcome) noexcept = 0;
  virtual void on_reply(resp::reply&& reply) = 0;
  /// True if a lost connection is to be made again.
  [[nodiscard]] virtual bool wanted() const noexcept = 0;
  /// Appends the bytes to write now. If it throws, nothing was appended.
  virtual void gather(std::string& out) = 0;
  /// The number of replies that are outstanding: with many of them, writing is left to the driver.
  [[nodiscard]] virtual std::size_t outstanding() const noexcept = 0;

  /// Like close(), but resets the connection: bytes on their way must not arrive, as they are sent again.
  void cut() noexcept;

  /// Treats the connection as broken, and resets it as cut() does. `text()` gives the reason.
  template <class Text>
  void drop(errc code, Text text, end outcome = end::broken) noexcept {
    std::shared_ptr<error const> reason;
    try {
      reason = errors_.explain(code, text());
    } catch (std::exception const&) {
      reason = errors_.no_memory();
    }
    drop(reason, outcome);
  }
  void drop(std::shared_ptr<error const> const& reason, end outcome) noexcept;

  /// Calls a function of the session's user. An exception from it is recorded with
  /// loop::note_out_of_memory().
  template <class F>
  void notify(F const& f) noexcept {
    try {
      f();
    } catch (std::exception const&) {
      loop_.note_out_of_memory();
    }
  }

  [[nodiscard]] session_errors const& errors() const noexcept { return errors_; }
  [[nodiscard]] reactor::loop& loop() noexcept { return loop_; }
  [[nodiscard]] settings const& config() const noexcept { return config_; }
  [[nodiscard]] client_stats& counts() noexcept { return counts_; }
  /// When the reply that is being handled was read.
  [[nodiscard]] time_point read_at() const noexcept { return stream_.read_at(); }
  /// The connection is being made.
  [[nodiscard]] bool dialling() const noexcept {
    return state_ == state::connecting || state_ == state::greeting;
  }
  /// When the server that is connected to was last known to be the right one, as far as that can be known
  /// without it: when a locator asked, or else when the connection was begun.
  [[nodiscard]] time_point sure_of_server_at() const noexcept { return sure_of_server_at_; }

 private:
  enum class state { idle, locating, connecting, greeting, up, pausing };

  void stand_still() noexcept;
  void connect() noexcept;
  void dial();
  void on_connected() override;
  void on_received(resp::reply&& reply) override;
  void on_failed(resp_stream::failure kind, std::string_view text) noexcept override;
  void on_greeting(resp::reply const& reply);
  void end_stream(resp_stream::ending mode) noexcept;
  void note_unanswered() noexcept;
  [[nodiscard]] bool on_its_way() const noexcept { return state_ == state::locating || dialling(); }

  reactor::loop& loop_;
  settings const& config_;
  client_stats& counts_;
  state state_ = state::idle;
  endpoint to_;
  time_point sure_of_server_at_{};
  resp_stream stream_;
  std::uint64_t connection_id_ = 0;
  bool starved_ = false;
  session_errors errors_;
  std::function<void()> troubled_;
  std::unique_ptr<handshake> greeting_;
  broken_connections::prepared note_;  ///< recorded when this connection breaks
  std::string out_;                    ///< to be written
  backoff pause_;
  std::minstd_rand random_;
  reactor::timer connect_timer_;
  reactor::timer pause_timer_;
};

}  // namespace holdfast::net
