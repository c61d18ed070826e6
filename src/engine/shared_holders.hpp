/// The leases that one client has of one name at the same time, where its kind allows several.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "engine/lease_state.hpp"

namespace holdfast::engine {

/// All under the client's lock.
class shared_holders {
 public:
  /// The lease is the first of its acquisition. When it throws nothing has changed.
  void open(lease_state& first, time_point now);

  /// A further lease on the newest acquisition, for whoever wants it on the same terms; null when that one is
  /// too old, or its terms count what a lease does.
  [[nodiscard]] lease_state_ptr join(lock_queue& at, effective_options_ptr const& how, time_point now);

  /// It isn't held any more. True: it was the last of its acquisition.
  bool leave(lease_state& one);

  [[nodiscard]] bool contains(std::uint64_t number) const { return sizes_.contains(number); }
  /// Calls `f`, which may have it leave, for each lease of one acquisition. This may have ended by then.
  template <class F>
  void for_each_of(std::uint64_t number, F f) noexcept {
    auto const known = sizes_.find(number);
    auto left = known == sizes_.end() ? 0 : known->second;
    for (auto next = leases_.begin(); left != 0;) {
      auto* const one = *next++;
      if (one->number() != number) continue;
      --left;
      f(*one);
    }
  }
  /// Any lease. There must be one.
  [[nodiscard]] lease_state& any() const noexcept { return **leases_.begin(); }
  [[nodiscard]] bool empty() const noexcept { return leases_.empty(); }

 private:
  std::unordered_set<lease_state*> leases_;
  std::unordered_map<std::uint64_t, std::uint32_t> sizes_;  ///< of each acquisition: how many leases it has
  struct {
    std::uint64_t number = 0;  ///< none
    time_point since{};
    time_point deadline{};
    time_point renew_at{};
    effective_options_ptr how{};
    int joined = 0;
  } newest_;
};

}  // namespace holdfast::engine
