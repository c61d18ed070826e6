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
    /// True: it is seen to.
    std::function<bool(cluster_node& by, net::connection_role over, net::pipeline::batch& what)> refused;
    std::function<void(cluster_node&)> troubled;
    std::function<void()> broken;                     ///< see net::connection::on_broken
    std::function<void(std::uint16_t slot)> drained;  ///< doesn't throw
  };

  /// `name`: where it is reached, as host:port. `tell` stays.
  cluster_node(reactor::loop& on, net::settings how, client_stats& counts, std::string name,
               events const& tell);

  [[nodiscard]] std::string const& name() const noexcept { return name_; }
  [[nodiscard]] net::endpoint const& where() const noexcept { return how_.server; }

  [[nodiscard]] net::connection& over(net::connection_role which) { return requests_.over(which); }
  [[nodiscard]] net::subscriber& messages();

  /// Has the slot called out when all that was sent before over this connection is answered, refused, or
  /// taken back. False: that is to come already. Throws std::bad_alloc, and then it isn't.
  bool drain(std::uint16_t slot, net::connection_role over);

  [[nodiscard]] bool idle() const noexcept { return requests_.idle(); }
  [[nodiscard]] bool up() const noexcept { return requests_.up(); }
  /// It can't be reached, although something is to be said or heard; or requests failed for that.
  [[nodiscard]] bool missed() const noexcept;
  [[nodiscard]] std::shared_ptr<error const> down_because() const noexcept {
    return requests_.down_because();
  }
  /// The cluster says that it is there.
  void expect() { requests_.expect(); }

  /// Ends the connections for requests; all that is unanswered, in the order of each.
  [[nodiscard]] net::pipeline::batch take_all() noexcept { return requests_.take_all(); }
  /// And that for messages, if nobody listens.
  [[nodiscard]] net::pipeline::batch rest() noexcept;
  void shut(std::shared_ptr<error const> const& why) noexcept;

 private:
  void send_barrier(net::connection_role over);
  void on_barrier(net::connection_role over, net::response const& how) noexcept;

  reactor::loop& on_;
  net::settings const how_;
  client_stats& counts_;
  std::string const name_;
  events const& tell_;
  server_connections requests_;
  std::unique_ptr<net::subscriber> messages_;
  /// Slots that are waiting for an answer behind all others, and those for which it is yet to be asked for: a
  /// cluster that changes its masters refuses thousands at once.
  struct draining {
    std::unordered_set<std::uint16_t> now;
    std::unordered_set<std::uint16_t> next;
  };
  [[nodiscard]] draining& draining_over(net::connection_role which) noexcept {
    return which == net::connection_role::usual ? usual_draining_ : acknowledged_draining_;
  }
  draining usual_draining_;
  draining acknowledged_draining_;
  bool unheard_ = false;  ///< the connection for messages broke, or couldn't be made
};

}  // namespace holdfast::topology
