#include "topology/cluster_node.hpp"

#include <exception>
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
      requests_{on,
                how_,
                counts,
                {.refused = [this](net::connection_role over,
                                   net::pipeline::batch& what) { return tell_.refused(*this, over, what); },
                 .troubled = [this] { tell_.troubled(*this); },
                 .broken = tell_.broken}} {}

net::subscriber& cluster_node::messages() {
  if (!messages_) {
    auto made = std::make_unique<net::subscriber>(on_, how_, counts_);
    made->on_trouble([this] {
      unheard_ = true;
      tell_.troubled(*this);
    });
    messages_ = std::move(made);
  }
  return *messages_;
}

bool cluster_node::drain(std::uint16_t slot, net::connection_role over_which) {
  auto& those = draining_over(over_which);
  if (those.now.contains(slot) || !those.next.insert(slot).second) return false;
  if (!those.now.empty()) return true;
  try {
    send_barrier(over_which);
  } catch (std::exception const&) {
    those.next.erase(slot);
    throw;
  }
  return true;
}

/// Replies come in order, so the one to this comes after those to all that was sent before.
void cluster_node::send_barrier(net::connection_role over_which) {
  net::request ping;
  resp::append_command(ping.bytes, {"PING"});
  ping.stays = true;
  ping.done = [this, over_which](net::response const& how) { on_barrier(over_which, how); };
  over(over_which).send(std::move(ping));
  auto& those = draining_over(over_which);
  those.now.swap(those.next);
}

void cluster_node::on_barrier(net::connection_role over_which, net::response const& how) noexcept {
  auto& those = draining_over(over_which);
  auto const drained = std::exchange(those.now, {});
  auto lost = how.failure != nullptr;  // taken back, or the node is out of reach: nothing comes soon
  if (!those.next.empty() && !lost) {
    try {
      send_barrier(over_which);
    } catch (std::exception const&) {
      lost = true;
    }
  }
  auto const also = lost ? std::exchange(those.next, {}) : std::unordered_set<std::uint16_t>{};
  for (auto const slot : drained) tell_.drained(slot);
  for (auto const slot : also) tell_.drained(slot);
}

bool cluster_node::missed() const noexcept {
  return requests_.in_vain() || (messages_ && unheard_ && messages_->deaf());
}

net::pipeline::batch cluster_node::rest() noexcept {
  if (messages_) messages_->close_unused();
  return take_all();
}

void cluster_node::shut(std::shared_ptr<error const> const& why) noexcept {
  if (messages_) messages_->close();
  requests_.shut(why);
}

}  // namespace holdfast::topology
