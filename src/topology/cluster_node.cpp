#include "topology/cluster_node.hpp"

#include <iterator>
#include <utility>

#include "resp/command.hpp"

namespace holdfast::topology {

cluster_node::cluster_node(reactor::loop& on, net::settings how, client_stats& counts, std::string name,
                           events const& tell)
    : on_{on},
      how_{std::move(how)},
      counts_{counts},
      name_{std::move(name)},
      tell_{tell},
      usual_{on, how_, counts} {
  watch(usual_, net::lane::usual);
}

void cluster_node::watch(net::connection& one, net::lane which) {
  if (expected_) one.expect();
  one.on_refusal([this, which](net::pipeline::finished& what) { return tell_.refused(*this, which, what); });
  one.on_trouble([this] { tell_.troubled(*this); });
}

net::connection& cluster_node::acknowledged() {
  if (!acknowledged_) {
    acknowledged_ = std::make_unique<net::connection>(on_, how_, counts_);
    watch(*acknowledged_, net::lane::acknowledged);
  }
  return *acknowledged_;
}

net::subscriber& cluster_node::messages() {
  if (!messages_) {
    messages_ = std::make_unique<net::subscriber>(on_, how_, counts_);
    messages_->on_trouble([this] {
      unheard_ = true;
      tell_.troubled(*this);
    });
  }
  return *messages_;
}

bool cluster_node::drain(std::uint16_t slot, net::lane over_which) {
  auto& those = over_which == net::lane::usual ? usual_draining_ : acknowledged_draining_;
  if (those.now.contains(slot) || !those.next.insert(slot).second) return false;
  if (those.now.empty()) send_barrier(over_which);
  return true;
}

/// Replies come in order, so the one to this comes after those to all that was sent before.
void cluster_node::send_barrier(net::lane over_which) {
  auto& those = over_which == net::lane::usual ? usual_draining_ : acknowledged_draining_;
  those.now = std::exchange(those.next, {});
  net::request ping;
  resp::append_command(ping.bytes, {"PING"});
  ping.stays = true;
  ping.done = [this, &those, over_which](net::answer const& how) {
    auto const drained = std::exchange(those.now, {});
    auto const lost = how.failure != nullptr;  // taken back, or the node is out of reach: nothing comes soon
    if (!those.next.empty() && !lost) send_barrier(over_which);
    auto const also = lost ? std::exchange(those.next, {}) : std::unordered_set<std::uint16_t>{};
    for (auto const slot : drained) tell_.drained(slot);
    for (auto const slot : also) tell_.drained(slot);
  };
  over(over_which).send(std::move(ping));
}

bool cluster_node::idle() const noexcept {
  return usual_.idle() && (!acknowledged_ || acknowledged_->idle());
}

bool cluster_node::missed() const noexcept {
  auto const in_vain = [](net::connection const& one) { return one.down_because() && !one.idle(); };
  return in_vain(usual_) || (acknowledged_ && in_vain(*acknowledged_)) ||
         (messages_ && unheard_ && messages_->deaf());
}

std::shared_ptr<error const> cluster_node::down_because() const noexcept {
  if (usual_.down_because() || !acknowledged_) return usual_.down_because();
  return acknowledged_->down_because();
}

void cluster_node::expect() {
  expected_ = true;
  usual_.expect();
  if (acknowledged_) acknowledged_->expect();
}

std::vector<net::pipeline::finished> cluster_node::take_all() {
  auto all = usual_.take_all();
  if (acknowledged_) {
    auto more = acknowledged_->take_all();
    all.insert(all.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  }
  return all;
}

std::vector<net::pipeline::finished> cluster_node::rest() {
  if (messages_) messages_->close_unused();
  return take_all();
}

void cluster_node::shut(std::shared_ptr<error const> const& why) {
  if (messages_) messages_->close();
  usual_.shut(why);
  if (acknowledged_) acknowledged_->shut(why);
}

}  // namespace holdfast::topology
