/// Several masters that share the keys by hash slot.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "base/hash_slot.hpp"
#include "topology/cluster_channels.hpp"
#include "topology/cluster_nodes.hpp"
#include "topology/deployment.hpp"
#include "topology/failover_watch.hpp"
#include "topology/redirect_queue.hpp"
#include "topology/topology_refresh.hpp"

namespace holdfast::topology {

/// Sends each request to the node that serves its key's slot, over connections of its own to each node, and
/// learns from the nodes' redirections. While no node serves the slot the request waits as its retry_policy
/// says, as for a single server.
class cluster final : public deployment {
 public:
  /// `url` and `config` must outlive it.
  cluster(reactor::loop& loop, net::deployment_url const& url, net::settings const& config,
          client_stats& counts, events handlers);
  ~cluster() override;

  void send(net::request&& request) override;
  [[nodiscard]] std::vector<std::string> masters() const override;
  void send_to(std::string const& master, net::request request) override;

  [[nodiscard]] bool idle() const noexcept override;
  [[nodiscard]] bool up() const noexcept override;
  [[nodiscard]] std::shared_ptr<error const> down_because() const noexcept override;
  void shut(std::shared_ptr<error const> const& reason) noexcept override;

  void listen(std::string const& channel, channel_of scope, net::subscriber::listener& listener) override;
  void forget(std::string_view channel) noexcept override { channels_.forget(channel); }

  [[nodiscard]] std::uint16_t slot_of(std::string_view key) const noexcept override { return hash_slot(key); }
  [[nodiscard]] bool sharded() const noexcept override { return sharded_; }

 private:
  using routed_request = redirect_queue::routed_request;
  using batch = net::pipeline::batch;

  // cluster.cpp: requests. A `batch&` parameter holds one request, which stays there if the function throws.
  [[nodiscard]] static std::optional<std::uint16_t> slot_for(net::request const& request) noexcept;
  void dispatch(batch& requests);
  void dispatch_or_fail(batch& requests) noexcept;
  void forward(std::uint16_t slot, batch& requests);
  void advance(std::uint16_t slot) noexcept;
  bool on_refused(cluster_node& node, net::connection_role role, batch& requests);
  void hold_back(std::uint16_t slot, batch& requests);
  void send_unrouted() noexcept;
  [[nodiscard]] static batch first_of(batch& requests) noexcept;

  // cluster_waiting.cpp: waiting requests and their deadlines.
  static void note_kept(routed_request& entry) noexcept;
  void wake_by(time_point when) noexcept;
  void retry_waiting() noexcept;
  void after_change() noexcept;
  [[nodiscard]] bool unsettled() const noexcept;
  [[nodiscard]] time_point fails_at(routed_request const& entry) const noexcept;
  void fail_expired(time_point now) noexcept;
  void fail(batch&& requests, std::shared_ptr<error const> const& reason) noexcept;
  void fail_waiting(std::shared_ptr<error const> const& reason) noexcept;
  template <class Make>
  [[nodiscard]] std::shared_ptr<error const> reason_from(Make make) const noexcept;
  [[nodiscard]] std::shared_ptr<error const> unserved_reason(routed_request const& entry) const;
  [[nodiscard]] std::shared_ptr<error const> no_node_reason() const;
  void on_troubled() noexcept;
  template <class Step>
  void try_or_retry(Step step) noexcept;

  // cluster_map.cpp: changes of the nodes and their slots.
  void learn(std::uint16_t slot, cluster_node& owner);
  void on_found(cluster_node& source, topology_refresh::findings const& findings);
  void on_unknown(std::shared_ptr<error const> const& reason) noexcept;
  void resend(batch stranded) noexcept;

  reactor::loop& loop_;
  net::settings const& config_;
  client_stats& counts_;
  events events_;
  std::minstd_rand random_;
  cluster_nodes nodes_;
  cluster_health health_{.ok = false};
  std::optional<std::uint16_t> gap_;  ///< a slot without a node
  bool mapped_ = false;               ///< the slots have been read once
  bool sharded_ = false;              ///< the cluster has said that it supports sharded channels
  redirect_queue redirects_;
  batch unrouted_;                               ///< requests without a key, while no node can take them
  std::shared_ptr<error const> unknown_reason_;  ///< why the last refresh found no slots
  std::shared_ptr<error const> shut_reason_;
  std::shared_ptr<error const> const out_of_memory_;
  cluster_channels channels_;
  topology_refresh refresh_;
  failover_watch failovers_;
  reactor::timer retry_timer_;
};

/// Without memory to make the reason: out_of_memory_.
template <class Make>
std::shared_ptr<error const> cluster::reason_from(Make make) const noexcept {
  try {
    return make();
  } catch (std::exception const&) {
    return out_of_memory_;
  }
}

/// Without memory for the step: retry_waiting() does it a little later.
template <class Step>
void cluster::try_or_retry(Step step) noexcept {
  try {
    step();
  } catch (std::exception const&) {
    refresh_.look();
    wake_by(boot_clock::now());
  }
}

}  // namespace holdfast::topology
