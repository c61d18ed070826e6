#include "judge/token_order.hpp"

#include <algorithm>
#include <iterator>

namespace holdfast::judging {

hold_state const* token_order::above(hold_state const& hold, company as, std::uint32_t machine) const {
  auto const own = of_machine_.find(machine);
  if (own != of_machine_.end()) {
    if (auto const* const other = own->second.above(hold, as)) return other;
  }
  auto const certain = [&](step const& each) { return is_certain(each, hold.granted.t); };
  auto const end = std::ranges::partition_point(steps_, certain);
  if (end != steps_.begin()) {
    if (auto const* const other = std::prev(end)->told.above(hold, as)) return other;
  }
  // In no order may two writers have the same.
  auto const repeats = as == company::none && !steps_.empty() && steps_.back().told.write.token == hold.token;
  return repeats ? &steps_.back().told.write : nullptr;
}

void token_order::add(hold_state const& hold, company as, std::uint32_t machine) {
  of_machine_[machine].add(hold, as);
  auto const now = hold.granted.t;
  auto const certain = [&](step const& each) { return is_certain(each, now); };
  auto const end = std::ranges::partition_point(steps_, certain);
  if (end - steps_.begin() > 1) steps_.erase(steps_.begin(), std::prev(end));
  if (steps_.empty() || now - steps_.back().from > uncertainty_ / steps_within_uncertainty)
    steps_.push_back({.from = now, .told = steps_.empty() ? newest_leases{} : steps_.back().told});
  steps_.back().to = now;
  steps_.back().told.add(hold, as);
}

}  // namespace holdfast::judging
