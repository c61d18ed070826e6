/// How many wrong tokens may come from one address. No I/O, no clock.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>

namespace holdfast::cli {

/// Each address may be wrong a few times at once, and now and then after that. Not thread-safe.
class token_tries {
 public:
  using time = std::chrono::nanoseconds;  ///< of any steady clock

  /// Of addresses beyond so many that were wrong lately, the ones that were so least are let off.
  explicit token_tries(std::size_t most_addresses = 4'096) : most_addresses_{most_addresses} {}

  /// How long tokens from there aren't looked at, whether they are right or wrong; zero: they are.
  [[nodiscard]] time wait_of(std::string_view address, time now) const;
  void note_wrong(std::string_view address, time now);

 private:
  std::size_t most_addresses_;
  /// When all wrong tokens of an address will be forgotten.
  std::unordered_map<std::string, time> forgotten_at_{};
};

}  // namespace holdfast::cli
