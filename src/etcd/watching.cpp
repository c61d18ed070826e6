#include "etcd/watching.hpp"

#include <algorithm>
#include <utility>

#include "etcd/keys.hpp"

namespace holdfast::etcd {

watching::watching(reactor::loop& loop, channel& over, listeners& to, std::function<void()> ask_about_leases)
    : loop_{loop}, channel_{over}, listeners_{to}, ask_about_leases_{std::move(ask_about_leases)} {
  again_.set([this] { look_again(); });
}

void watching::watch(place_ptr const& from, std::string const& key, std::int64_t from_revision) {
  if (from->watch != 0 && from->watched == key) return;
  unwatch(*from);
  from->watch = new_number();
  from->watched = key;
  all_.emplace(from->watch, from);
  channel_.watch(from->watch, key, {}, from_revision, channel::interest::deletion);
}

/// Not from the revision of the key on, if that is long ago: it may have been compacted.
void watching::watch_own(place_ptr const& holder) {
  holder->watching.disarm();
  for (auto const& each : holder->keys)
    add(holder, each, {}, std::max(holder->revision, holder->seen) + 1, channel::interest::all_changes);
}

bool watching::watches_own(place const& holder) noexcept {
  return std::ranges::all_of(holder.keys, [&](auto const& each) { return holder.watches.contains(each); });
}

void watching::note_read(place& holder, std::vector<key_value> const& keys, std::int64_t revision) {
  holder.seen = revision;
  if (std::ranges::any_of(keys, keys::is_wanted_back, &key_value::value))
    listeners_.notify_of_petition(holder);
}

void watching::add(place_ptr const& from, std::string const& key, std::string const& end,
                   std::int64_t from_revision, channel::interest wanted) {
  auto const [watch, added] = from->watches.try_emplace(key, last_number_ + 1);
  if (!added) return;
  all_.emplace(++last_number_, from);
  channel_.watch(watch->second, key, end, from_revision, wanted);
}

void watching::watch_all(place_ptr const& from, std::vector<std::string> const& keys, std::string const& size,
                         std::int64_t from_revision, std::string const& beginning) {
  std::erase_if(from->watches, [&](auto const& each) {
    if (each.first == size || each.first == beginning || std::ranges::find(keys, each.first) != keys.end())
      return false;
    all_.erase(each.second);
    channel_.unwatch(each.second);
    return true;
  });
  for (auto const& each : keys) add(from, each, {}, from_revision, channel::interest::deletion);
  if (!beginning.empty())
    add(from, beginning, keys::end_of(beginning), from_revision, channel::interest::deletion);
  add(from, size, {}, from_revision, channel::interest::all_changes);
}

void watching::wake_at(place_ptr const& waiter, time_point time) {
  waiter->watching.set([this, weak = std::weak_ptr{waiter}] {
    auto const still = weak.lock();
    if (still && !still->holds && still->lease) listeners_.wake(*still);
  });
  loop_.arm(waiter->watching, time);
}

void watching::unwatch(place& from) {
  for (auto const& [key, number] : std::exchange(from.watches, {})) {
    all_.erase(number);
    channel_.unwatch(number);
  }
  if (from.watch == 0) return;
  all_.erase(from.watch);
  channel_.unwatch(std::exchange(from.watch, 0));
}

/// That watch has ended.
void watching::forget(place& from, std::uint64_t number) {
  if (from.watch == number) from.watch = 0;
  std::erase_if(from.watches, [number](auto const& each) { return each.second == number; });
}

void watching::on_deleted(std::uint64_t number) {
  auto const known = all_.extract(number);
  if (!known) return;
  auto const& from = known.mapped();
  forget(*from, number);
  if (from->holds) {
    ask_about_leases_();
  } else {
    listeners_.wake(*from);
  }
}

/// Somebody has changed the value of a holder's key, perhaps to ask for the lock: see holding::find_petition.
/// Or the number of permits for which somebody waits.
void watching::on_changed(std::uint64_t number) {
  auto const known = all_.find(number);
  if (known == all_.end()) return;
  auto const from = known->second;
  if (from->holds) {
    listeners_.notify_of_petition(*from);
  } else {
    listeners_.wake(*from);
  }
}

void watching::on_over(std::uint64_t number) {
  auto const known = all_.extract(number);
  if (!known) return;
  forget(*known.mapped(), number);
  if (known.mapped()->holds) {
    holders_unwatched_ = true;
  } else {
    unwatched_.push_back(known.mapped());
  }
  if (!again_.armed()) loop_.arm(again_, boot_clock::now() + pause_without_watches);
}

void watching::look_again() {
  for (auto const& each : std::exchange(unwatched_, {})) {
    auto const still = each.lock();
    if (still && !still->holds && still->watch == 0 && (still->lease || still->of_latch))
      listeners_.wake(*still);
  }
  // Each renewal watches anew.
  if (std::exchange(holders_unwatched_, false)) ask_about_leases_();
}

}  // namespace holdfast::etcd
