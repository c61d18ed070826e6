/// Promises that a build breaks on purpose, so that the judge can be judged: see docs/reliability.md.
#pragma once

#ifdef HOLDFAST_BREAK
#include <cstdlib>
#include <string_view>
#include <type_traits>
#endif

namespace holdfast {

#ifdef HOLDFAST_BREAK

inline bool is_broken(std::string_view promise) {
  static auto const* const chosen = std::getenv("HOLDFAST_BREAK");
  return chosen != nullptr && promise == chosen;
}
/// Whether the environment variable HOLDFAST_BREAK names that promise.
constexpr bool broken(std::string_view promise) {
  return !std::is_constant_evaluated() && is_broken(promise);
}

#else

/// What depends on it isn't in the library at all.
consteval bool broken(char const* /*promise*/) { return false; }

#endif

}  // namespace holdfast
