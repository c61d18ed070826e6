#include "simulation/judge.hpp"

#include <algorithm>

namespace holdfast::simulation {
namespace {

/// A free lock with waiting callers is taken within this time: two re-checks, an outage, and the latency.
constexpr std::chrono::seconds longest_idle{8};

}  // namespace

void judge::fail(std::string const& text) {
  if (failures_.size() < 5)
    failures_.push_back(std::to_string(world_.now().time_since_epoch().count() / 1000) + " us: " + text);
}

void judge::on_granted(std::string const& name, engine::lease_state_ptr const& lease,
                       std::string const& owner) {
  std::erase_if(holders_, [](holder const& entry) { return !entry.lease->valid(); });
  for (auto const& other : holders_) {
    if (other.name == name) fail(owner + " holds \"" + name + "\" beside " + other.owner);
  }
  if (lease->valid()) holders_.push_back({name, owner, lease});
}

void judge::on_release(engine::lease_state_ptr const& lease) {
  std::erase_if(holders_, [&](holder const& entry) { return entry.lease == lease; });
}

void judge::check() {
  for (auto const& [name, owner, lease] : holders_) {
    if (!lease->valid()) continue;
    auto const value = server_.text_of(name);
    if (value != owner)
      fail(owner + " has a valid lease of \"" + name + "\", but the server has \"" + value + "\"");
    if (value == owner && lease->deadline() > server_.end_of(name))
      fail("the lease of " + owner + " outlives the key \"" + name + "\"");
  }
  std::erase_if(kept_, [this](auto const& entry) {
    return entry.second.until <= world_.now() + std::chrono::milliseconds{1};
  });
  for (auto const& [name, key] : kept_) {
    if (server_.text_of(name) != key.owner) fail("the key that " + key.owner + " has kept is gone too early");
  }
  for (auto const& [name, count] : waiting_) {
    if (count <= 0 || !server_.text_of(name).empty()) {
      free_since_.erase(name);
      continue;
    }
    auto const since = free_since_.try_emplace(name, world_.now()).first;
    if (world_.now() - since->second > longest_idle) {
      fail(std::to_string(count) + " wait for \"" + name + "\", which has been free for so long");
      free_since_.erase(since);
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
