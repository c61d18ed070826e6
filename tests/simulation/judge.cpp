#include "simulation/judge.hpp"

#include <algorithm>

namespace holdfast::simulation {
namespace {

/// A free lock that somebody waits for is taken within this: two re-checks, an outage, and the way.
constexpr std::chrono::seconds longest_idle{8};

}  // namespace

void judge::fail(std::string what) {
  if (failures_.size() < 5)
    failures_.push_back(std::to_string(world_.now().time_since_epoch().count() / 1000) + " us: " + what);
}

void judge::on_granted(std::string const& name, engine::lease_state_ptr const& lease,
                       std::string const& owner) {
  std::erase_if(holders_, [](holder const& one) { return !one.lease->valid(); });
  for (auto const& one : holders_) {
    if (one.name == name) fail(owner + " holds \"" + name + "\" beside " + one.owner);
  }
  if (lease->valid()) holders_.push_back({name, owner, lease});
}

void judge::on_release(engine::lease_state_ptr const& lease) {
  std::erase_if(holders_, [&](holder const& one) { return one.lease == lease; });
}

void judge::check() {
  for (auto const& one : holders_) {
    if (!one.lease->valid()) continue;
    auto const value = server_.text_of(one.name);
    if (value != one.owner)
      fail(one.owner + " has a valid lease of \"" + one.name + "\", but the server has \"" + value + "\"");
    if (value == one.owner && one.lease->deadline() > server_.end_of(one.name))
      fail("the lease of " + one.owner + " outlives the key \"" + one.name + "\"");
  }
  std::erase_if(kept_, [this](auto const& entry) {
    return entry.second.second <= world_.now() + std::chrono::milliseconds{1};
  });
  for (auto const& [name, keeper] : kept_) {
    if (server_.text_of(name) != keeper.first)
      fail("the key that " + keeper.first + " has kept is gone too early");
  }
  for (auto const& [name, count] : waiting_) {
    auto const idle = count > 0 && server_.text_of(name).empty();
    auto& since = free_since_[name];
    if (!idle) {
      since = time_point::max();
    } else if (since == time_point::max() || since == time_point{}) {
      since = world_.now();
    } else if (world_.now() - since > longest_idle) {
      fail(std::to_string(count) + " wait for \"" + name + "\", which has been free for so long");
      since = time_point::max();
    }
  }
}

void judge::check_end() {
  for (auto const& [name, count] : waiting_) {
    if (count != 0) fail(std::to_string(count) + " callers of \"" + name + "\" were never answered");
  }
  for (auto const& key : server_.keys()) {
    auto const outlives = key.ends_with("holdfast_token") || key.starts_with("holdfast_client:");
    if (!outlives && !excused_.contains(server_.text_of(key)))
      fail("left behind: " + key + " = " + server_.text_of(key));
  }
}

}  // namespace holdfast::simulation
