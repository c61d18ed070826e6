#include "simulation/joint_view.hpp"

#include <algorithm>
#include <vector>

namespace holdfast::simulation {

std::optional<kind::hold> hold_of(servers& all, part const& wanted, std::string const& name,
                                  std::string const& owner) {
  auto const& lock = wanted.of(name);
  if (all.size() == 1) return lock.hold_of(all.front()->data(), name, owner);
  std::vector<kind::hold> holds;
  for (auto const& each : all) {
    if (auto const found = lock.hold_of(each->data(), name, owner)) holds.push_back(*found);
  }
  if (holds.size() < majority_of(all)) return std::nullopt;
  std::ranges::sort(holds, std::greater{}, &kind::hold::end);
  return holds[majority_of(all) - 1];
}

bool is_free(servers& all, part const& wanted, std::string const& name, int amount, time_point now) {
  auto const& lock = wanted.of(name);
  if (!lock.voted()) return lock.is_free != nullptr && lock.is_free(all.front()->data(), name, amount, now);
  std::vector<std::string> votes;  // under an owner's vote is nothing but its id
  for (auto const& each : all) {
    if (each->data().has(name)) votes.push_back(each->data().contents_of(name));
  }
  return std::ranges::none_of(votes, [&](std::string const& vote) {
    return static_cast<std::size_t>(std::ranges::count(votes, vote)) >= majority_of(all);
  });
}

std::string contents_of(servers& all, std::string const& name) {
  std::string result;
  for (auto const& each : all) result += (result.empty() ? "" : " | ") + each->data().contents_of(name);
  return result;
}

}  // namespace holdfast::simulation
