#include "topology/server_connections.hpp"

#include <exception>
#include <string>
#include <utility>

#include "net/broken_connections.hpp"
#include "resp/command.hpp"

namespace holdfast::topology {
namespace {

/// A server that replies after so long may have been suspended, and replaced meanwhile.
constexpr std::chrono::milliseconds late_reply{500};

}  // namespace

server_connections::server_connections(reactor::loop& loop, net::settings const& config, client_stats& counts,
                                       events handlers)
    : loop_{loop},
      config_{config},
      counts_{counts},
      events_{std::move(handlers)},
      doubt_{late_reply, events_.late},
      usual_{loop, config, counts} {
  watch(usual_, net::connection_role::usual);
}

void server_connections::watch(net::connection& connection, net::connection_role role) {
  if (expected_) connection.expect();
  if (events_.refused)
    connection.on_refusal(
        [this, role](net::pipeline::batch& requests) { return events_.refused(role, requests); });
  if (events_.troubled) connection.on_trouble(events_.troubled);
  connection.on_broken([this, role] {
    try {
      end_over_the_other(role);
    } catch (std::exception const&) {
      start_over_both();
    }
    if (events_.broken) events_.broken();
  });
  if (events_.restored) connection.on_restored(events_.restored);
  if (events_.late) connection.share(doubt_);  // last: where there is no memory for the rest it won't exist
}

/// Requests sent over the other connection from now on may concern requests that the broken one still
/// carries, and the broken one may be made again late or never. The other connection was up before this one
/// was ended (else its handshake would have ended it), so the server has not restarted in between and can't
/// have given the connection's number to another client.
void server_connections::end_over_the_other(net::connection_role broken) {
  auto* const other = broken == net::connection_role::usual ? acknowledged_.get() : &usual_;
  if (other == nullptr || !other->up() || config_.known_broken == nullptr) return;
  for (auto const& broken_connection : config_.known_broken->at(other->to())) {
    if (broken_connection.id.number == 0) continue;
    net::request kill;
    kill.never_resend = true;
    kill.stays = true;
    resp::append_command(kill.bytes, {"CLIENT", "KILL", "ID", std::to_string(broken_connection.id.number),
                                      "ADDR", broken_connection.id.address});
    other->send(std::move(kill));
  }
}

/// New connections begin by ending the noted broken ones.
void server_connections::start_over_both() noexcept {
  usual_.starve();
  if (acknowledged_) acknowledged_->starve();
}

net::connection& server_connections::over(net::connection_role role) {
  if (role == net::connection_role::usual) return usual_;
  if (!acknowledged_) {
    auto made = std::make_unique<net::connection>(loop_, config_, counts_);
    watch(*made, role);
    acknowledged_ = std::move(made);
  }
  return *acknowledged_;
}

bool server_connections::idle() const noexcept {
  return usual_.idle() && (!acknowledged_ || acknowledged_->idle());
}

bool server_connections::up() const noexcept { return usual_.up() || (acknowledged_ && acknowledged_->up()); }

bool server_connections::in_vain() const noexcept {
  auto const vain = [](net::connection const& connection) {
    return connection.down_because() && !connection.idle();
  };
  return vain(usual_) || (acknowledged_ && vain(*acknowledged_));
}

std::shared_ptr<error const> server_connections::down_because() const noexcept {
  if (usual_.down_because() || !acknowledged_) return usual_.down_because();
  return acknowledged_->down_because();
}

void server_connections::expect() {
  expected_ = true;
  usual_.expect();
  if (acknowledged_) acknowledged_->expect();
}

net::pipeline::batch server_connections::take_all() noexcept {
  auto all = usual_.take_all();
  if (acknowledged_) all.splice(all.end(), acknowledged_->take_all());
  doubt_.abandon();
  return all;
}

void server_connections::shut(std::shared_ptr<error const> const& reason) noexcept {
  usual_.shut(reason);
  if (acknowledged_) acknowledged_->shut(reason);
}

}  // namespace holdfast::topology
