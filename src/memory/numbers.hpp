/// Numbers as the texts that Redis makes of them.
#pragma once

#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <string_view>

namespace holdfast::memory {

/// Whole numbers below that limit without an exponent, others with 17 digits.
class number_text {
 public:
  number_text(double number, double limit) {
    auto* const begin = text_.data();
    auto* const end = begin + text_.size();
    auto const negative_zero = number == 0 && std::signbit(number);
    auto const whole = std::abs(number) < limit && number == std::trunc(number) && !negative_zero;
    auto const written = whole ? std::to_chars(begin, end, static_cast<std::int64_t>(number))
                               : std::to_chars(begin, end, number, std::chars_format::general, 17);
    size_ = static_cast<std::size_t>(written.ptr - begin);
  }

  [[nodiscard]] std::string_view view() const noexcept { return {text_.data(), size_}; }

 private:
  std::array<char, 32> text_;
  std::size_t size_ = 0;
};

}  // namespace holdfast::memory
