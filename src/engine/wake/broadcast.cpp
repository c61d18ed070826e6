#include "engine/wake/broadcast.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::engine {
namespace {

/// How long a channel without a listener stays subscribed.
constexpr std::chrono::seconds lingering{2};

}  // namespace

class broadcast::channel final : public net::subscriber::listener {
 public:
  channel(broadcast& home, std::string name) : name_{std::move(name)}, home_{home} {}

  void on_subscribed() override {
    open_ = true;
    home_.on_subscribed(*this);
  }
  void on_message(std::string_view message) override { home_.on_message(*this, message); }
  void on_refused(std::string const& words) override { home_.on_refused(name_, words); }

  [[nodiscard]] std::string const& name() const noexcept { return name_; }
  [[nodiscard]] bool open() const noexcept { return open_; }

  /// Nobody listens to it: it stands in `idle`, in a place that it has from the beginning, so that leaving it
  /// can't fail.
  void rest(std::list<channel*>& idle, time_point now) noexcept {
    idle_since = now;
    idle.splice(idle.end(), in_use_);
  }
  void use(std::list<channel*>& idle) noexcept {
    if (in_use_.empty()) in_use_.splice(in_use_.end(), idle, place_);
  }

  std::vector<std::uint64_t> bids;
  time_point idle_since{};

 private:
  std::list<channel*> in_use_{this};
  std::list<channel*>::iterator const place_ = in_use_.begin();
  std::string const name_;
  broadcast& home_;
  bool open_ = false;
};

broadcast::broadcast(reactor::loop& on, lock_backend& whom, topology::channel_of whose, events tell)
    : on_{on}, whom_{whom}, whose_{whose}, tell_{std::move(tell)}, timer_{[this] { sweep(); }} {}

broadcast::~broadcast() = default;

bool broadcast::listen(std::uint64_t bid, std::vector<std::string> const& channels) {
  auto& mine = bids_[bid];
  if (mine.empty()) {
    try {
      mine.reserve(channels.size());
      for (auto const& name : channels) {
        auto& one = open(name);
        one.bids.push_back(bid);
        one.use(idle_);
        mine.push_back(&one);
      }
    } catch (...) {
      leave(bid, afterwards::linger);
      throw;
    }
  }
  return hears(bid);
}

/// Idle at first.
broadcast::channel& broadcast::open(std::string const& name) {
  auto const [known, added] = channels_.try_emplace(name);
  if (!added) return *known->second;
  try {
    known->second = std::make_unique<channel>(*this, name);
    whom_.listen(name, whose_, *known->second);
  } catch (...) {
    channels_.erase(known);
    throw;
  }
  rest(*known->second);
  return *known->second;
}

void broadcast::rest(channel& one) noexcept {
  one.rest(idle_, boot_clock::now());
  if (!timer_.armed()) on_.arm(timer_, one.idle_since + lingering);
}

bool broadcast::join(std::uint64_t bid, std::vector<std::string> const& channels) {
  auto const open = std::ranges::all_of(channels, [this](std::string const& name) {
    auto const known = channels_.find(name);
    return known != channels_.end() && known->second->open();
  });
  return open && listen(bid, channels);
}

void broadcast::leave(std::uint64_t bid, afterwards how) noexcept {
  auto const known = bids_.find(bid);
  if (known == bids_.end()) return;
  auto const mine = std::move(known->second);
  bids_.erase(known);
  for (auto* const one : mine) {
    std::erase(one->bids, bid);
    if (!one->bids.empty()) continue;
    if (how == afterwards::forget) {
      drop(channels_.find(one->name()));
    } else {
      rest(*one);
    }
  }
}

bool broadcast::hears(std::uint64_t bid) const { return std::ranges::all_of(bids_.at(bid), &channel::open); }

void broadcast::on_subscribed(channel const& which) {
  auto const bids = which.bids;  // asking again may change it
  for (auto const bid : bids) {
    if (bids_.contains(bid) && hears(bid)) tell_.open(bid);
  }
}

void broadcast::on_message(channel const& which, std::string_view message) {
  if (tell_.said) {
    tell_.said(which.name(), message);
    return;
  }
  auto const bids = which.bids;
  for (auto const bid : bids) tell_.woken(bid);
}

/// The subscriber has dropped it already.
void broadcast::on_refused(std::string name, std::string const& words) {
  auto const first = !std::exchange(refused_, true);
  if (first) tell_.refused(name, words);
}

void broadcast::drop(std::unordered_map<std::string, std::unique_ptr<channel>>::iterator which) noexcept {
  which->second->use(idle_);
  whom_.forget(which->first);
  channels_.erase(which);
}

void broadcast::sweep() {
  auto const now = boot_clock::now();
  while (!idle_.empty() && idle_.front()->idle_since + lingering <= now)
    drop(channels_.find(idle_.front()->name()));
  if (!idle_.empty()) on_.arm(timer_, idle_.front()->idle_since + lingering);
}

}  // namespace holdfast::engine
