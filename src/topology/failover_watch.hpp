/// Notices failovers of a cluster that no refusal and no broken connection tells of.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <vector>

#include "net/connection.hpp"
#include "reactor/reactor.hpp"
#include "topology/cluster_node.hpp"

namespace holdfast::topology {

/// Asks one node each second for the cluster's epoch, another one each time, as long as the client has
/// something to lose. Asks other nodes at once when one has replied late: it may have been suspended, and
/// have granted what its successor has granted, too. All under the client's lock.
class failover_watch {
 public:
  struct events {
    std::function<bool()> at_stake;  ///< see topology::events
    std::function<std::vector<cluster_node*>()> masters;
    std::function<bool(std::uint64_t epoch)> is_new;  ///< the slots may have changed
    std::function<void()> look;                       ///< ask for the slots
    std::function<void(cluster_node&)> confirmed;     ///< the replies of a node that was doubted count
  };

  failover_watch(reactor::loop& loop, events handlers);

  /// The client sends something, so it may have something to lose from now on.
  void begin() noexcept {
    if (!stopped_ && !next_.armed()) loop_.arm(next_, boot_clock::now() + interval);
  }
  void stop() noexcept;

  /// Calls events::confirmed once all other nodes that are asked know of no failover, or the slots are known
  /// anew, or they don't answer in time; unless forget() is called before. Only what is asked by this call
  /// counts, not what was asked by an earlier one for that node. Throws std::bad_alloc, and then it
  /// isn't called.
  void doubt(cluster_node& late);
  void forget(cluster_node const& node) noexcept;
  /// The slots are known anew.
  void on_found() noexcept;

 private:
  static constexpr std::chrono::seconds interval{1};
  /// A replica announces the epoch of its election before it owns the slots.
  static constexpr std::chrono::seconds election{10};
  /// A doubt without an answer ends.
  static constexpr std::chrono::seconds longest_doubt{5};
  /// How many nodes are asked about one that is doubted.
  static constexpr std::size_t most_witnesses = 3;

  struct doubted {
    cluster_node* node;
    std::uint64_t number;
    time_point until;
    std::size_t open = 0;     ///< answers that are still to come
    std::uint64_t epoch = 0;  ///< newer than that of the known slots; 0: nobody has told of one
  };

  void ask_again();
  void ask(cluster_node& node);
  void send(cluster_node& node, callback<void(net::response&&)> done);
  void on_changed() noexcept;
  void on_witness(std::uint64_t number, net::response const& response) noexcept;
  template <class Over>
  void confirm_if(Over over) noexcept;

  reactor::loop& loop_;
  events const events_;
  std::vector<cluster_node*> unanswered_;
  std::size_t turn_ = 0;
  time_point changing_until_{};  ///< until then the slots are asked for
  std::vector<doubted> doubts_;
  std::uint64_t last_number_ = 0;
  bool stopped_ = false;
  reactor::timer next_;
};

}  // namespace holdfast::topology
