/// The simulated connections between a client and its server.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "simulation/link.hpp"
#include "topology/deployment.hpp"

namespace holdfast::simulation {

/// Like topology::one_server: a connection for each role, and one for the subscriptions.
class deployment final : public topology::deployment {
 public:
  deployment(reactor::loop& loop, world& shared_world, server& redis, network const& conditions,
             net::settings const& config, topology::events handlers);
  ~deployment() override;

  void send(net::request&& request) override;
  [[nodiscard]] bool idle() const noexcept override {
    return usual_.idle() && (!acknowledged_ || acknowledged_->idle());
  }
  [[nodiscard]] bool up() const noexcept override {
    return usual_.up() || (acknowledged_ && acknowledged_->up());
  }
  [[nodiscard]] std::shared_ptr<error const> down_because() const noexcept override {
    return !usual_.up() || !acknowledged_ ? usual_.down_because() : acknowledged_->down_because();
  }
  void shut(std::shared_ptr<error const> const& reason) noexcept override;
  void listen(std::string const& channel, topology::channel_of scope,
              net::subscriber::listener& listener) override;
  void forget(std::string_view channel) noexcept override;

 private:
  [[nodiscard]] link& over(net::connection_role role);
  void on_broken();
  void on_back();
  void unsubscribe_all() noexcept;
  void subscribe(std::string const& channel);
  /// Calls f at that time, unless the subscriptions have broken or the client has ended by then.
  template <class F>
  void later(time_point when, F f) {
    world_.at(when, [current = channels_, number = *channels_, &loop = loop_, f = std::move(f)]() mutable {
      if (*current == number) happen(loop, f);
    });
  }

  reactor::loop& loop_;
  world& world_;
  server& server_;
  network const& network_;
  net::settings const& config_;
  topology::events events_;
  /// The number of the connection for subscriptions; 0: there is none at the moment.
  std::shared_ptr<std::uint64_t> channels_ = std::make_shared<std::uint64_t>(1);
  std::uint64_t last_channels_ = 1;
  time_point last_message_{};
  link usual_;
  std::unique_ptr<link> acknowledged_;
  std::map<std::string, net::subscriber::listener*, std::less<>> listeners_;
};

}  // namespace holdfast::simulation
