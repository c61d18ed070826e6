#include "serve/expected_traces.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace holdfast::cli {
namespace {

using namespace std::chrono_literals;

constexpr auto is_said_after = 1'200ms;
constexpr std::chrono::microseconds held_long = 2s;
constexpr std::size_t most_kept = 5'000;

bool has_no_trace(hold_info const& each) { return each.process.trace.empty(); }

}  // namespace

void expected_traces::add(lock_state const& lock, time const now) {
  if (all_.size() >= most_kept || lock.held_for > held_long) return;
  all_.push_back({now + is_said_after, lock.name, lock.wire, lock.holder.owner});
}

std::vector<std::string> expected_traces::take_due(lock_store const& store, time const now) {
  std::vector<std::string> names;
  for (; !all_.empty() && all_.front().due <= now && names.size() != most_at_once; all_.pop_front()) {
    auto& first = all_.front();
    auto const* const known = store.find(first.name, first.on);
    if (known != nullptr && known->state.holder.owner == first.owner &&
        std::ranges::any_of(known->state.holders, has_no_trace))
      names.push_back(std::move(first.name));
  }
  return names;
}

}  // namespace holdfast::cli
