/// Client records: what a client says of itself in Redis, for those whom it blocks. No I/O.
#pragma once

#include <holdfast/busy_info.hpp>
#include <string_view>

#include "resp/reply.hpp"

namespace holdfast::engine {

/// The client's uuid in an owner id of Holdfast ("<uuid>:<n>"); empty for anything else that stands in a key.
[[nodiscard]] std::string_view uuid_of(std::string_view owner) noexcept;

/// From the reply to HGETALL of the record of `owner`'s client. Fields that are missing or can't be read stay
/// empty.
[[nodiscard]] process_info read_record(std::string_view owner, resp::reply const& record);

}  // namespace holdfast::engine
