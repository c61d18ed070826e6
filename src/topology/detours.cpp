#include "topology/detours.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace holdfast::topology {

bool detours::closed(std::uint16_t slot) const {
  auto const known = slots_.find(slot);
  return known != slots_.end() && known->second.closed != 0;
}

bool detours::waits_for_a_node(detour const& those) noexcept {
  return std::ranges::any_of(those.kept,
                             [](parcel const& what) { return what.why == refusal::kind::unserved; });
}

bool detours::any_unserved() const noexcept {
  return std::ranges::any_of(slots_, [](auto const& one) { return waits_for_a_node(one.second); });
}

void detours::open(std::uint16_t slot) {
  auto const known = slots_.find(slot);
  if (known == slots_.end() || known->second.closed == 0) return;
  --known->second.closed;
}

void detours::keep(std::uint16_t slot, parcel what, time_point retry) {
  auto& those = slots_[slot];
  those.retry = those.kept.empty() ? retry : std::min(those.retry, retry);
  those.kept.push_back(std::move(what));
}

std::vector<detours::parcel> detours::take(std::uint16_t slot, time_point now) {
  std::vector<parcel> result;
  auto const known = slots_.find(slot);
  if (known == slots_.end() || known->second.closed != 0) return result;
  auto& those = known->second;
  auto const move_all = [&result](std::deque<parcel>& from) {
    std::ranges::move(std::exchange(from, {}), std::back_inserter(result));
  };
  move_all(those.returned);
  if (now >= those.retry) move_all(those.kept);
  move_all(those.newer);
  if (those.unused()) slots_.erase(known);
  return result;
}

std::vector<std::uint16_t> detours::due(time_point now) const {
  std::vector<std::uint16_t> result;
  for (auto const& [slot, those] : slots_) {
    if (those.closed == 0 && !those.kept.empty() && those.retry <= now) result.push_back(slot);
  }
  return result;
}

void detours::forget(cluster_node const& gone) {
  for (auto& [slot, those] : slots_) {
    for (auto* const list : {&those.returned, &those.kept, &those.newer}) {
      for (auto& what : *list) {
        if (what.to == &gone) what.to = nullptr;
      }
    }
  }
}

}  // namespace holdfast::topology
