#include "topology/cluster_channels.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include "base/hash_slot.hpp"

namespace holdfast::topology {

using net::subscriber;

/// A channel, and the node where it is subscribed.
class cluster_channels::node_subscription final : public subscriber::listener {
 public:
  node_subscription(cluster_channels& channels, std::string name, channel_of reach, listener& target)
      : receiver{target}, channel{std::move(name)}, scope{reach}, channels_{channels} {}

  // The receiver may forget the channel in these calls, which destroys this object.
  void on_subscribed() override {
    open_ = true;
    if (beside == nullptr || beside->open_ || !channels_.events_.sharded()) receiver.on_subscribed();
  }
  void on_closed() noexcept override {
    open_ = false;
    receiver.on_closed();
  }
  void on_message(std::string_view message) override { receiver.on_message(message); }
  void on_gone() override {
    on_closed();
    channels_.on_displaced(*this, {.type = refusal::kind::not_yet});
  }
  void on_refused(std::string const& text) override {
    auto const refusal = read_refusal(text);
    if (refusal.type != refusal::kind::other) {
      channels_.on_displaced(*this, refusal);
    } else {
      node = nullptr;  // the subscriber has forgotten the channel already
      channels_.on_refused(*this, text);
    }
  }

  void settle(cluster_node* target, subscriber::kind kind) {
    if (target == node && (node == nullptr || kind == kind_)) return;
    leave();
    kind_ = kind;
    if (target != nullptr) target->messages().listen(channel, *this, kind_);
    node = target;
  }
  void leave() noexcept {
    auto* const before = std::exchange(node, nullptr);
    if (before == nullptr) return;
    before->messages().forget(channel, kind_);
    on_closed();
  }
  void listen() {
    if (node != nullptr) node->messages().listen(channel, *this, kind_);
  }

  listener& receiver;
  std::string const channel;
  channel_of const scope;
  cluster_node* node = nullptr;
  node_subscription* beside = nullptr;  ///< of an object: its other one, which may hear what this one doesn't

 private:
  cluster_channels& channels_;
  subscriber::kind kind_ = subscriber::kind::plain;
  bool open_ = false;
};

cluster_channels::cluster_channels(events handlers) : events_{std::move(handlers)} {}

cluster_channels::~cluster_channels() = default;

bool cluster_channels::listen(std::string const& channel, channel_of scope, subscriber::listener& listener) {
  auto const known = all_.find(channel);
  if (known != all_.end()) return listen(known->second);
  subscription fresh;
  fresh.own = std::make_unique<node_subscription>(*this, channel, scope, listener);
  if (scope == channel_of::object) {
    fresh.beside = std::make_unique<node_subscription>(*this, channel, scope, listener);
    fresh.beside->beside = fresh.own.get();
    fresh.own->beside = fresh.beside.get();
  }
  auto const added = all_.emplace(channel, std::move(fresh)).first;
  try {
    return listen(added->second);
  } catch (std::exception const&) {
    forget(added);
    throw;
  }
}

bool cluster_channels::listen(subscription const& channel) {
  if (unassigned(channel)) assign(channel);
  channel.own->listen();
  if (channel.beside) channel.beside->listen();
  return !unassigned(channel);
}

void cluster_channels::forget(std::string_view channel) noexcept {
  auto const known = all_.find(channel);
  if (known != all_.end()) forget(known);
}

void cluster_channels::forget(all_type::const_iterator known) noexcept {
  known->second.own->leave();
  if (known->second.beside) known->second.beside->leave();
  all_.erase(known);
}

void cluster_channels::assign(subscription const& channel) {
  auto& own = *channel.own;
  if (own.scope == channel_of::client || !events_.sharded()) {
    if (channel.beside) channel.beside->leave();
    home_ = events_.any(home_, nullptr);
    own.settle(home_, subscriber::kind::plain);
    return;
  }
  auto* const server = events_.server_of(hash_slot(own.channel));
  own.settle(server, subscriber::kind::sharded);
  // Not at the slot's server: its plain subscribers then show whether a plain message is needed.
  if (channel.beside)
    channel.beside->settle(events_.any(channel.beside->node, server), subscriber::kind::plain);
}

void cluster_channels::assign_all() {
  for (auto& [name, channel] : all_) assign(channel);
}

bool cluster_channels::unassigned(subscription const& channel) const noexcept {
  return channel.own->node == nullptr ||
         (channel.beside && channel.beside->node == nullptr && events_.sharded());
}

bool cluster_channels::any_unassigned() const noexcept {
  return std::ranges::any_of(all_, [this](auto const& pair) { return unassigned(pair.second); });
}

void cluster_channels::leave(cluster_node const& gone) noexcept {
  if (home_ == &gone) home_ = nullptr;
  for (auto& [name, channel] : all_) {
    for (auto* const each : {channel.own.get(), channel.beside.get()}) {
      if (each != nullptr && each->node == &gone) each->leave();
    }
  }
}

void cluster_channels::shut() noexcept { all_.clear(); }

void cluster_channels::on_displaced(node_subscription& channel, refusal const& refusal) {
  auto* const node = std::exchange(channel.node, nullptr);
  if (node != nullptr) events_.displaced(*node, refusal);
}

/// Ends both subscriptions of an object: the receiver must know that it may miss messages.
void cluster_channels::on_refused(node_subscription const& channel, std::string const& text) {
  auto& receiver = channel.receiver;
  forget(channel.channel);
  receiver.on_refused(text);
}

}  // namespace holdfast::topology
