/// The connection that messages come over.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "net/session.hpp"

namespace holdfast::net {

/// Keeps one channel subscribed, from the first call of listen() on, through reconnects. A PING now and then
/// finds out that the line is dead although nothing says so. All under the client's lock.
class subscriber final : public session {
 public:
  struct events {
    std::function<void()> on_subscribed;  ///< each time: whatever was said before is lost
    std::function<void(std::string_view)> on_message;
    /// The server won't have it (no right to the channel, a proxy without pub/sub): never tried again.
    std::function<void(std::string const& words)> on_refused;
  };

  subscriber(reactor::loop& on, settings const& how, client_stats& counts, std::string channel, events tell);
  ~subscriber() override = default;

  /// Opens the connection and subscribes, unless that is done or under way.
  void listen();

  /// Messages arrive: confirmed by the server.
  [[nodiscard]] bool listening() const noexcept { return listening_; }
  [[nodiscard]] bool refused() const noexcept { return refused_; }

 private:
  void on_up() override;
  void on_down(std::shared_ptr<error const> why, end how) override;
  void on_reply(resp::reply&& reply) override;
  [[nodiscard]] bool wanted() const override { return wanted_; }
  void gather(std::string& out) override;
  [[nodiscard]] std::size_t outstanding() const override { return 0; }

  void refuse(std::string const& words);
  void check_line();

  std::string channel_;
  events tell_;
  std::string to_send_;
  bool wanted_ = false;
  bool listening_ = false;
  bool refused_ = false;
  time_point heard_{};
  reactor::timer line_timer_;
};

}  // namespace holdfast::net
