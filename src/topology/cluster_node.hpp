/// One node of a cluster.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_set>

#include "net/subscriber.hpp"
#include "reactor/reactor.hpp"
#include "topology/server_connections.hpp"

namespace holdfast::topology {

/// Its connections, each made when it is first needed. All under the client's lock.
class cluster_node {
 public:
  struct events {
    /// True: the refusal was handled.
    std::function<bool(cluster_node& node, net::connection_role role, net::pipeline::batch& requests)>
        refused;
    std::function<void(cluster_node&)> troubled;
    std::function<void()> broken;                     ///< see net::connection::on_broken
    std::function<void(std::uint16_t slot)> drained;  ///< doesn't throw
    std::function<void(cluster_node&)> late;          ///< see server_connections::events
  };

  /// `name`: its address, as host:port. `handlers` must outlive it.
  cluster_node(reactor::loop& loop, net::settings config, client_stats& counts, std::string name,
               events const& handlers);

  [[nodiscard]] std::string const& name() const noexcept { return name_; }
  [[nodiscard]] net::endpoint const& endpoint() const noexcept { return config_.server; }

  [[nodiscard]] net::connection& over(net::connection_role role) { return requests_.over(role); }
  void believe() noexcept { requests_.believe(); }
  [[nodiscard]] net::subscriber& messages();

  /// Calls events::drained for the slot when all requests sent before over this connection are answered,
  /// refused, or taken back. False: that call is pending already. Throws std::bad_alloc, and then it won't be
  /// made.
  bool drain(std::uint16_t slot, net::connection_role role);

  [[nodiscard]] bool idle() const noexcept { return requests_.idle(); }
  [[nodiscard]] bool up() const noexcept { return requests_.up(); }
  /// The node is needed and can't be reached, or requests failed because of that.
  [[nodiscard]] bool missed() const noexcept;
  [[nodiscard]] std::shared_ptr<error const> down_because() const noexcept {
    return requests_.down_because();
  }
  /// The cluster announces this node.
  void expect() { requests_.expect(); }

  /// Ends the connections for requests. Takes out all unanswered requests, in the order of each connection.
  [[nodiscard]] net::pipeline::batch take_all() noexcept { return requests_.take_all(); }
  /// As take_all(); ends the connection for messages, too, if no channel uses it.
  [[nodiscard]] net::pipeline::batch retire() noexcept;
  void shut(std::shared_ptr<error const> const& reason) noexcept;

 private:
  void send_barrier(net::connection_role role);
  void on_barrier(net::connection_role role, net::response const& response) noexcept;

  reactor::loop& loop_;
  net::settings const config_;
  client_stats& counts_;
  std::string const name_;
  events const& events_;
  server_connections requests_;
  std::unique_ptr<net::subscriber> messages_;
  /// Slots that wait for the barrier in flight, and slots for the next barrier. One barrier serves many: a
  /// cluster that changes its masters refuses requests of thousands of slots at once.
  struct draining {
    std::unordered_set<std::uint16_t> now;
    std::unordered_set<std::uint16_t> next;
  };
  [[nodiscard]] draining& draining_over(net::connection_role role) noexcept {
    return role == net::connection_role::usual ? usual_draining_ : acknowledged_draining_;
  }
  draining usual_draining_;
  draining acknowledged_draining_;
  bool unheard_ = false;  ///< the connection for messages broke, or couldn't be made
};

}  // namespace holdfast::topology
