#include "history/lines.hpp"

#include <array>
#include <charconv>

#include "base/printable.hpp"

namespace holdfast::history {
namespace {

constexpr std::string_view hex_digits{"0123456789abcdef"};

void append(std::string& text, std::int64_t number) {
  std::array<char, 24> digits{};
  auto const end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  text.append(digits.data(), end);
}

/// Of one byte: a control character, or (`invalid`) a byte of what isn't UTF-8.
void append_escaped(std::string& text, char c, bool invalid) {
  auto const byte = static_cast<unsigned char>(c);
  text.append(invalid ? "\\udc" : "\\u00")
      .append(1, hex_digits[byte >> 4U])
      .append(1, hex_digits[byte & 0xfU]);
}

}  // namespace

void lines::begin(event happened, time_point when) {
  text_.append(R"({"e":")").append(word_of(happened)).append(R"(","t":)");
  append(text_, when.time_since_epoch().count());
}

lines& lines::add(std::string_view key, std::int64_t value) {
  add_key(key);
  append(text_, value);
  return *this;
}

lines& lines::add(std::string_view key, std::string_view value) {
  add_key(key);
  add_text(value);
  return *this;
}

lines& lines::add(std::string_view key, std::span<std::string_view const> values) {
  add_key(key);
  auto separator = '[';
  for (auto const value : values) {
    text_ += separator;
    add_text(value);
    separator = ',';
  }
  text_ += values.empty() ? "[]" : "]";
  return *this;
}

void lines::add_key(std::string_view key) { text_.append(R"(,")").append(key).append(R"(":)"); }

void lines::add_text(std::string_view value) {
  text_ += '"';
  while (!value.empty()) {
    auto const [size, code] = detail::first_of(value);
    if (size == 0 || code < 0x20 || code == 0x7f) {
      append_escaped(text_, value.front(), size == 0);
    } else {
      if (code == '"' || code == '\\') text_ += '\\';
      text_ += value.substr(0, size);
    }
    value.remove_prefix(size == 0 ? 1 : size);
  }
  text_ += '"';
}

}  // namespace holdfast::history
