/// A lock as its servers together have it: the only one, or a majority of those that vote.
#pragma once

#include <optional>
#include <string>

#include "simulation/kinds.hpp"
#include "simulation/server.hpp"

namespace holdfast::simulation {

/// One owner's hold of one name, until a majority doesn't have it any more. Nothing: none has it now.
[[nodiscard]] std::optional<kind::hold> hold_of(servers& all, part const& wanted, std::string const& name,
                                                std::string const& owner);

/// Whoever waits could have the name now. Where masters vote: no owner has a majority.
[[nodiscard]] bool is_free(servers& all, part const& wanted, std::string const& name, int amount,
                           time_point now);

/// What each server has under a name, for reports.
[[nodiscard]] std::string contents_of(servers& all, std::string const& name);

}  // namespace holdfast::simulation
