/// Redis's patterns, as its KEYS and SCAN read them: `*`, `?`, `[a-z]`, `[^a]`, `\`. No I/O.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace holdfast::inspection {

[[nodiscard]] bool matches(std::string_view pattern, std::string_view name);

/// The prefix that all matching names share, and whether it is the whole pattern.
struct literal_start {
  std::string text{};
  bool complete = true;
};
[[nodiscard]] literal_start start_of(std::string_view pattern);

/// A pattern that matches `text` alone.
[[nodiscard]] std::string escaped(std::string_view text);

}  // namespace holdfast::inspection
