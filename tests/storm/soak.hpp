/// The soak: clients that last, first without faults, then with. What they take of the machine must not grow.
#pragma once

#include "arena.hpp"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

namespace holdfast::storm {

/// What the clients of a deployment took at one time, together.
struct sample {
  double kib = 0;
  double descriptors = 0;
};

/// How a quantity went, by the means of the last two quarters of the samples.
struct course {
  double third = 0;
  double last = 0;
  [[nodiscard]] double change() const { return third == 0 ? 0 : last / third - 1; }
  /// Within two hundredths, or within `grain`: what one step of it is.
  [[nodiscard]] bool is_flat(double grain) const;
};
[[nodiscard]] course course_of(std::span<sample const> all, double sample::* quantity);

/// On all of these at the same time, for half of the time without faults and for half with. Prints a table;
/// the last line is "N passed, N failed". Returns the exit code.
[[nodiscard]] int run_soak(std::vector<terrain> const& where, std::uint64_t seed, std::chrono::seconds time,
                           std::filesystem::path const& folder);

}  // namespace holdfast::storm
