/// W3C's traceparent: the trace of a piece of work, and its span there.
#pragma once

#include <string_view>

namespace holdfast {

/// "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01": version, trace, span and flags in hexadecimal,
/// as W3C has them; nothing behind.
[[nodiscard]] constexpr bool is_traceparent(std::string_view text) noexcept {
  constexpr std::string_view pattern{"xx-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx-xxxxxxxxxxxxxxxx-xx"};
  constexpr std::string_view zeros{"00000000000000000000000000000000"};
  if (text.size() != pattern.size()) return false;
  for (std::string_view::size_type i = 0; i != text.size(); ++i) {
    auto const c = text[i];
    auto const hexadecimal = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
    if (pattern[i] == 'x' ? !hexadecimal : c != '-') return false;
  }
  // Which W3C calls invalid.
  return !text.starts_with("ff") && text.substr(3, 32) != zeros && text.substr(36, 16) != zeros.substr(16);
}

}  // namespace holdfast
