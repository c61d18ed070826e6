/// A master with replicas, and sentinels that say which one it is.
#pragma once

#include <memory>
#include <string>

#include "topology/deployment.hpp"
#include "topology/sentinels.hpp"
#include "topology/single.hpp"

namespace holdfast::topology {

/// One server at a time. What was sent and isn't answered when another takes its place goes there.
class sentinel final : public deployment {
 public:
  sentinel(reactor::loop& on, net::deployment_url const& where, net::settings const& how,
           client_stats& counts, events tell);

  void send(net::request what) override { master_.send(std::move(what)); }
  [[nodiscard]] bool idle() const noexcept override { return master_.idle(); }
  [[nodiscard]] bool up() const noexcept override { return master_.up(); }
  [[nodiscard]] std::shared_ptr<error const> down_because() const noexcept override {
    return master_.down_because();
  }
  void shut(std::shared_ptr<error const> const& why) noexcept override;
  void listen(std::string const& channel, channel_of whose, net::subscriber::listener& who) override {
    master_.listen(channel, whose, who);
  }
  void forget(std::string_view channel) noexcept override { master_.forget(channel); }

 private:
  [[nodiscard]] bool on_refusal(net::connection_role over, net::pipeline::batch& what);

  sentinels which_;
  net::settings const how_;  ///< as given, and `which_` says where
  single master_;
};

}  // namespace holdfast::topology
