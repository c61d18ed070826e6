/// The leases of one name that one client has at the same time, where its kind allows several.
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
  /// Adds the first lease of an acquisition. When it throws nothing has changed.
  void open(lease_state& first, time_point now);

  /// Adds a lease to the newest acquisition, for a caller with the same options. Null when that acquisition
  /// is too old, or the options limit a single lease.
  [[nodiscard]] lease_state_ptr join(lock_queue& queue, effective_options_ptr const& options, time_point now);

  /// Removes a lease. True: it was the last of its acquisition.
  bool leave(lease_state& lease);

  [[nodiscard]] bool contains(std::uint64_t number) const { return sizes_.contains(number); }
  /// Calls `f`, which may remove the lease, for each lease of one acquisition. May destroy this object.
  template <class F>
  void for_each_of(std::uint64_t number, F f) noexcept {
    auto const known = sizes_.find(number);
    auto remaining = known == sizes_.end() ? 0 : known->second;
    for (auto next = leases_.begin(); remaining != 0;) {
      auto* const lease = *next++;
      if (lease->number() != number) continue;
      --remaining;
      f(*lease);
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
    std::int64_t token = 0;
    time_point acquired_at{};
    time_point deadline{};
    time_point renew_at{};
    effective_options_ptr options{};
    int joined = 0;
    bool trace_said = false;
  } newest_;
};

}  // namespace holdfast::engine
