#include "topology/cluster_channels.hpp"

#include <algorithm>
#include <utility>

#include "base/hash_slot.hpp"

namespace holdfast::topology {

/// One channel, and where it is subscribed.
class cluster_channels::ticket final : public net::subscriber::listener {
 public:
  ticket(cluster_channels& home, std::string channel, channel_of whose, listener& who)
      : home_{home}, channel_{std::move(channel)}, whose_{whose}, who_{who} {}

  // Whoever is told may forget the channel, and this with it.
  void on_subscribed() override { who_.on_subscribed(); }
  void on_message(std::string_view message) override { who_.on_message(message); }
  void on_gone() override { home_.on_displaced(*this, {.what = refusal::kind::not_yet}); }
  void on_refused(std::string const& words) override {
    auto const why = read_refusal(words);
    if (why.what != refusal::kind::other) {
      home_.on_displaced(*this, why);
      return;
    }
    auto& who = who_;
    home_.drop(*this);
    who.on_refused(words);
  }

  void settle(cluster_node* where, net::subscriber::kind how) {
    if (where == at && (at == nullptr || how == how_)) return;
    if (at != nullptr) at->messages().forget(channel_);
    at = where;
    how_ = how;
    listen();
  }
  void listen() {
    if (at != nullptr) at->messages().listen(channel_, *this, how_);
  }

  [[nodiscard]] std::string const& channel() const noexcept { return channel_; }
  [[nodiscard]] channel_of whose() const noexcept { return whose_; }

  cluster_node* at = nullptr;

 private:
  cluster_channels& home_;
  std::string const channel_;
  channel_of const whose_;
  listener& who_;
  net::subscriber::kind how_ = net::subscriber::kind::plain;
};

cluster_channels::cluster_channels(events tell) : tell_{std::move(tell)} {}

cluster_channels::~cluster_channels() = default;

bool cluster_channels::listen(std::string const& channel, channel_of whose, net::subscriber::listener& who) {
  auto& place_of = tickets_[channel];
  if (!place_of) place_of = std::make_unique<ticket>(*this, channel, whose, who);
  if (place_of->at != nullptr) {
    place_of->listen();
  } else {
    place(*place_of);
  }
  return place_of->at != nullptr;
}

void cluster_channels::forget(std::string_view channel) {
  auto const known = tickets_.find(channel);
  if (known == tickets_.end()) return;
  known->second->settle(nullptr, net::subscriber::kind::plain);
  tickets_.erase(known);
}

void cluster_channels::place(ticket& one) {
  if (one.whose() == channel_of::lock && tell_.sharded()) {
    one.settle(tell_.server_of(hash_slot(one.channel())), net::subscriber::kind::sharded);
  } else {
    home_ = tell_.any(home_);
    one.settle(home_, net::subscriber::kind::plain);
  }
}

void cluster_channels::place_all() {
  for (auto& [channel, one] : tickets_) place(*one);
}

bool cluster_channels::any_unplaced() const noexcept {
  return std::ranges::any_of(tickets_, [](auto const& one) { return one.second->at == nullptr; });
}

void cluster_channels::leave(cluster_node const& gone) {
  if (home_ == &gone) home_ = nullptr;
  for (auto& [channel, one] : tickets_) {
    if (one->at == &gone) one->settle(nullptr, net::subscriber::kind::plain);
  }
}

void cluster_channels::shut() { tickets_.clear(); }

void cluster_channels::on_displaced(ticket& one, refusal const& why) {
  auto* const by = std::exchange(one.at, nullptr);
  if (by != nullptr) tell_.displaced(*by, why);
}

/// The subscriber has forgotten it already.
void cluster_channels::drop(ticket const& one) { tickets_.erase(one.channel()); }

}  // namespace holdfast::topology
