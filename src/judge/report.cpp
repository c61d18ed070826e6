#include "judge/report.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <tuple>

namespace holdfast::judging {
namespace {

bool shorter(finding const& candidate, finding const& known) {
  if (candidate.excerpt.size() != known.excerpt.size())
    return candidate.excerpt.size() < known.excerpt.size();
  auto const length = [](finding const& each) {
    return each.excerpt.empty() ? instant{0} : each.excerpt.back().t - each.excerpt.front().t;
  };
  return length(candidate) < length(known);
}

}  // namespace

void findings::add(finding&& found) {
  std::ranges::sort(found.excerpt, {},
                    [](moment const& each) { return std::tie(each.t, each.file, each.line); });
  ++count_;
  auto& of_promise = of_[index(found.broken)];
  if (of_promise.count++ == 0 || shorter(found, of_promise.shortest)) of_promise.shortest = std::move(found);
}

std::string time_text(instant time) {
  struct unit {
    double ns;
    char const* text;
  };
  constexpr std::array units{unit{1e9, "s"}, unit{1e6, "ms"}, unit{1e3, "us"}, unit{1, "ns"}};
  auto const size = static_cast<double>(time < 0 ? -time : time);
  auto const fits = [size](unit const& each) { return size >= each.ns; };
  auto const found = std::ranges::find_if(units, fits);
  auto const& chosen = found == units.end() ? units.back() : *found;
  std::array<char, 48> text{};
  auto const number = static_cast<double>(time) / chosen.ns;
  constexpr double with_fraction = 1000;
  auto const* const format = size / chosen.ns < with_fraction ? "%.3g %s" : "%.0f %s";
  auto const length = std::snprintf(text.data(), text.size(), format, number, chosen.text);
  return {text.data(), static_cast<std::size_t>(length)};
}

}  // namespace holdfast::judging
