/// Client records: a client's description of itself in Redis, for the clients that it blocks. No I/O.
#pragma once

#include <holdfast/busy_info.hpp>
#include <string_view>

#include "resp/reply.hpp"

namespace holdfast::engine {

/// The client's uuid in an owner id of Holdfast ("<uuid>:<n>"); empty for anything else that stands in a key.
[[nodiscard]] std::string_view uuid_of(std::string_view owner) noexcept;

/// Reads the reply to HGETALL of the record of `owner`'s client. Missing or unreadable fields stay empty.
[[nodiscard]] process_info read_record(std::string_view owner, resp::reply const& record);

}  // namespace holdfast::engine
