/// Finding out what `holdfast doctor` judges of independent masters that vote.
#pragma once

#include "doctor_quorum.hpp"
#include "server_place.hpp"

#include <string_view>

namespace holdfast::cli {

/// Asks all that the URL names. What can't be asked is part of the facts.
[[nodiscard]] quorum_facts examine_quorum(server_place const& where, std::string_view lock);

}  // namespace holdfast::cli
