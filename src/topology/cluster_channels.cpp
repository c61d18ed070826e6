#include "topology/cluster_channels.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include "base/hash_slot.hpp"

namespace holdfast::topology {

using net::subscriber;

/// A channel, and where it is subscribed.
class cluster_channels::ticket final : public subscriber::listener {
 public:
  ticket(cluster_channels& home, std::string name, channel_of owner, listener& told)
      : who{told}, channel{std::move(name)}, whose{owner}, home_{home} {}

  // Whoever is told may forget the channel, and this with it.
  void on_subscribed() override { who.on_subscribed(); }
  void on_message(std::string_view message) override { who.on_message(message); }
  void on_gone() override { home_.on_displaced(*this, {.what = refusal::kind::not_yet}); }
  void on_refused(std::string const& words) override {
    auto const why = read_refusal(words);
    if (why.what != refusal::kind::other) {
      home_.on_displaced(*this, why);
    } else {
      at = nullptr;  // the subscriber has forgotten it already
      home_.on_refused(*this, words);
    }
  }

  void settle(cluster_node* where, subscriber::kind how) {
    if (where == at && (at == nullptr || how == how_)) return;
    leave();
    how_ = how;
    if (where != nullptr) where->messages().listen(channel, *this, how_);
    at = where;
  }
  void leave() noexcept {
    if (auto* const before = std::exchange(at, nullptr)) before->messages().forget(channel, how_);
  }
  void listen() {
    if (at != nullptr) at->messages().listen(channel, *this, how_);
  }

  listener& who;
  std::string const channel;
  channel_of const whose;
  cluster_node* at = nullptr;

 private:
  cluster_channels& home_;
  subscriber::kind how_ = subscriber::kind::plain;
};

cluster_channels::cluster_channels(events tell) : tell_{std::move(tell)} {}

cluster_channels::~cluster_channels() = default;

bool cluster_channels::listen(std::string const& channel, channel_of whose, subscriber::listener& who) {
  auto const known = all_.find(channel);
  if (known != all_.end()) return listen(known->second);
  subscription fresh;
  fresh.own = std::make_unique<ticket>(*this, channel, whose, who);
  if (whose == channel_of::object) fresh.beside = std::make_unique<ticket>(*this, channel, whose, who);
  auto const added = all_.emplace(channel, std::move(fresh)).first;
  try {
    return listen(added->second);
  } catch (std::exception const&) {
    forget(added);
    throw;
  }
}

bool cluster_channels::listen(subscription const& one) {
  if (unplaced(one)) place(one);
  one.own->listen();
  if (one.beside) one.beside->listen();
  return !unplaced(one);
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

void cluster_channels::place(subscription const& one) {
  auto& own = *one.own;
  if (own.whose == channel_of::client || !tell_.sharded()) {
    if (one.beside) one.beside->leave();
    home_ = tell_.any(home_, nullptr);
    own.settle(home_, subscriber::kind::plain);
    return;
  }
  auto* const server = tell_.server_of(hash_slot(own.channel));
  own.settle(server, subscriber::kind::sharded);
  // The server of the slot can tell then, by who listens there, whether anybody has to be told in that way.
  if (one.beside) one.beside->settle(tell_.any(one.beside->at, server), subscriber::kind::plain);
}

void cluster_channels::place_all() {
  for (auto& [channel, one] : all_) place(one);
}

bool cluster_channels::unplaced(subscription const& one) const noexcept {
  return one.own->at == nullptr || (one.beside && one.beside->at == nullptr && tell_.sharded());
}

bool cluster_channels::any_unplaced() const noexcept {
  return std::ranges::any_of(all_, [this](auto const& one) { return unplaced(one.second); });
}

void cluster_channels::leave(cluster_node const& gone) noexcept {
  if (home_ == &gone) home_ = nullptr;
  for (auto& [channel, one] : all_) {
    for (auto* const each : {one.own.get(), one.beside.get()}) {
      if (each != nullptr && each->at == &gone) each->leave();
    }
  }
}

void cluster_channels::shut() noexcept { all_.clear(); }

void cluster_channels::on_displaced(ticket& one, refusal const& why) {
  auto* const by = std::exchange(one.at, nullptr);
  if (by != nullptr) tell_.displaced(*by, why);
}

/// Both ways, then: who listens is to know that it may be told in vain.
void cluster_channels::on_refused(ticket const& one, std::string const& words) {
  auto& who = one.who;
  forget(one.channel);
  who.on_refused(words);
}

}  // namespace holdfast::topology
