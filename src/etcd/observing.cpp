// How observers of elections on etcd hear of changes.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "etcd/backend.hpp"
#include "etcd/keys.hpp"
#include "script/names.hpp"

namespace holdfast::etcd {
namespace {

constexpr std::chrono::milliseconds pause_without_watches{100};

auto of_watch(auto& observed, std::uint64_t watch) {
  return std::ranges::find_if(observed, [watch](auto const& each) { return each.second.watch == watch; });
}

}  // namespace

/// Waiters and observers whose watch has ended: a member may be restarting.
void backend::look_again_soon() {
  if (!wake_all_.armed()) loop_.arm(wake_all_, boot_clock::now() + pause_without_watches);
}

/// From the revision on in which an observer has seen that: the key of the leader is watched for any change,
/// or all places for a new one, if nobody leads. Whoever gets in line behind a leader disturbs nobody.
void backend::observe(std::string const& name, std::string const& first, std::int64_t revision) {
  auto const listened_on = names::leader(name);
  if (!listeners_.contains(listened_on)) return;
  auto& now = observed_[listened_on];
  if (revision == 0) {
    if (now.watch == 0) look_again_soon();
    return;
  }
  if (now.watch != 0 && now.key == first) return;
  if (now.watch != 0) channel_->unwatch(now.watch);
  now = {.watch = ++last_watch_, .key = first};
  using enum channel::interest;
  if (first.empty()) {
    auto const folder = keys::folder(prefix_, name);
    channel_->watch(now.watch, folder, keys::end_of(folder), revision + 1, addition);
  } else {
    channel_->watch(now.watch, first, {}, revision + 1, all_changes);
  }
}

void backend::stop_observing(std::string_view listened_on) {
  auto const known = observed_.find(listened_on);
  if (known == observed_.end()) return;
  if (known->second.watch != 0) channel_->unwatch(known->second.watch);
  observed_.erase(known);
}

/// That watch has ended. False: it was for something else.
bool backend::forget_observed(std::uint64_t watch) {
  auto const known = of_watch(observed_, watch);
  if (known == observed_.end()) return false;
  known->second.watch = 0;
  return true;
}

/// False: that watch is for something else.
bool backend::tell_observers(std::uint64_t watch, bool over) {
  auto const known = of_watch(observed_, watch);
  if (known == observed_.end()) return false;
  if (over) known->second.watch = 0;
  auto const listened_on = known->first;  // whoever is told may stop listening
  tell(listened_on, {});
  return true;
}

/// Those whose watch has ended.
void backend::tell_all_observers() {
  std::vector<std::string> all;
  all.reserve(observed_.size());
  for (auto const& [listened_on, now] : observed_) {
    if (now.watch == 0) all.push_back(listened_on);
  }
  for (auto const& listened_on : all) tell(listened_on, {});
}

}  // namespace holdfast::etcd
