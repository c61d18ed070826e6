/// The channels that are subscribed in a cluster.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "topology/cluster_node.hpp"
#include "topology/deployment.hpp"
#include "topology/redirect.hpp"

namespace holdfast::topology {

/// A lock's channel is subscribed at the node that serves its slot, and follows the slot when that moves. A
/// client's channel is subscribed at any one node, since a message published at one reaches all. An object's
/// channel is subscribed in both ways. All under the client's lock.
class cluster_channels {
 public:
  struct events {
    std::function<cluster_node*(std::uint16_t slot)> server_of;  ///< null: not known
    /// Prefers `current`; picks `avoided` only if there is no other.
    std::function<cluster_node*(cluster_node* current, cluster_node* avoided)> any;
    std::function<bool()> sharded;
    /// A node has redirected or dropped a channel: assign_all() has to follow soon.
    std::function<void(cluster_node& node, refusal const& refusal)> displaced;
  };

  explicit cluster_channels(events handlers);
  ~cluster_channels();

  /// False: no node for it is known yet. Throws std::bad_alloc, and then has no effect.
  bool listen(std::string const& channel, channel_of scope, net::subscriber::listener& listener);
  void forget(std::string_view channel) noexcept;

  /// Subscribes each channel at the node where it belongs now.
  void assign_all();
  /// Some channels are subscribed nowhere.
  [[nodiscard]] bool any_unassigned() const noexcept;
  /// The node is about to be destroyed.
  void leave(cluster_node const& gone) noexcept;
  void shut() noexcept;

 private:
  class node_subscription;

  /// The subscriptions of one channel.
  struct subscription {
    std::unique_ptr<node_subscription> own;
    std::unique_ptr<node_subscription> beside;  ///< of an object: plain, in addition to the slot's channel
  };

  using all_type = std::map<std::string, subscription, std::less<>>;

  [[nodiscard]] bool listen(subscription const& channel);
  void assign(subscription const& channel);
  [[nodiscard]] bool unassigned(subscription const& channel) const noexcept;
  void on_displaced(node_subscription& channel, refusal const& refusal);
  void forget(all_type::const_iterator known) noexcept;
  void on_refused(node_subscription const& channel, std::string const& text);

  events events_;
  cluster_node* home_ = nullptr;  ///< the node for plain channels
  all_type all_;
};

}  // namespace holdfast::topology
