#include "etcd/permit_position.hpp"

#include <algorithm>
#include <numeric>

#include "etcd/keys.hpp"

namespace holdfast::etcd {
namespace {

std::pair<std::string, std::string> from_to(std::string first, std::string end) {
  return {std::move(first), std::move(end)};
}

/// Behind that key, and nothing before it.
std::string next_of(std::string key) { return key.append(1, '\0'); }

range all_permits(std::string const& folder) {
  auto first = keys::permits_of(folder);
  auto end = keys::end_of(first);
  return {.key = std::move(first), .end = std::move(end)};
}

std::string in_the_way(key_value const& stray) {
  if (keys::permit_in(stray)) return "permits of another number";
  return stray.lease == 0 ? "the key \"" + stray.key + "\", which has no lease"
                          : "a lock, by the key \"" + stray.key + "\"";
}

}  // namespace

std::size_t permit_queue::holding() const noexcept {
  std::size_t count = 0;
  for (std::int64_t out = 0; count != all.size() && out + all[count].amount <= size; ++count)
    out += all[count].amount;
  return count;
}

std::int64_t permit_queue::amount_of(std::size_t first_entries) const noexcept {
  return std::accumulate(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(first_entries),
                         std::int64_t{0},
                         [](std::int64_t sum, entry const& each) { return sum + each.amount; });
}

void permit_survey::ask(std::vector<operation>& wanted, std::string const& folder, bool with_values) {
  auto permits = all_permits(folder);
  permits.without_values = !with_values;
  auto const size = keys::size_of(folder);
  wanted.emplace_back(names_from_to(folder, permits.key, 1));
  wanted.emplace_back(names_from_to(permits.end, keys::end_of(folder), 2));
  wanted.emplace_back(range{.key = size});
  wanted.emplace_back(std::move(permits));
}

permit_queue permit_survey::read(std::string const& folder, std::span<found> answered) {
  permit_queue queue;
  auto const size = keys::size_of(folder);
  for (auto const& others : answered.first(2)) {
    for (auto const& each : others.keys) {
      if (each.key != size && queue.misfit.empty()) queue.misfit = in_the_way(each);
    }
  }
  if (!answered[2].keys.empty()) {
    auto& key = answered[2].keys.front();
    if (auto const number = keys::size_in(key.value)) {
      queue.size = *number;
      queue.size_text = std::move(key.value);
    } else if (queue.misfit.empty()) {
      queue.misfit = in_the_way(key);
    }
  }
  queue.all.reserve(answered[3].keys.size());
  for (auto& each : answered[3].keys) {
    auto const words = keys::permit_in(each);
    if (!words) {
      if (queue.misfit.empty()) queue.misfit = in_the_way(each);
      continue;
    }
    if (queue.all.empty() && queue.size_text.empty()) queue.size = words->size;
    queue.all.push_back({.place = std::move(each), .amount = words->amount});
  }
  return queue;
}

range oldest_permit(std::string const& folder) {
  auto oldest = all_permits(folder);
  oldest.limit = 1;
  return oldest;
}

std::vector<std::pair<std::string, std::string>> all_but_permits(std::string const& folder, std::int64_t size,
                                                                 bool size_is_set) {
  if (!size_is_set) return keys::all_but(folder, keys::permits_of_size(folder, size));
  auto const permits = keys::permits_of(folder);
  auto const key_of_size = keys::size_of(folder);
  return {from_to(folder, permits), from_to(keys::end_of(permits), key_of_size),
          from_to(next_of(key_of_size), keys::end_of(folder))};
}

void permit_position::ask(std::vector<operation>& wanted, std::string const& folder, std::int64_t revision) {
  auto permits = all_permits(folder);
  permits.max_create_revision = revision;
  permits.sorted = range::order::newest_first;
  permits.without_values = true;
  wanted.emplace_back(range{.key = keys::size_of(folder)});
  wanted.emplace_back(std::move(permits));
  wanted.emplace_back(oldest_permit(folder));
}

permit_position::permit_position(std::string const& own, std::int64_t amount, std::span<found> answered)
    : first{std::move(answered[2])} {
  permit_queue before;
  auto& places = answered[1].keys;
  std::int64_t own_size = 0;
  before.all.reserve(places.size());
  for (auto& each : places) {
    auto const words = keys::permit_in(each);
    if (!words) continue;
    if (each.key == own) {
      own_size = words->size;
    } else {
      before.all.push_back({.place = std::move(each), .amount = words->amount});
    }
  }
  auto const set = answered[0].keys.empty() ? std::nullopt : keys::size_in(answered[0].keys.front().value);
  size = before.size = set.value_or(own_size);
  if (set) size_text = answered[0].keys.front().value;
  too_many = amount > size;

  std::int64_t taken = 0;
  for (auto const& [place, theirs] : before.all) {
    if (taken > size - amount) break;
    taken += theirs;
    waits_for.push_back(place.key);
  }
  has_them = taken <= size - amount;
  if (has_them) waits_for.clear();

  std::ranges::reverse(before.all);
  auto const holding = before.holding();
  out = before.amount_of(holding);
  ahead = std::ssize(before.all) - static_cast<std::ptrdiff_t>(holding);
}

}  // namespace holdfast::etcd
