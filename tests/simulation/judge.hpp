/// What must hold whatever happens: the promises, checked after each event.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/core.hpp"
#include "simulation/server.hpp"
#include "simulation/world.hpp"

namespace holdfast::simulation {

/// Failures are collected, not thrown: they are noticed inside callbacks.
class judge {
 public:
  judge(world& in, server& of) : world_{in}, server_{of} {}

  /// A caller begins to wait, or ends that in one way or another.
  void on_wait(std::string const& name) { ++waiting_[name]; }
  void on_answer(std::string const& name) { --waiting_[name]; }

  void on_granted(std::string const& name, engine::lease_state_ptr const& lease, std::string const& owner);
  /// It is about to be given back.
  void on_release(engine::lease_state_ptr const& lease);

  /// It is to keep its key until then.
  void on_kept(std::string const& name, std::string const& owner, time_point until) {
    kept_[name] = {owner, until};
  }

  /// This owner may leave the lock behind.
  void excuse(std::string owner) { excused_.insert(std::move(owner)); }

  /// After each event.
  void check();

  /// Once all callers have gone, and clients are shut: all were answered, and nothing is left behind.
  void check_end();

  void fail(std::string what);
  [[nodiscard]] std::vector<std::string> const& failures() const noexcept { return failures_; }

 private:
  struct holder {
    std::string name;
    std::string owner;
    engine::lease_state_ptr lease;
  };

  world& world_;
  server& server_;
  std::vector<holder> holders_;
  std::map<std::string, std::pair<std::string, time_point>> kept_;  ///< by name: the owner, and until when
  std::set<std::string> excused_;
  std::map<std::string, int> waiting_;
  std::map<std::string, time_point> free_since_;
  std::vector<std::string> failures_;
};

}  // namespace holdfast::simulation
