/// Random choices, the same for the same seed.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <random>

namespace holdfast::storm {

class dice {
 public:
  explicit dice(std::uint64_t seed) : engine_{seed} {}

  /// From `least` to `most`, both included.
  std::int64_t between(std::int64_t least, std::int64_t most) {
    return least + static_cast<std::int64_t>(engine_() % static_cast<std::uint64_t>(most - least + 1));
  }
  std::chrono::milliseconds between(std::chrono::milliseconds least, std::chrono::milliseconds most) {
    return std::chrono::milliseconds{between(least.count(), most.count())};
  }
  bool one_in(std::int64_t n) { return between(1, n) == 1; }
  template <class List>
  auto& of(List& list) {
    return list[static_cast<std::size_t>(between(0, static_cast<std::int64_t>(list.size()) - 1))];
  }
  /// A seed for something of its own.
  std::uint64_t seed() { return engine_(); }

 private:
  std::mt19937_64 engine_;
};

}  // namespace holdfast::storm
