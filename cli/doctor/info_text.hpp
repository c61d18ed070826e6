/// The reply to INFO, as fields.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast::cli {

/// Parses `name:value` lines and skips all others. A later field replaces an earlier one of the same name.
class info_text {
 public:
  info_text() = default;
  explicit info_text(std::string_view text);

  /// Empty when there is no such field.
  [[nodiscard]] std::string_view text(std::string_view field) const;
  /// Empty when there is no such field, or it is not a whole number.
  [[nodiscard]] std::optional<std::int64_t> number(std::string_view field) const;
  [[nodiscard]] bool has(std::string_view field) const { return fields_.contains(field); }

 private:
  std::map<std::string, std::string, std::less<>> fields_{};
};

/// The value of `key` in "key=value,key=value"; empty if absent.
[[nodiscard]] std::string_view value_in(std::string_view pairs, std::string_view key);

}  // namespace holdfast::cli
