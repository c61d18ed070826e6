#include "serve/lock_times.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace holdfast::cli {
namespace {

/// Each class is longer than the one before by the square root of two; the last one begins at four hours.
constexpr double classes_a_doubling = 2;

std::size_t class_of(std::chrono::milliseconds const took, std::size_t const classes) {
  auto const place = classes_a_doubling * std::log2(std::max(1.0, static_cast<double>(took.count())));
  return std::min(classes - 1, static_cast<std::size_t>(place));
}

/// The middle of the class.
std::chrono::milliseconds length_of(std::size_t const place) {
  auto const middle = std::exp2((static_cast<double>(place) + 0.5) / classes_a_doubling);
  return std::chrono::milliseconds{static_cast<std::int64_t>(middle)};
}

}  // namespace

void lock_times::count(histogram& in, std::chrono::milliseconds const took) {
  auto& number = in.counts[class_of(took, in.counts.size())];
  if (number != std::numeric_limits<std::uint16_t>::max()) ++number;
  in.longest = std::max(in.longest, took);
}

lock_times::summary lock_times::summed(histogram const& of) {
  summary sum{.longest = of.longest};
  for (auto const number : of.counts) sum.count += number;
  std::size_t before = 0;
  for (std::size_t i = 0; i != of.counts.size(); ++i) {
    if (of.counts[i] == 0) continue;
    auto const length = std::min(length_of(i), of.longest);
    if (before * 2 < sum.count) sum.median = length;
    if (before * 20 < sum.count * 19) sum.high = length;
    before += of.counts[i];
  }
  return sum;
}

void lock_times::forget_first() {
  auto const found = newest_.find(records_.front().id);
  if (found != newest_.end() && found->second == forgotten_) newest_.erase(found);
  records_.pop_front();
  ++forgotten_;
}

lock_times::record& lock_times::current(std::string_view const id, minute const now) {
  while (!records_.empty() && (records_.size() >= most_ || records_.front().begins + kept_for < now))
    forget_first();
  auto& newest =
      newest_.try_emplace(std::string{id}, std::numeric_limits<std::uint64_t>::max()).first->second;
  if (newest >= forgotten_ && newest - forgotten_ < records_.size()) {
    auto& known = records_[newest - forgotten_];
    if (known.begins == now) return known;
  }
  newest = forgotten_ + records_.size();
  return records_.emplace_back(record{.id = std::string{id}, .begins = now});
}

void lock_times::add(std::string_view const id, lasting const of, std::chrono::milliseconds const took,
                     day_time const at) {
  auto& now = current(id, std::chrono::floor<std::chrono::minutes>(at));
  count(now.ended[static_cast<std::size_t>(of)], std::max(took, std::chrono::milliseconds{0}));
}

std::vector<lock_times::in_minute> lock_times::of(std::string_view const id, day_time const now) const {
  std::vector<in_minute> all;
  for (auto const& each : records_) {
    if (each.id == id && each.begins + kept_for > now)
      all.push_back({each.begins, summed(each.ended[0]), summed(each.ended[1])});
  }
  return all;
}

}  // namespace holdfast::cli
