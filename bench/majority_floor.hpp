/// The floor of quorum locks: one thread, a connection to each server, all asked at once, a majority of
/// answers awaited.
#pragma once

#include <chrono>
#include <vector>

namespace holdfast::bench {

/// The median time of a cycle, acquire then release, in microseconds.
[[nodiscard]] double majority_cycle_us(std::vector<int> const& ports, std::chrono::duration<double> time);

}  // namespace holdfast::bench
