/// Responses to acquire requests that a message was faster than. No I/O, no clock.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "base/clock.hpp"

namespace holdfast::engine {

/// Acquisitions that were granted by message while their request was under way, until its response. That
/// request sets the key's ttl, perhaps after the lease is over. All under the client's lock.
class late_responses {
 public:
  void expect(std::uint64_t number) { kept_until_.emplace(number, time_point{}); }

  /// The lease is over, and its key is to stay until `until`; max(): for its ttl. The response mustn't undo
  /// that.
  void key_stays_until(std::uint64_t number, time_point until) noexcept {
    if (auto const known = kept_until_.find(number); known != kept_until_.end()) known->second = until;
  }

  /// The response has come. Until when the key of that acquisition is kept; the clock's epoch: it isn't.
  [[nodiscard]] time_point arrived(std::uint64_t number) noexcept {
    auto const late = kept_until_.extract(number);
    return late ? late.mapped() : time_point{};
  }

 private:
  std::unordered_map<std::uint64_t, time_point> kept_until_;
};

}  // namespace holdfast::engine
