#include "topology/redirect_queue.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::topology {

bool redirect_queue::closed(std::uint16_t slot) const noexcept {
  auto const known = slots_.find(slot);
  return known != slots_.end() && known->second.closed != 0;
}

bool redirect_queue::waits_for_a_node(detour const& those) noexcept {
  return std::ranges::any_of(
      those.kept, [](routed_request const& one) { return one.request.kept_for == refusal::kind::unserved; });
}

bool redirect_queue::any_unserved() const noexcept {
  return std::ranges::any_of(slots_, [](auto const& one) { return waits_for_a_node(one.second); });
}

void redirect_queue::open(std::uint16_t slot) noexcept {
  auto const known = slots_.find(slot);
  if (known == slots_.end() || known->second.closed == 0) return;
  --known->second.closed;
  if (known->second.unused()) slots_.erase(known);
}

void redirect_queue::keep(std::uint16_t slot, batch&& what, time_point retry) {
  auto& those = slots_[slot];
  those.retry = those.kept.empty() ? retry : std::min(those.retry, retry);
  append(those.kept, what);
}

redirect_queue::batch redirect_queue::take(std::uint16_t slot, time_point now) noexcept {
  batch result;
  auto const known = slots_.find(slot);
  if (known == slots_.end() || known->second.closed != 0) return result;
  auto& those = known->second;
  append(result, those.returned);
  if (now >= those.retry) append(result, those.kept);
  append(result, those.newer);
  if (those.unused()) slots_.erase(known);
  return result;
}

std::vector<std::uint16_t> redirect_queue::due(time_point now) const {
  std::vector<std::uint16_t> result;
  for (auto const& [slot, those] : slots_) {
    if (those.closed == 0 && !those.kept.empty() && those.retry <= now) result.push_back(slot);
  }
  return result;
}

void redirect_queue::forget(cluster_node const& gone) noexcept {
  for (auto& [slot, those] : slots_) {
    for (auto* const list : {&those.returned, &those.kept, &those.newer}) {
      for (auto& one : *list) {
        if (one.request.ask_at == &gone) one.request.ask_at = nullptr;
      }
    }
  }
}

}  // namespace holdfast::topology
