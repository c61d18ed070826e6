#include "common/duration.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cstdint>
#include <limits>
#include <stdexcept>

namespace holdfast::cli {
namespace {

struct unit {
  std::string_view name;
  std::int64_t ms;
};

constexpr std::array<unit, 5> units{
    {{"d", 86'400'000}, {"h", 3'600'000}, {"m", 60'000}, {"s", 1'000}, {"ms", 1}}};

/// Ten years: a longer duration is a typing error. The limit also prevents an overflow of the sum.
constexpr std::int64_t longest_ms = std::int64_t{3650} * 86'400'000;

[[noreturn]] void refuse(std::string_view text, std::string_view reason) {
  throw std::invalid_argument{
      fmt::format("\"{}\" is not a duration: {}; write for example 200ms, 5s, 1m30s or 2h", text, reason)};
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// What stands behind a decimal point: `value` of `of` parts.
struct fraction {
  std::int64_t value = 0;
  std::int64_t of = 1;
};

/// Removes it from `rest`, if there is one.
fraction read_fraction(std::string_view const text, std::string_view& rest) {
  constexpr std::int64_t most_parts = 1'000'000'000;
  fraction found;
  if (!rest.starts_with('.')) return found;
  rest.remove_prefix(1);
  if (rest.empty() || !is_digit(rest.front())) refuse(text, "a digit is expected behind the point");
  for (; !rest.empty() && is_digit(rest.front()); rest.remove_prefix(1)) {
    if (found.of == most_parts) refuse(text, "it has too many digits");
    found = {found.value * 10 + (rest.front() - '0'), found.of * 10};
  }
  return found;
}

}  // namespace

std::chrono::milliseconds parse_duration(std::string_view const text) {
  if (text.empty()) refuse(text, "it is empty");
  if (text.front() == '-') refuse(text, "it is negative");
  std::int64_t total = 0;
  std::size_t next_unit = 0;
  for (std::string_view rest = text; !rest.empty();) {
    if (!is_digit(rest.front())) refuse(text, fmt::format("a number is expected at \"{}\"", rest));
    std::int64_t number = 0;
    auto const [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
    if (error != std::errc{}) refuse(text, "the number is too large");
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    auto const part = read_fraction(text, rest);

    std::size_t letters = 0;
    while (letters < rest.size() && !is_digit(rest[letters])) ++letters;
    auto name = rest.substr(0, letters);
    rest.remove_prefix(letters);
    bool const bare_number = name.empty() && next_unit == 0;
    if (bare_number) name = "s";
    if (name.empty()) refuse(text, "the last number has no unit");
    if (name == "min") name = "m";

    std::size_t found = 0;
    while (found < units.size() && units[found].name != name) ++found;
    if (found == units.size()) {
      refuse(text, fmt::format("unknown unit \"{}\" (units are d, h, m or min, s, ms)", name));
    }
    if (found < next_unit) refuse(text, "units must go from large to small, each once");
    next_unit = found + 1;
    if (number > longest_ms / units[found].ms) refuse(text, "it is longer than ten years");
    if (part.value * units[found].ms % part.of != 0) refuse(text, "it is finer than a millisecond");
    total += number * units[found].ms + part.value * units[found].ms / part.of;
    if (total > longest_ms) refuse(text, "it is longer than ten years");
  }
  return std::chrono::milliseconds{total};
}

std::string to_string(std::chrono::milliseconds const duration) {
  std::string text;
  auto remaining = duration.count();
  if (remaining <= 0) return "0s";
  int parts = 0;
  for (auto const& [name, ms] : units) {
    if (parts == 2) break;
    auto const number = remaining / ms;
    if (number != 0) text += fmt::format("{}{}", number, name);
    if (number != 0 || parts != 0) ++parts;
    remaining %= ms;
  }
  return text;
}

}  // namespace holdfast::cli
