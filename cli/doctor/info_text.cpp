#include "doctor/info_text.hpp"

#include "base/whole_number.hpp"

#include <algorithm>

namespace holdfast::cli {
namespace {

/// Removes the text up to the next `separator` from the front, and returns it.
std::string_view take_until(char const separator, std::string_view& text) {
  auto const end = std::min(text.find(separator), text.size());
  auto const part = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return part;
}

}  // namespace

info_text::info_text(std::string_view text) {
  while (!text.empty()) {
    auto line = take_until('\n', text);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.starts_with('#') || line.find(':') == std::string_view::npos) continue;
    auto const field = take_until(':', line);
    fields_.insert_or_assign(std::string{field}, std::string{line});
  }
}

std::string_view info_text::text(std::string_view const field) const {
  auto const found = fields_.find(field);
  return found == fields_.end() ? std::string_view{} : found->second;
}

std::optional<std::int64_t> info_text::number(std::string_view const field) const {
  return whole_number(text(field));
}

std::string_view value_in(std::string_view pairs, std::string_view const key) {
  while (!pairs.empty()) {
    auto pair = take_until(',', pairs);
    if (take_until('=', pair) == key) return pair;
  }
  return {};
}

}  // namespace holdfast::cli
