/// The connection that messages come over.
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

/// Keeps channels subscribed, through reconnects. A PING now and then finds out that the line is dead
/// although nothing says so. All under the client's lock.
class subscriber final : public session {
 public:
  /// Whoever listens to one channel. It may forget the channel in any of these.
  class listener {
   public:
    /// Each time: whatever was said before is lost.
    virtual void on_subscribed() = 0;
    virtual void on_message(std::string_view message) = 0;
    /// The server won't have it (no right to the channel, a proxy without pub/sub): it isn't tried again.
    virtual void on_refused(std::string const& words) = 0;
    /// The server has ended it: another one serves the slot of the channel now. It isn't tried again.
    virtual void on_gone() {}

    virtual ~listener() = default;
  };

  subscriber(reactor::loop& on, settings const& how, client_stats& counts);
  ~subscriber() override = default;

  enum class kind {
    plain,    ///< SUBSCRIBE: all servers of a deployment tell each other what is said
    sharded,  ///< SSUBSCRIBE: said and heard at the server that has the channel's slot
  };

  /// Opens the connection, and subscribes the channel for its one listener, unless that is done or under way.
  /// A plain channel and a sharded one of the same name are two. Throws std::bad_alloc, and then it's as if
  /// it hadn't been called.
  void listen(std::string const& channel, listener& who, kind how = kind::plain);

  /// Nobody listens to it any more.
  void forget(std::string_view channel, kind how = kind::plain) noexcept;

  /// Ends the connection, unless somebody listens.
  void close_unused() noexcept;

  /// There are channels, and no connection over which anything could be heard.
  [[nodiscard]] bool deaf() const noexcept { return !unused() && !up(); }

 private:
  struct subscription {
    listener* who;
    std::uint64_t request = 0;  ///< the newest SUBSCRIBE for it
  };

  void on_up() override;
  void on_down(std::shared_ptr<error const> const& why, end how) noexcept override;
  void on_reply(resp::reply&& reply) override;
  [[nodiscard]] bool wanted() const noexcept override { return wanted_ && !unused(); }
  void gather(std::string& out) override;
  [[nodiscard]] std::size_t outstanding() const noexcept override { return 0; }

  using subscriptions = std::map<std::string, subscription, std::less<>>;

  [[nodiscard]] subscriptions& all(kind how) noexcept { return how == kind::sharded ? sharded_ : plain_; }
  [[nodiscard]] bool unused() const noexcept { return plain_.empty() && sharded_.empty(); }
  void say(std::string_view word, kind how, std::string const& channel, std::uint64_t number);
  void subscribe(kind how, std::string const& channel, subscription& what);
  void on_message(kind how, resp::reply const& reply);
  void on_confirmed(kind how, std::string_view channel);
  void on_refused(std::string const& words);
  void on_left(kind how, std::string_view channel);
  void check_line() noexcept;

  subscriptions plain_;
  subscriptions sharded_;
  struct request {
    std::uint64_t number;  ///< 0: UNSUBSCRIBE
    kind how;
    std::string channel;
  };
  std::deque<request> asked_;  ///< unanswered; the server answers in order
  std::uint64_t last_request_ = 0;
  std::string to_send_;
  bool wanted_ = false;
  time_point heard_{};
  reactor::timer line_timer_;
};

}  // namespace holdfast::net
