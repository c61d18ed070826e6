/// The channels that are listened to in a cluster.
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

/// Those of a lock at the node that serves its slot, and along with the slot when that moves; all others at
/// any one node, since what is said at one is heard at all. All under the client's lock.
class cluster_channels {
 public:
  struct events {
    std::function<cluster_node*(std::uint16_t slot)> server_of;  ///< null: not known
    std::function<cluster_node*(cluster_node* before)> any;      ///< `before`, if that will do
    std::function<bool()> sharded;
    /// A node sends it elsewhere, or has given it up: place_all() is to come soon.
    std::function<void(cluster_node& by, refusal const& why)> displaced;
  };

  explicit cluster_channels(events tell);
  ~cluster_channels();

  /// False: there is no place for it yet.
  bool listen(std::string const& channel, channel_of whose, net::subscriber::listener& who);
  void forget(std::string_view channel);

  /// Has each where it belongs by now.
  void place_all();
  /// Some are nowhere.
  [[nodiscard]] bool any_unplaced() const noexcept;
  /// That node is about to go.
  void leave(cluster_node const& gone);
  void shut();

 private:
  class ticket;

  void place(ticket& one);
  void on_displaced(ticket& one, refusal const& why);
  void drop(ticket const& one);

  events tell_;
  cluster_node* home_ = nullptr;  ///< of those that are heard everywhere
  std::map<std::string, std::unique_ptr<ticket>, std::less<>> tickets_;
};

}  // namespace holdfast::topology
