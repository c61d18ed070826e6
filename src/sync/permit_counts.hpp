/// How many permits a name has on the plain wire, asked and changed outside of the engine: the same for a
/// semaphore and an expiring_semaphore, whose permits are one set. Both functions throw what
/// shared_counter::ask() throws, and cost one request.
#pragma once

#include <cstdint>
#include <string_view>

#include "resp/reply.hpp"
#include "sync/shared_counter.hpp"
#include "wire/plain/permits.hpp"

namespace holdfast::sync {

/// The reply of scripts/permits/counts. `offered`: how many there are, where nobody has said so.
[[nodiscard]] resp::reply count_permits(shared_counter& permits, recipes::plain::permit_keys const& keys,
                                        std::int64_t offered);

/// `mode`: of scripts/permits/resize. Returns whether the number was changed.
bool resize_permits(shared_counter& permits, recipes::plain::permit_keys const& keys, std::string_view mode,
                    std::int64_t number, std::int64_t offered);

}  // namespace holdfast::sync
