#include "topology/server_connections.hpp"

#include <exception>
#include <string>
#include <utility>

#include "net/loose_ends.hpp"
#include "resp/command.hpp"

namespace holdfast::topology {

server_connections::server_connections(reactor::loop& on, net::settings const& how, client_stats& counts,
                                       events tell)
    : on_{on}, config_{how}, counts_{counts}, tell_{std::move(tell)}, usual_{on, how, counts} {
  watch(usual_, net::connection_role::usual);
}

void server_connections::watch(net::connection& one, net::connection_role which) {
  if (expected_) one.expect();
  if (tell_.refused)
    one.on_refusal([this, which](net::pipeline::batch& what) { return tell_.refused(which, what); });
  if (tell_.troubled) one.on_trouble(tell_.troubled);
  one.on_broken([this, which] {
    try {
      end_over_the_other(which);
    } catch (std::exception const&) {
      start_over_both();
    }
    if (tell_.broken) tell_.broken();
  });
}

/// What is asked over the other one from now on may be about what this one still carries, and it may be long
/// until this one is made again, or never. The other has been up since before that was ended, or would have
/// ended it itself, so no server that was started again can have given its number to somebody else.
void server_connections::end_over_the_other(net::connection_role broken) {
  auto* const other = broken == net::connection_role::usual ? acknowledged_.get() : &usual_;
  if (other == nullptr || !other->up() || config_.unended == nullptr) return;
  for (auto const& one : config_.unended->at(other->to())) {
    if (one.id.number == 0) continue;
    net::request kill;
    kill.once = true;
    kill.stays = true;
    resp::append_command(kill.bytes,
                         {"CLIENT", "KILL", "ID", std::to_string(one.id.number), "ADDR", one.id.address});
    other->send(std::move(kill));
  }
}

/// The first thing that they do then is to end what is to be ended.
void server_connections::start_over_both() noexcept {
  usual_.starve();
  if (acknowledged_) acknowledged_->starve();
}

net::connection& server_connections::over(net::connection_role which) {
  if (which == net::connection_role::usual) return usual_;
  if (!acknowledged_) {
    auto made = std::make_unique<net::connection>(on_, config_, counts_);
    watch(*made, which);
    acknowledged_ = std::move(made);
  }
  return *acknowledged_;
}

bool server_connections::idle() const noexcept {
  return usual_.idle() && (!acknowledged_ || acknowledged_->idle());
}

bool server_connections::up() const noexcept { return usual_.up() || (acknowledged_ && acknowledged_->up()); }

bool server_connections::in_vain() const noexcept {
  auto const vain = [](net::connection const& one) { return one.down_because() && !one.idle(); };
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
  return all;
}

void server_connections::shut(std::shared_ptr<error const> const& why) noexcept {
  usual_.shut(why);
  if (acknowledged_) acknowledged_->shut(why);
}

}  // namespace holdfast::topology
