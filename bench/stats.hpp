/// Order statistics of small samples.
#pragma once

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <vector>

namespace holdfast::bench {

/// The value below which `share` (0–1) of the samples lie.
template <class T>
[[nodiscard]] T quantile(std::vector<T> samples, double share) {
  if (samples.empty()) throw std::logic_error{"a quantile of no samples"};
  auto const last = static_cast<double>(samples.size() - 1);
  auto const nth = samples.begin() + static_cast<std::ptrdiff_t>(share * last + 0.5);
  std::nth_element(samples.begin(), nth, samples.end());
  return *nth;
}

template <class T>
[[nodiscard]] T median(std::vector<T> samples) {
  std::sort(samples.begin(), samples.end());
  if (samples.empty()) throw std::logic_error{"a median of no samples"};
  return (samples[(samples.size() - 1) / 2] + samples[samples.size() / 2]) / 2;
}

}  // namespace holdfast::bench
