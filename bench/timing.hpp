/// How long one cycle takes, one after the other.
#pragma once

#include <chrono>
#include <utility>
#include <vector>

#include "stats.hpp"

namespace holdfast::bench {

/// The median, of as many as go into that time.
template <class Cycle>
[[nodiscard]] double median_us(std::chrono::duration<double> time, Cycle const& cycle) {
  using clock = std::chrono::steady_clock;
  for (int warm_up = 0; warm_up < 200; ++warm_up) cycle();
  std::vector<float> samples;
  samples.reserve(1 << 18);
  auto const end = clock::now() + time;
  for (auto before = clock::now(); before < end;) {
    cycle();
    auto const after = clock::now();
    samples.push_back(std::chrono::duration<float, std::micro>{after - before}.count());
    before = after;
  }
  return static_cast<double>(median(std::move(samples)));
}

}  // namespace holdfast::bench
