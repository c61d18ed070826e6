/// What `holdfast serve` changes, if it may: the release of a lock by force.
#pragma once

#include <holdfast/client.hpp>
#include <holdfast/options.hpp>

#include <string>
#include <string_view>

namespace holdfast::cli {

/// Who asks for it, for the audit line.
struct act_by {
  std::string user{};  ///< empty: nobody has to say who it is
  std::string peer{};  ///< the address
};

/// Takes the lock from this owner, as `holdfast release --force --owner` does: it is asked first. Writes a
/// line about it before and after, and returns the object of `release --json`. Blocks for some seconds.
[[nodiscard]] std::string release_by_force(client& redis, std::string_view name, wire of,
                                           std::string_view owner, act_by const& by);

}  // namespace holdfast::cli
