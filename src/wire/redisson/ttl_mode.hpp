/// Modes of the scripts that set a ttl.
#pragma once

#include <string_view>

namespace holdfast::recipes::redisson {

/// A renewal keeps (at_least) or replaces (exactly) a ttl that is longer than its own.
constexpr std::string_view at_least = "at least";
constexpr std::string_view exactly = "exactly";

}  // namespace holdfast::recipes::redisson
