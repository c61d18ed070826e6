/// The connections that requests to one server go over.
#pragma once

#include <functional>
#include <memory>

#include "net/connection.hpp"
#include "reactor/reactor.hpp"

namespace holdfast::topology {

/// One for each lane, made when it is first needed. All under the client's lock.
class server_connections {
 public:
  struct events {
    /// See net::connection::on_refusal; null: no refusal is seen to.
    std::function<bool(net::connection_role over, net::pipeline::batch& what)> refused;
    /// See net::session::on_trouble.
    std::function<void()> troubled;
    /// See net::connection::on_broken.
    std::function<void()> broken;
  };

  /// `how` and `counts` stay.
  server_connections(reactor::loop& on, net::settings const& how, client_stats& counts, events tell);

  [[nodiscard]] net::connection& over(net::connection_role which);

  /// Nothing sent, nothing to send.
  [[nodiscard]] bool idle() const noexcept;
  /// There is a connection that requests could go over.
  [[nodiscard]] bool up() const noexcept;
  /// There is something to send over one that can't be made.
  [[nodiscard]] bool in_vain() const noexcept;
  /// Why there is none; null when there is one for each that was needed.
  [[nodiscard]] std::shared_ptr<error const> down_because() const noexcept;
  /// Others say that the server is there: see net::connection::expect.
  void expect();

  /// Ends them; all that is unanswered, in the order of each.
  [[nodiscard]] net::pipeline::batch take_all() noexcept;
  void shut(std::shared_ptr<error const> const& why) noexcept;

 private:
  void watch(net::connection& one, net::connection_role which);
  void end_over_the_other(net::connection_role broken);
  void start_over_both() noexcept;

  reactor::loop& on_;
  net::settings const& config_;
  client_stats& counts_;
  events const tell_;
  bool expected_ = false;
  net::connection usual_;
  std::unique_ptr<net::connection> acknowledged_;
};

}  // namespace holdfast::topology
