/// The arithmetic of notifications.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "simulation/world.hpp"

namespace holdfast::simulation {

/// Each notification ends a wait, unless that wait ends in another way at the same time; and whoever waited
/// when all were notified goes on.
class condition_judge {
 public:
  enum class end {
    woken,      ///< notified, or for no reason
    timed_out,  ///< the server says that it waited until then
    other,      ///< cancelled, or failed
  };

  condition_judge(world& shared_world, std::function<void(std::string const&)> fail)
      : world_{shared_world}, fail_{std::move(fail)} {}

  /// The server has said that it waits.
  void on_begin(void const* caller) { waits_.push_back({.caller = caller, .begun = world_.now()}); }
  /// It may wait or not: its caller doesn't know, and goes.
  void on_failed_begin() { ++others_; }
  void on_end(void const* caller, end how) {
    auto const ended = std::erase_if(waits_, [caller](wait const& entry) { return entry.caller == caller; });
    if (ended == 0) return;
    if (how == end::woken) ++woken_;
    if (how == end::other) ++others_;
  }
  /// The server has said how many, to a request that was sent then.
  void on_notified(std::int64_t count, bool all, time_point sent_at) {
    notified_ += count;
    for (auto& entry : waits_) {
      if (all && entry.begun <= sent_at)
        entry.ends_by = std::min<time_point>(entry.ends_by, world_.now() + longest_delay);
    }
  }

  void check() {
    for (auto& entry : waits_) {
      if (world_.now() <= entry.ends_by) continue;
      fail_("a caller waits, though all were notified while it did");
      entry.ends_by = time_point::max();
    }
  }
  void check_end() const {
    if (notified_ > woken_ + others_)
      fail_(std::to_string(notified_) + " were notified, and " + std::to_string(woken_) + " have heard it; " +
            std::to_string(others_) + " waits ended in another way");
  }

 private:
  struct wait {
    void const* caller;
    time_point begun;
    time_point ends_by = time_point::max();
  };

  /// Two re-checks, two outages, and the latency.
  static constexpr std::chrono::seconds longest_delay{15};

  world& world_;
  std::function<void(std::string const&)> fail_;
  std::vector<wait> waits_;
  std::int64_t notified_ = 0;
  std::int64_t woken_ = 0;
  std::int64_t others_ = 0;
};

}  // namespace holdfast::simulation
