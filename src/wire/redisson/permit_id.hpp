/// The ids of permits: 16 bytes in Redis, 32 hexadecimal digits for people.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace holdfast::recipes::redisson {

/// 16 bytes from an owner id `<client uuid>:<n>`: the uuid's bytes, with n added to the last eight.
[[nodiscard]] std::string permit_id(std::string_view owner);

/// 32 hexadecimal digits, in lower case.
[[nodiscard]] std::string shown(std::string_view permit_id);

/// Nothing unless it is 32 hexadecimal digits.
[[nodiscard]] std::optional<std::string> read_permit_id(std::string_view text);

}  // namespace holdfast::recipes::redisson
