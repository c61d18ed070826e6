/// Reads what is noted about the last run under a lock. No I/O.
#pragma once

#include <holdfast/inspect.hpp>

#include <optional>

#include "resp/reply.hpp"

namespace holdfast::inspection {

/// `fields`: of the record, each with its value. Nullopt: there is no record, or it doesn't say who ran, or
/// when.
[[nodiscard]] std::optional<run_info> read_run(resp::reply const& fields);

}  // namespace holdfast::inspection
