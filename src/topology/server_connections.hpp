/// The connections for requests to one server.
#pragma once

#include <functional>
#include <memory>

#include "net/connection.hpp"
#include "reactor/reactor.hpp"

namespace holdfast::topology {

/// One connection for each connection_role, made when it is first needed. All under the client's lock.
class server_connections {
 public:
  struct events {
    /// See net::connection::on_refusal; null: refusals aren't handled here.
    std::function<bool(net::connection_role role, net::pipeline::batch& requests)> refused;
    /// See net::session::on_trouble.
    std::function<void()> troubled;
    /// See net::connection::on_broken.
    std::function<void()> broken;
    /// See net::connection::on_restored.
    std::function<void()> restored{};
    /// Asks others about the server, see net::doubt; null: replies are believed however late they come.
    std::function<void()> late{};
  };

  /// `config` and `counts` must outlive it.
  server_connections(reactor::loop& loop, net::settings const& config, client_stats& counts, events handlers);

  [[nodiscard]] net::connection& over(net::connection_role role);
  /// See net::doubt::announce.
  void doubt() noexcept { doubt_.announce(); }
  /// See net::doubt::believe.
  void believe() noexcept { doubt_.believe(); }

  /// No request is waiting or unanswered.
  [[nodiscard]] bool idle() const noexcept;
  /// There is a connection that can carry requests.
  [[nodiscard]] bool up() const noexcept;
  /// Requests wait for a connection that can't be made.
  [[nodiscard]] bool in_vain() const noexcept;
  /// Why a connection is missing; null when each that was needed is there.
  [[nodiscard]] std::shared_ptr<error const> down_because() const noexcept;
  /// The deployment announces this server: see net::connection::expect.
  void expect();

  /// Ends the connections. Takes out all unanswered requests, in the order of each connection.
  [[nodiscard]] net::pipeline::batch take_all() noexcept;
  void shut(std::shared_ptr<error const> const& reason) noexcept;

 private:
  void watch(net::connection& connection, net::connection_role role);
  void end_over_the_other(net::connection_role broken);
  void start_over_both() noexcept;

  reactor::loop& loop_;
  net::settings const& config_;
  client_stats& counts_;
  events const events_;
  net::doubt doubt_;
  bool expected_ = false;
  net::connection usual_;
  std::unique_ptr<net::connection> acknowledged_;
};

}  // namespace holdfast::topology
