/// Asks holders to give back what they hold.
#pragma once

#include <holdfast/inspect.hpp>

#include <chrono>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/core.hpp"
#include "script/names.hpp"

namespace holdfast::inspection {

/// A request to one holder to release, and its result: a negative answer of the script says that it doesn't
/// hold the lock any more.
struct petition {
  hold_info const* holder;
  std::int64_t answer = 0;
  bool heard = false;
  /// A reaction is worth waiting for. On Redisson's wire a holder without a record is most likely Java, which
  /// has no hint channel.
  bool expected = true;
  /// The hold can't have ended by itself before: not before its ttl, as it was when the script looked last.
  std::chrono::steady_clock::time_point may_end_at = std::chrono::steady_clock::time_point::max();
  std::chrono::steady_clock::time_point gone_at{};  ///< when a negative answer had come

  /// Whether nobody but its ttl may have ended the hold, which was found gone by `when`.
  [[nodiscard]] bool may_have_expired(std::chrono::steady_clock::time_point when) const noexcept {
    return when >= may_end_at;
  }
  /// Its client knows nothing of it any more.
  [[nodiscard]] bool without_lease() const { return holder->process.owner.ends_with(names::lasting_suffix); }
  [[nodiscard]] bool pending() const { return answer >= 0 && (expected || heard) && !without_lease(); }
};

/// Asks these holders of `seen` again and again, until none has it any more, or for `grace`.
[[nodiscard]] std::vector<petition> ask_holders(engine::core& server, lock_state const& seen,
                                                std::span<hold_info const* const> holders,
                                                std::chrono::milliseconds grace);

}  // namespace holdfast::inspection
