#include "engine/watches.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "engine/release/owed_requests.hpp"

namespace holdfast::engine {

struct watches::watch {
  watch(std::shared_ptr<watcher> asks, channel& on) : watching{std::move(asks)}, heard_on{&on} {}

  std::shared_ptr<watcher> watching;
  channel* heard_on;  ///< null: it has ended
  bool asking = false;
  bool ask_again = false;  ///< something may have happened since the question under way was answered
  reactor::timer next{{}};
  reactor::timer outdated{{}};
};

class watches::channel final : public net::subscriber::listener {
 public:
  channel(watches& parent, std::string name) : parent_{parent}, name_{std::move(name)} {}

  void on_subscribed() override { ask_all(); }
  void on_message(std::string_view /*message*/) override { ask_all(); }
  /// The watchers look from time to time.
  void on_refused(std::string const& /*text*/) override {}

  [[nodiscard]] std::string const& name() const noexcept { return name_; }

  std::vector<watch_ptr> all;

 private:
  void ask_all() {
    auto const now = boot_clock::now();
    auto const present = all;  // an answer may change it
    for (auto const& each : present) parent_.ask(each, now);
  }

  watches& parent_;
  std::string const name_;
};

watches::watches(reactor::loop& loop, lock_backend& backend, client_constants const& client,
                 call_gate& gate) noexcept
    : loop_{loop}, backend_{backend}, client_{client}, gate_{gate} {}
watches::~watches() = default;

void watches::begin(std::shared_ptr<watcher> const& watching, std::string const& channel_name) {
  gate_.check_process();
  reactor::lock hold{loop_.mutex()};
  gate_.prepare();
  auto const [known, added] = channels_.try_emplace(channel_name);
  watch_ptr added_watch;
  try {
    if (added) {
      known->second = std::make_unique<channel>(*this, channel_name);
      backend_.listen(channel_name, topology::channel_of::lock, *known->second);
    }
    added_watch = std::make_shared<watch>(watching, *known->second);
    std::weak_ptr<watch> const weak{added_watch};
    added_watch->next.set([this, weak] {
      if (auto const still = weak.lock()) ask(still, boot_clock::now());
    });
    added_watch->outdated.set([this, weak] {
      auto const still = weak.lock();
      if (!still) return;
      auto const now = boot_clock::now();
      still->watching->on_outdated(now);
      report(still, now);
    });
    known->second->all.push_back(added_watch);
  } catch (std::bad_alloc const&) {
    if (added) {
      if (known->second) backend_.forget(channel_name);
      channels_.erase(known);
    }
    throw;
  }
  ask(added_watch, boot_clock::now());
  loop_.leave(hold);
}

void watches::end(watcher const& watching) noexcept {
  if (client_.forked()) return;
  reactor::lock hold{loop_.mutex()};
  watch_ptr found;
  for (auto const& [name, on] : channels_) {
    auto const position = std::ranges::find_if(
        on->all, [&watching](watch_ptr const& each) { return each->watching.get() == &watching; });
    if (position != on->all.end()) found = *position;
  }
  if (found) remove(*found);
  loop_.leave(hold);
}

void watches::end_all() noexcept {
  while (!channels_.empty()) {
    watch_ptr const first = channels_.begin()->second->all.front();
    remove(*first);
  }
}

/// The last watch of a channel ends that.
void watches::remove(watch& ended) noexcept {
  auto& on = *std::exchange(ended.heard_on, nullptr);
  ended.next.disarm();
  ended.outdated.disarm();
  std::erase_if(on.all, [&ended](watch_ptr const& each) { return each.get() == &ended; });
  if (!on.all.empty()) return;
  backend_.forget(on.name());
  channels_.erase(channels_.find(on.name()));
}

void watches::ask(watch_ptr const& watched, time_point now) {
  if (watched->heard_on == nullptr) return;
  if (watched->asking) {
    watched->ask_again = true;
    return;
  }
  watched->ask_again = false;
  watched->next.disarm();
  try {
    watched->asking = true;
    loop_.add_interest(1);
    watched->watching->ask(backend_, [this, watched] {
      loop_.add_interest(-1);
      on_answer(watched);
    });
  } catch (std::bad_alloc const&) {
    watched->asking = false;
    loop_.add_interest(-1);
    loop_.arm(watched->next, now + memory_pause);
  }
}

void watches::on_answer(watch_ptr const& watched) {
  watched->asking = false;
  if (watched->heard_on == nullptr) return;
  auto const now = boot_clock::now();
  auto next = now + memory_pause;
  try {
    next = watched->watching->on_answer(now);
  } catch (std::bad_alloc const&) {
    // It asks once more.
  }
  if (watched->ask_again || next <= now) {
    ask(watched, now);
  } else {
    loop_.arm(watched->next, next);
  }
  auto const until = watched->watching->counts_until();
  if (until == time_point::max()) {
    watched->outdated.disarm();
  } else {
    loop_.arm(watched->outdated, until);
  }
  report(watched, now);
}

void watches::report(watch_ptr const& watched, time_point now) {
  if (!watched->watching->has_news()) return;
  try {
    loop_.deferred().add([watching = watched->watching] { watching->deliver(); });
  } catch (std::bad_alloc const&) {
    if (!watched->asking) loop_.arm(watched->next, now + memory_pause);
  }
}

}  // namespace holdfast::engine
