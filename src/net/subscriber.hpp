/// The connection for messages.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "net/session.hpp"

namespace holdfast::net {

/// Keeps channels subscribed, through reconnects. Detects a dead connection by sending PING over a silent
/// one. All under the client's lock.
class subscriber final : public session {
 public:
  /// The listener to one channel. Each of its functions but on_closed() may call subscriber::forget for the
  /// channel.
  class listener {
   public:
    /// Called after each (re)subscription: messages sent before it may be lost.
    virtual void on_subscribed() = 0;
    /// The connection has broken, or the channel is on its way to another: nothing is heard until
    /// on_subscribed(). May be called more than once, and calls nothing of the subscriber's.
    virtual void on_closed() noexcept {}
    virtual void on_message(std::string_view message) = 0;
    /// The server refuses the subscription (no right to the channel, a proxy without pub/sub). No retry.
    virtual void on_refused(std::string const& text) = 0;
    /// The server has ended the subscription: another server has the channel's slot now. No retry.
    virtual void on_gone() {}

    virtual ~listener() = default;
  };

  subscriber(reactor::loop& loop, settings const& config, client_stats& counts);
  ~subscriber() override = default;

  enum class kind {
    plain,    ///< SUBSCRIBE: the servers of a deployment forward the messages to each other
    sharded,  ///< SSUBSCRIBE: published and received at the server that has the channel's slot
  };

  /// Opens the connection, and subscribes the channel for its one listener, unless that is done or under way.
  /// A plain channel and a sharded channel of the same name are distinct. Throws std::bad_alloc, and then has
  /// no effect.
  void listen(std::string const& channel, listener& receiver, kind mode = kind::plain);

  /// Opens the connection again, if there are channels, and the server had refused it for good.
  void reopen() noexcept;

  /// Ends the subscription of a channel.
  void forget(std::string_view channel, kind mode = kind::plain) noexcept;

  /// Forgets all channels, and ends the connection.
  void shut() noexcept;

  /// Ends the connection if there are no channels.
  void close_unused() noexcept;

  /// True if there are channels, and no connection that could receive their messages.
  [[nodiscard]] bool deaf() const noexcept { return !unused() && !up(); }

 private:
  struct subscription {
    listener* receiver;
    std::uint64_t request = 0;  ///< the newest SUBSCRIBE for it
  };

  void on_up(std::vector<resp::reply>&& found) override;
  void on_down(std::shared_ptr<error const> const& reason, end outcome) noexcept override;
  void on_reply(resp::reply&& reply) override;
  [[nodiscard]] bool wanted() const noexcept override { return wanted_ && !unused(); }
  void gather(std::string& out) override;
  [[nodiscard]] std::size_t outstanding() const noexcept override { return 0; }

  using subscriptions = std::map<std::string, subscription, std::less<>>;

  [[nodiscard]] subscriptions& all(kind mode) noexcept { return mode == kind::sharded ? sharded_ : plain_; }
  [[nodiscard]] bool unused() const noexcept { return plain_.empty() && sharded_.empty(); }
  void queue_command(std::string_view verb, kind mode, std::string const& channel, std::uint64_t number);
  void subscribe(kind mode, std::string const& channel, subscription& entry);
  void on_message(kind mode, resp::reply const& reply);
  void on_confirmed(kind mode, std::string_view channel);
  void on_refused(resp::reply const& reply);
  void on_left(kind mode, std::string_view channel);
  void check_heartbeat() noexcept;

  subscriptions plain_;
  subscriptions sharded_;
  struct request {
    std::uint64_t number;  ///< 0: UNSUBSCRIBE, or PING
    kind mode;
    std::string channel;  ///< empty: PING
  };
  std::deque<request> unanswered_;  ///< the server replies in order
  std::uint64_t last_request_ = 0;
  std::string to_send_;
  bool wanted_ = false;
  bool was_up_ = false;  ///< since the connection was last told to be closed
  time_point heard_{};
  reactor::timer heartbeat_timer_;
};

}  // namespace holdfast::net
