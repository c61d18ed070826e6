#include "engine/wake/contender_channels.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::engine {
namespace {

/// How long a channel without a contender stays subscribed.
constexpr std::chrono::seconds lingering{2};

}  // namespace

class contender_channels::channel final : public net::subscriber::listener {
 public:
  channel(contender_channels& parent, std::string name) : name_{std::move(name)}, parent_{parent} {}

  void on_subscribed() override {
    open_ = true;
    parent_.on_subscribed(*this, boot_clock::now());
  }
  void on_closed() noexcept override { open_ = false; }
  void on_message(std::string_view message) override {
    parent_.on_message(*this, message, boot_clock::now());
  }
  void on_refused(std::string const& text) override { parent_.on_refused(name_, text); }

  [[nodiscard]] std::string const& name() const noexcept { return name_; }
  [[nodiscard]] bool open() const noexcept { return open_; }

  /// Puts it into `idle`, as it has no contender. The list node was allocated with the channel, so this can't
  /// fail.
  void linger(std::list<channel*>& idle, time_point now) noexcept {
    idle_since = now;
    idle.splice(idle.end(), in_use_);
  }
  void use(std::list<channel*>& idle) noexcept {
    if (in_use_.empty()) in_use_.splice(in_use_.end(), idle, position_);
  }

  std::vector<std::uint64_t> contenders;
  time_point idle_since{};

 private:
  std::list<channel*> in_use_{this};
  std::list<channel*>::iterator const position_ = in_use_.begin();
  std::string const name_;
  contender_channels& parent_;
  bool open_ = false;
};

contender_channels::contender_channels(reactor::loop& loop, lock_backend& backend, topology::channel_of scope,
                                       events handlers)
    : loop_{loop}, backend_{backend}, scope_{scope}, events_{std::move(handlers)}, timer_{[this] {
        sweep();
      }} {}

contender_channels::~contender_channels() = default;

bool contender_channels::listen(std::uint64_t contender, std::vector<std::string> const& channels,
                                time_point now) {
  auto& entries = contenders_[contender];
  if (entries.empty()) {
    try {
      entries.reserve(channels.size());
      for (auto const& name : channels) {
        auto& entry = open(name, now);
        entry.contenders.push_back(contender);
        entry.use(idle_);
        entries.push_back(&entry);
      }
    } catch (...) {
      leave(contender, afterwards::linger, now);
      throw;
    }
  }
  return hears(contender);
}

/// A new one is idle.
contender_channels::channel& contender_channels::open(std::string const& name, time_point now) {
  auto const [known, added] = channels_.try_emplace(name);
  if (!added) return *known->second;
  try {
    known->second = std::make_unique<channel>(*this, name);
    backend_.listen(name, scope_, *known->second);
  } catch (...) {
    channels_.erase(known);
    throw;
  }
  linger(*known->second, now);
  return *known->second;
}

void contender_channels::linger(channel& entry, time_point now) noexcept {
  entry.linger(idle_, now);
  if (!timer_.armed()) loop_.arm(timer_, entry.idle_since + lingering);
}

bool contender_channels::listen_if_open(std::uint64_t contender, std::vector<std::string> const& channels,
                                        time_point now) {
  auto const open = std::ranges::all_of(channels, [this](std::string const& name) {
    auto const known = channels_.find(name);
    return known != channels_.end() && known->second->open();
  });
  return open && listen(contender, channels, now);
}

void contender_channels::leave(std::uint64_t contender, afterwards fate, time_point now) noexcept {
  auto const known = contenders_.find(contender);
  if (known == contenders_.end()) return;
  auto const entries = std::move(known->second);
  contenders_.erase(known);
  for (auto* const entry : entries) {
    std::erase(entry->contenders, contender);
    if (!entry->contenders.empty()) continue;
    if (fate == afterwards::forget) {
      drop(channels_.find(entry->name()));
    } else {
      linger(*entry, now);
    }
  }
}

bool contender_channels::hears(std::uint64_t contender) const noexcept {
  auto const known = contenders_.find(contender);
  return known != contenders_.end() && std::ranges::all_of(known->second, &channel::open);
}

void contender_channels::on_subscribed(channel const& entry, time_point now) {
  auto const contenders = entry.contenders;  // the handler may change it
  for (auto const contender : contenders) {
    if (hears(contender)) events_.open(contender, now);
  }
}

void contender_channels::on_message(channel const& entry, std::string_view message, time_point now) {
  if (events_.on_message) {
    events_.on_message(entry.name(), message, now);
    return;
  }
  auto const contenders = entry.contenders;
  for (auto const contender : contenders) events_.woken(contender, now);
}

/// The subscriber has dropped the channel already.
void contender_channels::on_refused(std::string name, std::string const& text) {
  auto const first = !std::exchange(refused_, true);
  if (first) events_.refused(name, text);
}

void contender_channels::drop(
    std::unordered_map<std::string, std::unique_ptr<channel>>::iterator position) noexcept {
  position->second->use(idle_);
  backend_.forget(position->first);
  channels_.erase(position);
}

void contender_channels::sweep() {
  auto const now = boot_clock::now();
  while (!idle_.empty() && idle_.front()->idle_since + lingering <= now)
    drop(channels_.find(idle_.front()->name()));
  if (!idle_.empty()) loop_.arm(timer_, idle_.front()->idle_since + lingering);
}

}  // namespace holdfast::engine
