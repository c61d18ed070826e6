/// One server.
#pragma once

#include <functional>
#include <memory>

#include "topology/deployment.hpp"

namespace holdfast::topology {

/// A connection for requests, one for those behind which WAIT holds up all that follows, one for messages;
/// each made when it is first needed.
class single : public deployment {
 public:
  /// Asked about each refusal of the server's: see net::connection::on_refusal.
  using refusal_handler = std::function<bool(net::connection& by, net::pipeline::finished& what)>;

  single(reactor::loop& on, net::settings const& how, client_stats& counts, refusal_handler refused = {});

  void send(net::request what) override;
  [[nodiscard]] bool idle() const noexcept override {
    return usual_.idle() && (!acknowledged_ || acknowledged_->idle());
  }
  [[nodiscard]] bool up() const noexcept override {
    return usual_.up() || (acknowledged_ && acknowledged_->up());
  }
  [[nodiscard]] std::shared_ptr<error const> down_because() const noexcept override {
    return usual_.down_because();
  }
  void shut(std::shared_ptr<error const> const& why) override;
  void listen(std::string const& channel, channel_of whose, net::subscriber::listener& who) override;
  void forget(std::string_view channel) override { messages_.forget(channel); }

 private:
  void watch(net::connection& one);

  reactor::loop& on_;
  net::settings const& how_;
  client_stats& counts_;
  refusal_handler refused_;
  net::connection usual_;
  std::unique_ptr<net::connection> acknowledged_;
  net::subscriber messages_;
};

}  // namespace holdfast::topology
