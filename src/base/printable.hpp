/// Makes untrusted text, which may contain any bytes, fit for a terminal or a log.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace holdfast {

namespace detail {

/// A character: its length in bytes, and its code point. Size 0: not valid UTF-8.
struct character {
  std::size_t size = 0;
  char32_t code = 0;
};

constexpr character first_of(std::string_view text) noexcept {
  auto const byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  auto const first = byte(0);
  if (first < 0x80) return {1, first};
  std::size_t const size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < size) return {};
  char32_t code = first & (0x7fU >> size);
  for (std::size_t i = 1; i != size; ++i) {
    if ((byte(i) & 0xc0U) != 0x80U) return {};
    code = code << 6U | (byte(i) & 0x3fU);
  }
  bool const overlong = (size == 3 && code < 0x800) || (size == 4 && code < 0x10000);
  bool const no_character = (code >= 0xd800 && code <= 0xdfff) || code > 0x10ffff;
  return overlong || no_character ? character{} : character{size, code};
}

/// True for a character that ends the line, moves the cursor, or changes the order of the text beside it.
constexpr bool has_effects(char32_t code) noexcept {
  bool const control = code < 0x20 || (code >= 0x7f && code < 0xa0);
  bool const separator = code == 0x2028 || code == 0x2029;
  bool const direction = code == 0x61c || code == 0x200e || code == 0x200f ||
                         (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
  return control || separator || direction;
}

}  // namespace detail

/// Writes control characters, characters that change the direction of writing, and invalid UTF-8 as \xNN,
/// byte by byte. The result is one line without effects on a terminal.
inline std::string printable(std::string_view text) {
  constexpr std::string_view digits{"0123456789abcdef"};
  std::string line;
  line.reserve(text.size());
  while (!text.empty()) {
    auto const [size, code] = detail::first_of(text);
    auto const piece = text.substr(0, size == 0 ? 1 : size);
    text.remove_prefix(piece.size());
    if (size != 0 && !detail::has_effects(code)) {
      line += piece;
      continue;
    }
    for (char const c : piece) {
      auto const byte = static_cast<unsigned char>(c);
      line.append("\\x").append(1, digits[byte >> 4U]).append(1, digits[byte & 0xfU]);
    }
  }
  return line;
}

}  // namespace holdfast
