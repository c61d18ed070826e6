/// Makes the lines of a history.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "history/words.hpp"

namespace holdfast::history {

/// Lines that were not written yet. One object of JSON each: numbers, texts and lists of texts. Bytes that
/// aren't UTF-8 are written as \udcXX, so that any name can be read back. All functions throw std::bad_alloc.
class lines {
 public:
  void begin(event happened, time_point when);
  lines& add(std::string_view key, std::int64_t value);
  lines& add(std::string_view key, std::string_view value);
  lines& add(std::string_view key, std::span<std::string_view const> values);
  void end() { text_ += "}\n"; }

  [[nodiscard]] std::string& text() noexcept { return text_; }

 private:
  void add_key(std::string_view key);
  void add_text(std::string_view value);

  std::string text_;
};

}  // namespace holdfast::history
