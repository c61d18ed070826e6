/// A reply of a server.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::resp {

enum class kind : std::uint8_t {
  nil,      ///< null bulk string or null array
  integer,  ///< `:42`
  text,     ///< bulk or simple string
  error,    ///< `-ERR …`: the message is in `text`
  array,
};

/// The first word of an error of a server that loads its data, runs a long script, or has lost its master.
[[nodiscard]] constexpr bool is_not_ready(std::string_view code) noexcept {
  return code == "LOADING" || code == "BUSY" || code == "MASTERDOWN";
}

/// One reply, with its elements.
struct reply {
  kind type = kind::nil;
  std::int64_t integer = 0;
  std::string text;
  std::vector<reply> elements;

  [[nodiscard]] bool is_nil() const noexcept { return type == kind::nil; }
  [[nodiscard]] bool is_integer() const noexcept { return type == kind::integer; }
  [[nodiscard]] bool is_text() const noexcept { return type == kind::text; }
  [[nodiscard]] bool is_error() const noexcept { return type == kind::error; }
  [[nodiscard]] bool is_array() const noexcept { return type == kind::array; }

  /// True for an error whose first word is `code` ("NOSCRIPT", "READONLY").
  [[nodiscard]] bool is_error(std::string_view code) const noexcept {
    return is_error() && error_code() == code;
  }

  /// See is_not_ready().
  [[nodiscard]] bool says_not_ready() const noexcept { return is_not_ready(error_code()); }
  /// The first word of an error; empty for anything else.
  [[nodiscard]] std::string_view error_code() const noexcept {
    return is_error() ? std::string_view{text}.substr(0, text.find(' ')) : std::string_view{};
  }

  /// True for the text `expected` ("OK", "PONG").
  [[nodiscard]] bool is_text(std::string_view expected) const noexcept {
    return is_text() && text == expected;
  }

  [[nodiscard]] std::size_t size() const noexcept { return elements.size(); }
  [[nodiscard]] reply const& operator[](std::size_t i) const noexcept { return elements[i]; }

  friend bool operator==(reply const&, reply const&) = default;
};

}  // namespace holdfast::resp
