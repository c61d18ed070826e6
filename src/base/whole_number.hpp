/// Numbers in what servers, files and people wrote.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>
#include <system_error>

namespace holdfast {

/// The decimal number that is the whole of `text`: no sign but '-', no space, nothing that Number can't hold.
template <class Number = std::int64_t>
[[nodiscard]] std::optional<Number> whole_number(std::string_view text) noexcept {
  Number number{};
  auto const [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failure != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

/// The decimal number that `text` begins with; `otherwise`: it begins with none that Number can hold.
template <class Number = std::int64_t>
[[nodiscard]] Number leading_number(std::string_view text, Number otherwise = 0) noexcept {
  std::from_chars(text.data(), text.data() + text.size(), otherwise);
  return otherwise;
}

}  // namespace holdfast
