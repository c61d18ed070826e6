/// How a script that renews gives a ttl.
#pragma once

#include <string_view>

namespace holdfast::sync::redisson {

/// How a renewal treats a ttl that is longer than its own.
constexpr std::string_view at_least = "at least";
constexpr std::string_view exactly = "exactly";

}  // namespace holdfast::sync::redisson
