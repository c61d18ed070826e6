/// The names of locks that are taken.
#pragma once

#include <string>
#include <string_view>

namespace holdfast::cli {

/// `name`, unless it is that of a key which Holdfast keeps beside a lock: what that is for would be lost.
/// Throws failure; `option`: where the name was given.
[[nodiscard]] std::string lock_name_of(std::string_view option, std::string_view name);

}  // namespace holdfast::cli
