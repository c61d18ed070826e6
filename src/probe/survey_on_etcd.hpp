/// What lock_survey asks of etcd.
#pragma once

#include <holdfast/inspect.hpp>

#include "base/clock.hpp"
#include "engine/core.hpp"
#include "probe/lock_pulse.hpp"

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace holdfast::probe {

/// The operations of lock_survey.
class survey_on_etcd {
 public:
  explicit survey_on_etcd(engine::core& server) noexcept : server_{server} {}

  [[nodiscard]] std::vector<lock_pulse> feel(std::span<std::string const> names, pulse_scope scope);
  void look(std::span<std::string const> names, std::function<bool(lock_state const&)> const& f);
  void find_names(std::function<bool(std::vector<std::string> const&)> const& f);
  [[nodiscard]] std::size_t requests() const noexcept { return requests_; }

 private:
  /// When a lease was last asked for, and what was left of it then; nullopt: there was none.
  struct lease_seen {
    time_point at{};
    std::optional<std::chrono::milliseconds> left{};
  };

  /// Each lease is asked for by itself, so only some are that weren't for long.
  void ask_for_times(std::set<std::string> const& leases);
  [[nodiscard]] std::optional<std::chrono::milliseconds> left_of(std::string const& lease) const;

  engine::core& server_;
  std::size_t requests_ = 0;
  std::map<std::string, lease_seen> leases_;
};

}  // namespace holdfast::probe
