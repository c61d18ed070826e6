#include "etcd/observing.hpp"

#include <algorithm>
#include <vector>

#include "etcd/keys.hpp"
#include "script/names.hpp"

namespace holdfast::etcd {

observing::observing(reactor::loop& loop, channel& over, listeners& to, watching& numbers,
                     std::string const& prefix)
    : loop_{loop}, channel_{over}, listeners_{to}, numbers_{numbers}, prefix_{prefix} {
  again_.set([this] { notify_unwatched(); });
}

observing::observed_map::iterator observing::find(std::uint64_t watch) {
  return std::ranges::find_if(all_, [watch](auto const& each) { return each.second.watch == watch; });
}

void observing::look_again_soon() {
  if (!again_.armed()) loop_.arm(again_, boot_clock::now() + pause_without_watches);
}

void observing::observe(std::string const& name, std::string const& first, std::int64_t revision) {
  auto const listened_on = names::leader(name);
  if (!listeners_.listen_to(listened_on)) return;
  auto& now = all_[listened_on];
  if (revision == 0) {
    if (now.watch == 0) look_again_soon();
    return;
  }
  if (now.watch != 0 && now.key == first) return;
  if (now.watch != 0) channel_.unwatch(now.watch);
  now = {.watch = numbers_.new_number(), .key = first};
  using enum channel::interest;
  if (first.empty()) {
    auto const folder = keys::folder(prefix_, name);
    channel_.watch(now.watch, folder, keys::end_of(folder), revision + 1, addition);
  } else {
    channel_.watch(now.watch, first, {}, revision + 1, all_changes);
  }
}

void observing::stop_observing(std::string_view listened_on) {
  auto const known = all_.find(listened_on);
  if (known == all_.end()) return;
  if (known->second.watch != 0) channel_.unwatch(known->second.watch);
  all_.erase(known);
}

bool observing::on_deleted(std::uint64_t watch) {
  auto const known = find(watch);
  if (known == all_.end()) return false;
  known->second.watch = 0;
  auto const listened_on = known->first;  // whoever is notified may stop listening
  listeners_.notify(listened_on, {});
  return true;
}

bool observing::on_changed(std::uint64_t watch) {
  auto const known = find(watch);
  if (known == all_.end()) return false;
  auto const listened_on = known->first;
  listeners_.notify(listened_on, {});
  return true;
}

bool observing::on_over(std::uint64_t watch) {
  auto const known = find(watch);
  if (known == all_.end()) return false;
  known->second.watch = 0;
  look_again_soon();
  return true;
}

void observing::notify_unwatched() {
  std::vector<std::string> all;
  all.reserve(all_.size());
  for (auto const& [listened_on, now] : all_) {
    if (now.watch == 0) all.push_back(listened_on);
  }
  for (auto const& listened_on : all) listeners_.notify(listened_on, {});
}

}  // namespace holdfast::etcd
