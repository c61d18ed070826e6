/// The promises of latches, checked after each event.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "simulation/server.hpp"
#include "simulation/world.hpp"

namespace holdfast::simulation {

/// The count in a latch's key, on either wire; 0 without one.
[[nodiscard]] std::int64_t count_of_latch(std::string_view text);

/// Nobody passes a latch that was closed through its whole wait; nobody waits for long at one that stays
/// open.
class latch_judge {
 public:
  latch_judge(world& shared_world, servers& all, std::function<void(std::string const&)> fail)
      : world_{shared_world}, servers_{all}, fail_{std::move(fail)} {}

  /// A caller begins to wait.
  void on_wait(std::string const& name, void const* caller);
  /// It goes on, because the latch is open.
  void on_passed(void const* caller);
  /// Its wait has ended, in one way or another.
  void on_answer(void const* caller);

  void check();

 private:
  struct latch {
    time_point open_since = time_point::max();  ///< max(): it is closed
    time_point last_open{};
  };
  struct wait {
    void const* caller;
    std::string name;
    time_point begun;
    bool reported = false;
  };

  void look(std::string const& name, latch& at);

  world& world_;
  servers& servers_;
  std::function<void(std::string const&)> fail_;
  std::map<std::string, latch> latches_;
  std::vector<wait> waits_;
};

}  // namespace holdfast::simulation
