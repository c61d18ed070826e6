/// The promises of the locks, checked after each event.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "engine/core.hpp"
#include "simulation/server.hpp"
#include "simulation/world.hpp"

namespace holdfast::simulation {

/// Collects failures instead of throwing, since the checks run inside callbacks.
class judge {
 public:
  judge(world& shared_world, server& redis) : world_{shared_world}, server_{redis} {}

  /// A caller begins to wait.
  void on_wait(std::string const& name) { ++waiting_[name]; }
  /// The wait has ended, in one way or another.
  void on_answer(std::string const& name) { --waiting_[name]; }

  void on_granted(std::string const& name, engine::lease_state_ptr const& lease, std::string const& owner);
  /// The lease is about to be released.
  void on_release(engine::lease_state_ptr const& lease);

  /// The owner's key has to stay until then.
  void on_kept(std::string const& name, std::string const& owner, time_point until) {
    kept_[name] = {.owner = owner, .until = until};
  }

  /// The key of this owner may be left at the end.
  void excuse(std::string owner) { excused_.insert(std::move(owner)); }

  /// After each event.
  void check();

  /// After all callers have ended, and the clients are shut: all callers were answered, and no key is left.
  void check_end();

  void fail(std::string const& text);
  [[nodiscard]] std::vector<std::string> const& failures() const noexcept { return failures_; }

 private:
  struct holder {
    std::string name;
    std::string owner;
    engine::lease_state_ptr lease;
  };
  struct kept_key {
    std::string owner;
    time_point until{};
  };

  world& world_;
  server& server_;
  std::vector<holder> holders_;
  std::map<std::string, kept_key> kept_;  ///< by name
  std::set<std::string> excused_;
  std::map<std::string, int> waiting_;            ///< number of waiting callers by name
  std::map<std::string, time_point> free_since_;  ///< of free locks with waiting callers
  std::vector<std::string> failures_;
};

}  // namespace holdfast::simulation
