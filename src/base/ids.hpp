/// Unique identifiers.
#pragma once

#include <cstdint>
#include <string>

namespace holdfast {

/// A random UUID (version 4), 36 characters in lower case. Each call reads the kernel's generator, so a
/// forked child never repeats its parent's. Thread-safe. Throws std::system_error when the kernel has no
/// randomness.
[[nodiscard]] std::string make_uuid();

/// A seed for a pseudo-random engine, from the same source.
[[nodiscard]] std::uint64_t random_seed();

/// Where both take their numbers from in place of the kernel; null: the kernel. For a simulation.
void stand_in_for_randomness(std::uint64_t (*source)()) noexcept;

}  // namespace holdfast
