#include "base/ranges.hpp"

namespace holdfast::ranges {

std::string in_words(milliseconds time) {
  constexpr milliseconds day = 24h;
  if (time != 0ms && time % day == 0ms) return std::to_string(time / day) + " days";
  if (time != 0ms && time % 1s == 0ms) return std::to_string(time / 1s) + " s";
  return std::to_string(time.count()) + " ms";
}

}  // namespace holdfast::ranges
