/// The nodes of a cluster, and the slots that they serve.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash_slot.hpp"
#include "net/deployment_url.hpp"
#include "topology/cluster_node.hpp"
#include "topology/topology_refresh.hpp"

namespace holdfast::topology {

/// What is known of them: from the URL, from the nodes' answers, and from redirections. All under the
/// client's lock.
class cluster_nodes {
 public:
  /// `url` and `config` must outlive it.
  cluster_nodes(reactor::loop& loop, net::deployment_url const& url, net::settings const& config,
                client_stats& counts, cluster_node::events handlers);

  /// The node that `source` announces, which is made if it is new. An empty host means the host of `source`.
  [[nodiscard]] cluster_node& announced(net::server_address const& address, cluster_node const& source);
  /// Null: there is no such node.
  [[nodiscard]] cluster_node* find(std::string const& name) const noexcept;

  /// Null: unknown.
  [[nodiscard]] cluster_node* owner_of(std::uint16_t slot) const noexcept { return (*owners_)[slot]; }
  /// Records the slot's new owner. False: it has been its owner.
  bool set_owner(std::uint16_t slot, cluster_node& owner);
  struct changes {
    bool rerouted = false;  ///< some slot has another owner
    /// Their unanswered requests have to go to others: nodes that are no longer masters, and unreachable
    /// nodes that have lost slots.
    std::vector<cluster_node*> gone{};
  };
  /// Replaces all owners by those that `source` has named.
  [[nodiscard]] changes replace_owners(cluster_node const& source, std::span<slot_range const> slots);

  [[nodiscard]] std::span<cluster_node* const> masters() const noexcept { return masters_; }
  [[nodiscard]] bool is_master(cluster_node const& node) const noexcept;
  /// A master for a request that any may have; null: there is none. Prefers `current`, and a node in use: its
  /// reply then proves that earlier requests are answered, too.
  [[nodiscard]] cluster_node* any(cluster_node* current, cluster_node* avoided) const noexcept;
  /// The nodes to ask for the slots: first the reachable masters, in random order, then all others.
  [[nodiscard]] std::vector<cluster_node*> candidates(std::minstd_rand& random);
  [[nodiscard]] bool idle() const noexcept;

  /// Closes the connections to nodes that are no masters, are idle, and aren't `needed`; calls `leave` with
  /// each before. Nodes that are mentioned nowhere are removed, but destroyed a little later: one of them may
  /// be the caller.
  template <class Needed, class Leave>
  void retire_unused(Needed needed, Leave leave) {
    auto const mentioned = names_mentioned();
    for (auto next = all_.begin(); next != all_.end();) {
      auto const current = next++;
      auto& node = *current->second;
      if (is_master(node) || !node.idle() || needed(node)) continue;
      leave(node);
      (void)node.retire();
      if (std::ranges::find(mentioned, current->first) == mentioned.end()) retire(current);
    }
  }
  /// When destroy_retired() has something to do; max(): there is nothing.
  [[nodiscard]] time_point next_destruction() const noexcept;
  void destroy_retired(time_point now) noexcept;

  void shut(std::shared_ptr<error const> const& reason) noexcept;

 private:
  using owners = std::array<cluster_node*, hash_slots>;
  using nodes = std::map<std::string, std::unique_ptr<cluster_node>, std::less<>>;

  [[nodiscard]] cluster_node& at(net::endpoint endpoint, std::string advice);
  [[nodiscard]] std::vector<std::string> names_mentioned() const;
  void retire(nodes::iterator position);

  reactor::loop& loop_;
  net::deployment_url const& url_;
  net::settings const& config_;
  client_stats& counts_;
  cluster_node::events const events_;
  nodes all_;
  std::vector<std::unique_ptr<cluster_node>> retired_;
  time_point retired_at_{};  ///< when the last of them was retired
  std::vector<cluster_node*> masters_;
  std::vector<net::server_address> replicas_;
  std::unique_ptr<owners> owners_ = std::make_unique<owners>();  ///< by slot
};

}  // namespace holdfast::topology
