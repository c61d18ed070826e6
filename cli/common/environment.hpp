/// The environment of this process.
#pragma once

#include <cstdlib>
#include <string>

namespace holdfast::cli {

/// Empty: the variable isn't set, which means the same here.
[[nodiscard]] inline std::string environment_value(char const* const name) {
  char const* const value = std::getenv(name);
  return value == nullptr ? std::string{} : std::string{value};
}

}  // namespace holdfast::cli
