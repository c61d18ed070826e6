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
/// any one node, since what is said at one is heard at all. Those of an object are listened to in both ways.
/// All under the client's lock.
class cluster_channels {
 public:
  struct events {
    std::function<cluster_node*(std::uint16_t slot)> server_of;  ///< null: not known
    /// `before`, if that will do; `last` only if there is no other.
    std::function<cluster_node*(cluster_node* before, cluster_node* last)> any;
    std::function<bool()> sharded;
    /// A node sends it elsewhere, or has given it up: place_all() is to come soon.
    std::function<void(cluster_node& by, refusal const& why)> displaced;
  };

  explicit cluster_channels(events tell);
  ~cluster_channels();

  /// False: there is no place for it yet. Throws std::bad_alloc, and then it's as if it hadn't been called.
  bool listen(std::string const& channel, channel_of whose, net::subscriber::listener& who);
  void forget(std::string_view channel) noexcept;

  /// Has each where it belongs by now.
  void place_all();
  /// Some are nowhere.
  [[nodiscard]] bool any_unplaced() const noexcept;
  /// That node is about to go.
  void leave(cluster_node const& gone) noexcept;
  void shut() noexcept;

 private:
  class ticket;

  /// What is subscribed of one channel.
  struct subscription {
    std::unique_ptr<ticket> own;
    std::unique_ptr<ticket> beside;  ///< what is said of an object to all, beside what is said in its slot
  };

  using all_type = std::map<std::string, subscription, std::less<>>;

  [[nodiscard]] bool listen(subscription const& one);
  void place(subscription const& one);
  [[nodiscard]] bool unplaced(subscription const& one) const noexcept;
  void on_displaced(ticket& one, refusal const& why);
  void forget(all_type::const_iterator known) noexcept;
  void on_refused(ticket const& one, std::string const& words);

  events tell_;
  cluster_node* home_ = nullptr;  ///< of those that are heard everywhere
  all_type all_;
};

}  // namespace holdfast::topology
