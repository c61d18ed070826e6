/// How fencing tokens are numbered on the plain wire: as scripts/include/take_tokens.lua does it.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

namespace holdfast::server {

/// Beyond any clock and any sum of ours: numbers up to it can be added without an overflow.
inline constexpr std::int64_t largest_number = std::int64_t{1} << 60;

/// A whole decimal number, and nothing else.
[[nodiscard]] inline std::optional<std::int64_t> parse_number(std::string_view text) {
  std::int64_t number = 0;
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  if (number > largest_number || number < -largest_number) return std::nullopt;
  return number;
}

struct token_block {
  std::int64_t first;
  std::int64_t count;
  [[nodiscard]] std::int64_t last() const { return first + count - 1; }
};

/// `wanted` tokens or as many as fit, at least one. They end at the server's clock in microseconds, so that
/// the counter tells when the lock was last taken; and never ahead of it, since a counter that was lost
/// starts again at that clock. Where it is ahead (a clock set back) they follow the last one by one.
[[nodiscard]] inline token_block next_tokens(std::optional<std::int64_t> counter, std::int64_t wanted,
                                             std::int64_t now_us) {
  auto const last = counter.value_or(now_us);
  auto const count = std::max<std::int64_t>(1, std::min(wanted, now_us - last));
  return {.first = std::max(last + 1, now_us - count + 1), .count = count};
}

}  // namespace holdfast::server
