/// A master with replicas, and sentinels that report which server is the master.
#pragma once

#include <memory>
#include <string>

#include "topology/deployment.hpp"
#include "topology/one_server.hpp"
#include "topology/sentinel_locator.hpp"

namespace holdfast::topology {

/// Uses one server at a time. Unanswered requests move to the new master.
class sentinel_deployment final : public deployment {
 public:
  sentinel_deployment(reactor::loop& loop, net::deployment_url const& url, net::settings const& config,
                      client_stats& counts, events handlers);

  void send(net::request&& request) override { master_.send(std::move(request)); }
  [[nodiscard]] bool idle() const noexcept override { return master_.idle(); }
  [[nodiscard]] bool up() const noexcept override { return master_.up(); }
  [[nodiscard]] std::shared_ptr<error const> down_because() const noexcept override {
    return master_.down_because();
  }
  void shut(std::shared_ptr<error const> const& reason) noexcept override;
  void listen(std::string const& channel, channel_of scope, net::subscriber::listener& listener) override {
    master_.listen(channel, scope, listener);
  }
  void forget(std::string_view channel) noexcept override { master_.forget(channel); }

 private:
  [[nodiscard]] bool on_refusal(net::connection_role role, net::pipeline::batch& requests);

  sentinel_locator locator_;
  net::settings const config_;  ///< as given, but with `locator_`
  one_server master_;
};

}  // namespace holdfast::topology
