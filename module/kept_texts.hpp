/// Numbers as text that are wanted again and again: making one costs as much as a good part of a command.
#pragma once

#include "abi.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace holdfast::server {

/// The last few texts of one form. They are the server's strings, and are freed before the module is
/// unloaded.
template <std::size_t Size>
class kept_texts {
 public:
  explicit constexpr kept_texts(std::string_view const before_number = {}) : prefix_{before_number} {}

  /// The prefix, and the number in decimal; a reference of the caller's own.
  [[nodiscard]] abi::string* of(std::int64_t const number) {
    auto const is_it = [number](kept const& each) { return each.text != nullptr && each.number == number; };
    auto* found = std::ranges::find_if(all_, is_it);
    if (found == all_.end()) {
      found = &all_[oldest_];
      oldest_ = (oldest_ + 1) % Size;
      forget(*found);
      *found = {.number = number, .text = made(number)};
    }
    latest_ = found;
    abi::redis.retain_string(nullptr, found->text);
    return found->text;
  }
  /// The text that was wanted last, as long as it is kept; null: none yet.
  [[nodiscard]] abi::string* latest() const { return latest_ == nullptr ? nullptr : latest_->text; }
  void forget() {
    for (auto& each : all_) forget(each);
  }

 private:
  struct kept {
    std::int64_t number = 0;
    abi::string* text = nullptr;  ///< null: none
  };

  static void forget(kept& each) {
    if (each.text != nullptr) abi::redis.free_string(nullptr, each.text);
    each.text = nullptr;
  }
  [[nodiscard]] abi::string* made(std::int64_t const number) const {
    std::array<char, 48> text{};
    auto* const digits = std::ranges::copy(prefix_, text.begin()).out;
    auto const* const end = std::to_chars(digits, text.data() + text.size(), number).ptr;
    return abi::redis.create_string(nullptr, text.data(), static_cast<std::size_t>(end - text.data()));
  }

  std::string_view prefix_;
  std::array<kept, Size> all_{};
  std::size_t oldest_ = 0;
  kept const* latest_ = nullptr;
};

}  // namespace holdfast::server
