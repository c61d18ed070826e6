/// Vectors without repetitions.
#pragma once

#include <algorithm>
#include <vector>

namespace holdfast {

/// Sorts them, and keeps one of each.
template <class T>
void make_distinct(std::vector<T>& all) {
  std::ranges::sort(all);
  all.erase(std::ranges::unique(all).begin(), all.end());
}

}  // namespace holdfast
