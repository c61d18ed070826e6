#include "engine/wake/messages.hpp"

#include <algorithm>

#include "base/whole_number.hpp"

namespace holdfast::engine {
namespace {

/// Takes the text up to the next space off the front.
std::string_view word(std::string_view& text) {
  auto const end = std::min(text.find(' '), text.size());
  auto const result = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return result;
}

template <class Number>
bool number(std::string_view& text, Number& out) {
  auto const found = whole_number<Number>(word(text));
  out = found.value_or(out);
  return found.has_value();
}

}  // namespace

std::optional<turn_message> read_turn_message(std::string_view message) {
  auto const kind = word(message);
  turn_message result;
  if (!number(message, result.number)) return std::nullopt;
  if (kind == "granted") {
    granted grant;
    if (!number(message, grant.token) || !number(message, grant.count)) return std::nullopt;
    result.grant = grant;
  } else if (kind == "ready") {
    result.for_it_alone = true;
  } else if (kind != "woken") {
    return std::nullopt;
  }
  result.name = message;
  return result;
}

std::optional<std::uint64_t> read_hint(std::string_view message) {
  std::uint64_t lease = 0;
  if (word(message) != "asked" || !number(message, lease)) return std::nullopt;
  return lease;
}

}  // namespace holdfast::engine
