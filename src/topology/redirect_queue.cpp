#include "topology/redirect_queue.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::topology {

bool redirect_queue::closed(std::uint16_t slot) const noexcept {
  auto const known = slots_.find(slot);
  return known != slots_.end() && known->second.closed != 0;
}

bool redirect_queue::waits_for_a_node(slot_requests const& state) noexcept {
  return std::ranges::any_of(state.kept, [](routed_request const& entry) {
    return entry.request.kept_for == refusal::kind::unserved;
  });
}

bool redirect_queue::any_unserved() const noexcept {
  return std::ranges::any_of(slots_, [](auto const& pair) { return waits_for_a_node(pair.second); });
}

void redirect_queue::open(std::uint16_t slot) noexcept {
  auto const known = slots_.find(slot);
  if (known == slots_.end() || known->second.closed == 0) return;
  --known->second.closed;
  if (known->second.unused()) slots_.erase(known);
}

void redirect_queue::hold_back(std::uint16_t slot, batch&& requests, time_point retry_at) {
  auto& state = slots_[slot];
  state.retry_at = state.kept.empty() ? retry_at : std::min(state.retry_at, retry_at);
  append(state.kept, requests);
}

redirect_queue::batch redirect_queue::take(std::uint16_t slot, time_point now) noexcept {
  batch result;
  auto const known = slots_.find(slot);
  if (known == slots_.end() || known->second.closed != 0) return result;
  auto& state = known->second;
  append(result, state.returned);
  if (now >= state.retry_at) append(result, state.kept);
  append(result, state.newer);
  if (state.unused()) slots_.erase(known);
  return result;
}

std::vector<std::uint16_t> redirect_queue::due(time_point now) const {
  std::vector<std::uint16_t> result;
  for (auto const& [slot, state] : slots_) {
    if (state.closed == 0 && !state.kept.empty() && state.retry_at <= now) result.push_back(slot);
  }
  return result;
}

void redirect_queue::forget(cluster_node const& gone) noexcept {
  for (auto& [slot, state] : slots_) {
    for (auto* const list : {&state.returned, &state.kept, &state.newer}) {
      for (auto& entry : *list) {
        if (entry.request.ask_at == &gone) entry.request.ask_at = nullptr;
      }
    }
  }
}

}  // namespace holdfast::topology
