/// S3 between hosts whose clocks differ.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "judge/state.hpp"

namespace holdfast::judging {

/// The leases of one name that had a token. Of two on one host the one that was told first began first; of
/// two on different hosts only if the clocks don't explain it.
class token_order {
 public:
  explicit token_order(instant uncertainty) : uncertainty_{uncertainty} {}

  /// A lease that began before this one for certain, or has its token, and whose token is too great for that;
  /// null: there is none.
  [[nodiscard]] hold_state const* above(hold_state const& hold, company as, std::uint32_t machine) const;
  /// In the order of time.
  void add(hold_state const& hold, company as, std::uint32_t machine);

 private:
  /// Of all hosts, up to some lease.
  struct step {
    instant from = 0;
    instant to = 0;
    newest_leases told{};
  };
  /// What is told within such a part of the uncertainty is one step, so that a busy name has no more of them.
  static constexpr instant steps_within_uncertainty = 64;

  [[nodiscard]] bool is_certain(step const& of, instant now) const noexcept {
    return now - of.to > uncertainty_;
  }

  instant uncertainty_;
  std::map<std::uint32_t, newest_leases> of_machine_;
  std::vector<step> steps_;  ///< in order; the first may be certain, the others weren't yet
};

}  // namespace holdfast::judging
