/// The arithmetic of a barrier's generations.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "simulation/world.hpp"

namespace holdfast::simulation {

/// No more callers pass in one generation than it has parties, and not before so many have been waiting at
/// one time.
class barrier_judge {
 public:
  barrier_judge(world& shared_world, std::function<void(std::string const&)> fail)
      : world_{shared_world}, fail_{std::move(fail)} {}

  /// A caller begins to wait.
  void on_wait(std::string const& name, void const* caller) {
    waits_.push_back({caller, name, world_.now()});
  }
  /// Its wait has ended, in one way or another.
  void on_answer(void const* caller) {
    for (auto& entry : waits_) {
      if (entry.caller == caller) entry.ended = std::min(entry.ended, world_.now());
    }
    std::erase_if(waits_, [this](wait const& entry) {
      return entry.ended != time_point::max() && world_.now() - entry.ended > 2 * longest_delay;
    });
  }
  /// It goes on.
  void on_passed(std::string const& name, std::int64_t generation, int parties) {
    auto const number = "generation " + std::to_string(generation) + " of \"" + name + "\"";
    if (++passed_[{name, generation}] > parties)
      fail_("more than " + std::to_string(parties) + " have passed " + number);
    auto const candidates = std::ranges::count_if(waits_, [&](wait const& entry) {
      return entry.name == name &&
             (entry.ended == time_point::max() || world_.now() - entry.ended < longest_delay);
    });
    if (candidates < parties) fail_(number + " has opened for " + std::to_string(candidates));
  }

 private:
  struct wait {
    void const* caller;
    std::string name;
    time_point begun;
    time_point ended = time_point::max();
  };

  /// Who has left may have been counted, if the request that says so was held up: two outages, and the
  /// latency.
  static constexpr std::chrono::seconds longest_delay{8};

  world& world_;
  std::function<void(std::string const&)> fail_;
  std::vector<wait> waits_;
  std::map<std::pair<std::string, std::int64_t>, int> passed_;
};

}  // namespace holdfast::simulation
