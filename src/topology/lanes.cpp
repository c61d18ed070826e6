#include "topology/lanes.hpp"

#include <exception>
#include <string>
#include <utility>

#include "net/loose_ends.hpp"
#include "resp/command.hpp"

namespace holdfast::topology {

lanes::lanes(reactor::loop& on, net::settings const& how, client_stats& counts, events tell)
    : on_{on}, how_{how}, counts_{counts}, tell_{std::move(tell)}, usual_{on, how, counts} {
  watch(usual_, net::lane::usual);
}

void lanes::watch(net::connection& one, net::lane which) {
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
void lanes::end_over_the_other(net::lane broken) {
  auto* const other = broken == net::lane::usual ? acknowledged_.get() : &usual_;
  if (other == nullptr || !other->up() || how_.unended == nullptr) return;
  for (auto const& one : how_.unended->at(other->to())) {
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
void lanes::start_over_both() noexcept {
  usual_.starve();
  if (acknowledged_) acknowledged_->starve();
}

net::connection& lanes::over(net::lane which) {
  if (which == net::lane::usual) return usual_;
  if (!acknowledged_) {
    auto made = std::make_unique<net::connection>(on_, how_, counts_);
    watch(*made, which);
    acknowledged_ = std::move(made);
  }
  return *acknowledged_;
}

bool lanes::idle() const noexcept { return usual_.idle() && (!acknowledged_ || acknowledged_->idle()); }

bool lanes::up() const noexcept { return usual_.up() || (acknowledged_ && acknowledged_->up()); }

bool lanes::in_vain() const noexcept {
  auto const vain = [](net::connection const& one) { return one.down_because() && !one.idle(); };
  return vain(usual_) || (acknowledged_ && vain(*acknowledged_));
}

std::shared_ptr<error const> lanes::down_because() const noexcept {
  if (usual_.down_because() || !acknowledged_) return usual_.down_because();
  return acknowledged_->down_because();
}

void lanes::expect() {
  expected_ = true;
  usual_.expect();
  if (acknowledged_) acknowledged_->expect();
}

net::pipeline::batch lanes::take_all() noexcept {
  auto all = usual_.take_all();
  if (acknowledged_) all.splice(all.end(), acknowledged_->take_all());
  return all;
}

void lanes::shut(std::shared_ptr<error const> const& why) noexcept {
  usual_.shut(why);
  if (acknowledged_) acknowledged_->shut(why);
}

}  // namespace holdfast::topology
