#include "topology/cluster_node.hpp"

#include <exception>
#include <utility>

#include "resp/command.hpp"

namespace holdfast::topology {

cluster_node::cluster_node(reactor::loop& loop, net::settings config, client_stats& counts, std::string name,
                           events const& handlers)
    : loop_{loop},
      config_{std::move(config)},
      counts_{counts},
      name_{std::move(name)},
      events_{handlers},
      requests_{loop,
                config_,
                counts,
                {.refused =
                     [this](net::connection_role role, net::pipeline::batch& requests) {
                       return events_.refused(*this, role, requests);
                     },
                 .troubled = [this] { events_.troubled(*this); },
                 .broken = events_.broken,
                 .late = [this] { events_.late(*this); }}} {}

net::subscriber& cluster_node::messages() {
  if (!messages_) {
    auto made = std::make_unique<net::subscriber>(loop_, config_, counts_);
    made->on_trouble([this] {
      unheard_ = true;
      events_.troubled(*this);
    });
    messages_ = std::move(made);
  }
  return *messages_;
}

bool cluster_node::drain(std::uint16_t slot, net::connection_role role) {
  auto& slots = draining_over(role);
  if (slots.now.contains(slot) || !slots.next.insert(slot).second) return false;
  if (!slots.now.empty()) return true;
  try {
    send_barrier(role);
  } catch (std::exception const&) {
    slots.next.erase(slot);
    throw;
  }
  return true;
}

/// Replies come in order, so the reply to this PING follows the replies to all earlier requests.
void cluster_node::send_barrier(net::connection_role role) {
  net::request ping;
  resp::append_command(ping.bytes, {"PING"});
  ping.stays = true;
  ping.done = [this, role](net::response const& response) { on_barrier(role, response); };
  over(role).send(std::move(ping));
  auto& slots = draining_over(role);
  slots.now.swap(slots.next);
}

void cluster_node::on_barrier(net::connection_role role, net::response const& response) noexcept {
  auto& slots = draining_over(role);
  auto const drained = std::exchange(slots.now, {});
  auto lost = response.failure != nullptr;  // taken back, or the node can't be reached: no reply comes soon
  if (!slots.next.empty() && !lost) {
    try {
      send_barrier(role);
    } catch (std::exception const&) {
      lost = true;
    }
  }
  auto const also = lost ? std::exchange(slots.next, {}) : std::unordered_set<std::uint16_t>{};
  for (auto const slot : drained) events_.drained(slot);
  for (auto const slot : also) events_.drained(slot);
}

bool cluster_node::missed() const noexcept {
  return requests_.in_vain() || (messages_ && unheard_ && messages_->deaf());
}

net::pipeline::batch cluster_node::retire() noexcept {
  if (messages_) messages_->close_unused();
  return take_all();
}

void cluster_node::shut(std::shared_ptr<error const> const& reason) noexcept {
  if (messages_) messages_->shut();
  requests_.shut(reason);
}

}  // namespace holdfast::topology
