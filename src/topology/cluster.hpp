/// Several masters that share the keys by hash slot.
#pragma once

#include <array>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "base/hash_slot.hpp"
#include "topology/cluster_channels.hpp"
#include "topology/cluster_node.hpp"
#include "topology/deployment.hpp"
#include "topology/redirect_queue.hpp"
#include "topology/topology_refresh.hpp"

namespace holdfast::topology {

/// Sends each request to the node that serves its key's slot, over connections of its own to each node, and
/// learns from what nodes refuse. While no node serves the slot the request waits, by its patience, as it
/// would for a single server.
class cluster final : public deployment {
 public:
  /// `where` and `how` stay.
  cluster(reactor::loop& on, net::deployment_url const& where, net::settings const& how, client_stats& counts,
          events tell);
  ~cluster() override;

  void send(net::request what) override;
  [[nodiscard]] std::vector<std::string> masters() const override;
  void send_to(std::string const& master, net::request what) override;

  [[nodiscard]] bool idle() const noexcept override;
  [[nodiscard]] bool up() const noexcept override;
  [[nodiscard]] std::shared_ptr<error const> down_because() const noexcept override;
  void shut(std::shared_ptr<error const> const& why) noexcept override;

  void listen(std::string const& channel, channel_of whose, net::subscriber::listener& who) override;
  void forget(std::string_view channel) noexcept override { channels_.forget(channel); }

  [[nodiscard]] std::uint16_t slot_of(std::string_view key) const noexcept override { return hash_slot(key); }
  [[nodiscard]] bool sharded() const noexcept override { return sharded_; }

 private:
  using routed_request = redirect_queue::routed_request;
  using batch = net::pipeline::batch;
  using owners = std::array<cluster_node*, hash_slots>;

  // cluster.cpp: requests. Those that take a `batch&` with one request leave it there if they throw.
  [[nodiscard]] static std::optional<std::uint16_t> slot_for(net::request const& what) noexcept;
  void dispatch(batch& what);
  void dispatch_or_fail(batch& what) noexcept;
  void forward(std::uint16_t slot, batch& what);
  void advance(std::uint16_t slot) noexcept;
  bool on_refused(cluster_node& by, net::connection_role over, batch& what);
  void keep(std::uint16_t slot, batch& what);
  void send_unrouted() noexcept;
  [[nodiscard]] cluster_node* any_node(cluster_node* before, cluster_node* last) const;
  [[nodiscard]] static batch first_of(batch& those) noexcept;

  // cluster_waiting.cpp: those that wait, and for how long.
  static void note_kept(routed_request& one) noexcept;
  void wake_by(time_point when) noexcept;
  void tick() noexcept;
  void check() noexcept;
  [[nodiscard]] bool unsettled() const noexcept;
  [[nodiscard]] time_point limit_of(routed_request const& one) const noexcept;
  void fail_expired(time_point now) noexcept;
  void fail(batch&& those, std::shared_ptr<error const> const& why) noexcept;
  void fail_waiting(std::shared_ptr<error const> const& why) noexcept;
  template <class Why>
  [[nodiscard]] std::shared_ptr<error const> told(Why why) const noexcept;
  [[nodiscard]] std::shared_ptr<error const> why_unserved(routed_request const& one) const;
  [[nodiscard]] std::shared_ptr<error const> why_no_node() const;
  void on_troubled() noexcept;
  template <class Step>
  void try_or_tick(Step step) noexcept;

  // cluster_map.cpp: which nodes there are.
  cluster_node& node_at(net::endpoint where, std::string advice);
  cluster_node& announced(node_address const& as, cluster_node const& by);
  void learn(std::uint16_t slot, cluster_node& serves);
  [[nodiscard]] std::vector<cluster_node*> candidates();
  void on_found(cluster_node& by, topology_refresh::findings const& what);
  void on_unknown(std::shared_ptr<error const> const& why) noexcept;
  [[nodiscard]] std::vector<cluster_node*> replace_owners(cluster_node const& by,
                                                          topology_refresh::findings const& what);
  void take_from(cluster_node& one, batch& into) noexcept;
  void resend(batch stranded) noexcept;
  void retire_unused();

  reactor::loop& on_;
  net::deployment_url const& url_;
  net::settings const& config_;
  client_stats& counts_;
  events tell_;
  cluster_node::events const node_events_;
  std::minstd_rand random_;
  std::map<std::string, std::unique_ptr<cluster_node>, std::less<>> nodes_;
  std::vector<std::unique_ptr<cluster_node>> retired_;
  time_point retired_at_{};  ///< the last of them
  std::vector<cluster_node*> masters_;
  std::vector<node_address> replicas_;
  std::unique_ptr<owners> owners_ = std::make_unique<owners>();  ///< by slot; null: nobody that we know of
  cluster_health health_{.ok = false};
  std::optional<std::uint16_t> gap_;  ///< a slot that nobody serves
  bool mapped_ = false;               ///< the slots have been told once
  bool sharded_ = false;              ///< has channels in slots; not before it has said so
  redirect_queue redirects_;
  batch unrouted_;                            ///< without a key, while there is no node that could be asked
  std::shared_ptr<error const> why_unknown_;  ///< the last time nobody could tell the slots
  std::shared_ptr<error const> shut_because_;
  std::shared_ptr<error const> const out_of_memory_;
  cluster_channels channels_;
  topology_refresh refresh_;
  reactor::timer tick_;
};

/// What there is no memory for counts for any reason.
template <class Why>
std::shared_ptr<error const> cluster::told(Why why) const noexcept {
  try {
    return why();
  } catch (std::exception const&) {
    return out_of_memory_;
  }
}

/// What can't be done for want of memory is done a little later.
template <class Step>
void cluster::try_or_tick(Step step) noexcept {
  try {
    step();
  } catch (std::exception const&) {
    refresh_.look();
    wake_by(boot_clock::now());
  }
}

}  // namespace holdfast::topology
