/// A connection that is made, greeted, kept and made again: what the two kinds of ours have in common.
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

#include "base/backoff.hpp"
#include "net/handshake.hpp"
#include "net/locator.hpp"
#include "net/loose_ends.hpp"
#include "net/transport.hpp"
#include "net/url.hpp"
#include "reactor/reactor.hpp"
#include "resp/parser.hpp"

namespace holdfast::net {

/// Where to, and how. Constant for a client's life.
struct settings {
  endpoint server;  ///< with a locator only what messages call it
  std::string client_name;
  milliseconds connect_timeout{};
  milliseconds reply_timeout{};
  resp::limits limits;
  net::locator* locator = nullptr;  ///< whom to ask where to; null: `server`
  std::string advice{};             ///< added to the error when the server has never been reached
  /// Where connections are noted that broke before all was answered; null: late copies do no harm there.
  loose_ends* unended = nullptr;
};

/// One line to the server. All under the client's lock; it may be destroyed there, but not by what it calls.
///
/// Where memory is wanting the line ends, as if it had broken, and is made again: not inside the call that
/// found out, but by the loop.
class session : public reactor::flushable {
 public:
  session(reactor::loop& on, settings const& how, client_stats& counts);
  ~session() override;

  /// Connects, unless that is under way.
  void open() noexcept;

  /// Ends the connection without another try. What is on its way still arrives.
  void close() noexcept;

  [[nodiscard]] bool up() const noexcept { return state_ == state::up; }

  /// Is called whenever the connection has broken, or couldn't be made; it must not destroy it.
  void on_trouble(std::function<void()> f) { troubled_ = std::move(f); }

  // For the locator.

  /// How a connection ended.
  enum class end {
    broken,     ///< or couldn't be made
    not_ready,  ///< the server is there, and says that it will serve us later
    elsewhere,  ///< it isn't the one that serves us, or not any more: another try may find that one
    final,      ///< another try would end the same way: a wrong password, say
  };

  /// It is there: connects to it.
  void found(endpoint const& to) noexcept;
  void not_found(errc code, std::string const& why, end how) noexcept;
  /// Another one than `to()` serves us from now on: goes there without a pause, if it is wanted anywhere.
  void move(std::string const& why) noexcept;
  /// The server that it is connected to, or tries, or tried last.
  [[nodiscard]] endpoint const& to() const noexcept { return to_; }

  /// There is no memory for what this line was to do.
  void starve() noexcept;

  bool flush(bool driving) override;
  void on_lost_handler() noexcept override;

 protected:
  /// The handshake is done.
  virtual void on_up() = 0;
  virtual void on_down(std::shared_ptr<error const> const& why, end how) noexcept = 0;
  virtual void on_reply(resp::reply&& reply) = 0;
  /// Should a lost connection be made again?
  [[nodiscard]] virtual bool wanted() const noexcept = 0;
  /// Adds what is to be written now: all of it or, if that throws, nothing.
  virtual void gather(std::string& out) = 0;
  /// Replies that are waited for: with many of them, writing is left to the driver.
  [[nodiscard]] virtual std::size_t outstanding() const noexcept = 0;

  /// The same, but what is on its way will be sent again: it is reset.
  void cut() noexcept;

  /// Treats the connection as broken, and what is on its way as cut() does. `words` says why.
  template <class Words>
  void drop(errc code, Words words, end how = end::broken) noexcept {
    std::shared_ptr<error const> why;
    try {
      why = explain(code, words());
    } catch (std::exception const&) {
      why = starved_because_;
    }
    drop(why, how);
  }
  void drop(std::shared_ptr<error const> const& why, end how) noexcept;

  /// Calls what belongs to others; what that throws is theirs to mend (see reactor::loop).
  template <class F>
  void tell(F const& f) noexcept {
    try {
      f();
    } catch (std::exception const&) {
      on_.torn();
    }
  }

  /// Told where there is no memory to say what is wrong.
  [[nodiscard]] std::shared_ptr<error const> const& starved_because() const noexcept {
    return starved_because_;
  }

  [[nodiscard]] reactor::loop& on() noexcept { return on_; }
  [[nodiscard]] settings const& config() const noexcept { return config_; }
  [[nodiscard]] client_stats& counts() noexcept { return counts_; }
  /// Of this connection, among all that the client has made.
  [[nodiscard]] std::uint64_t connection_id() const noexcept { return connection_id_; }

 private:
  enum class state { idle, locating, connecting, greeting, up, pausing };

  template <class Step>
  void handle(Step step) noexcept;
  [[nodiscard]] std::shared_ptr<error const> explain(errc code, std::string const& words) const;
  void stand_still() noexcept;
  void connect() noexcept;
  void dial();
  void greet();
  void read();
  void on_cut(boost::system::error_code failure);
  void on_bytes(std::size_t n);
  void on_greeting(resp::reply const& reply);
  void write();
  enum class ending { closed, reset };
  void retire_transport(ending how) noexcept;
  void note_unanswered() noexcept;
  [[nodiscard]] bool on_its_way() const noexcept {
    return state_ == state::locating || state_ == state::connecting || state_ == state::greeting;
  }

  reactor::loop& on_;
  settings const& config_;
  client_stats& counts_;
  state state_ = state::idle;
  endpoint to_;
  std::shared_ptr<transport> transport_;
  std::uint64_t connection_id_ = 0;
  bool ever_up_ = false;
  bool starved_ = false;
  std::shared_ptr<error const> const starved_because_;
  std::function<void()> troubled_;
  std::uint64_t generation_ = 0;  ///< of the transport: a reply may end the one that it came over
  resp::parser parser_;
  std::unique_ptr<handshake> greeting_;
  loose_ends::prepared note_;  ///< for when this connection breaks
  std::string out_;            ///< to be written
  std::string writing_;        ///< being written; empty: nothing is
  backoff pause_;
  std::minstd_rand random_;
  reactor::timer connect_timer_;
  reactor::timer pause_timer_;
};

}  // namespace holdfast::net
