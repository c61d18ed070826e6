#include "etcd/latch_keys.hpp"

#include <algorithm>

#include "base/whole_number.hpp"
#include "etcd/keys.hpp"

namespace holdfast::etcd {
namespace keys {
namespace {

/// No digit of a lease is an l.
constexpr std::string_view latch{"latch"};
constexpr std::string_view time{"latch-time"};
constexpr std::string_view counted{"latch-counted-"};
constexpr std::string_view set_by{"latch-set-"};
constexpr std::string_view mark_of_latch{"holdfast latch "};
constexpr std::string_view with_time{"ends "};
/// As of a latch on Redis; sums of them stay far from the limits of their type.
constexpr std::int64_t most_counts = std::int64_t{1} << 53U;
constexpr char of_name = 'p';
constexpr char of_request = 'r';

}  // namespace

std::string latch_of(std::string_view folder) { return below(folder, latch); }
std::string latch_time_of(std::string_view folder) { return below(folder, time); }
std::string latch_set_by(std::string_view folder, std::string_view request) {
  return below(folder, set_by).append(request);
}
std::string counted_of(std::string_view folder) { return below(folder, counted); }

std::string counted_by(std::string_view folder, std::int64_t number, bool named,
                       std::string_view participant) {
  return counted_of(folder)
      .append(std::to_string(number))
      .append(1, '-')
      .append(1, named ? of_name : of_request)
      .append(participant);
}

std::optional<counted_words> counted_in(std::string_view folder, std::string_view key) {
  auto const start = counted_of(folder);
  if (!key.starts_with(start)) return std::nullopt;
  key.remove_prefix(start.size());
  auto const hyphen = key.find('-');
  if (hyphen == std::string_view::npos || hyphen + 1 == key.size()) return std::nullopt;
  auto const number = whole_number(key.substr(0, hyphen));
  if (!number || *number < 1 || *number > most_counts) return std::nullopt;
  return counted_words{.number = *number, .participant = std::string{key.substr(hyphen + 2)}};
}

std::optional<std::string> name_of_latch(std::string_view prefix, std::string_view key) {
  return name_before(prefix, key, latch);
}

std::string latch_text(std::int64_t number, bool ends, std::string_view by) {
  auto text = below(mark_of_latch, std::to_string(number)).append(1, ' ');
  if (ends) text.append(with_time);
  return text.append(by);
}

std::optional<latch_words> latch_in(std::string_view value) {
  if (!value.starts_with(mark_of_latch)) return std::nullopt;
  value.remove_prefix(mark_of_latch.size());
  auto const space = value.find(' ');
  auto const number = whole_number(value.substr(0, space));
  if (!number || *number < 1 || *number > most_counts || space == std::string_view::npos) return std::nullopt;
  return latch_words{.number = *number, .ends = value.substr(space + 1).starts_with(with_time)};
}

}  // namespace keys

std::int64_t left_of(std::int64_t of, std::string const& folder, std::span<key_value const> counted) {
  for (auto const& each : counted) {
    auto const words = keys::counted_in(folder, each.key);
    if (words && of > 0) of -= words->number;
  }
  return of;
}

void latch_reading::ask(std::vector<operation>& wanted, std::string const& folder) {
  auto const counted = keys::counted_of(folder);
  wanted.emplace_back(range{.key = keys::latch_of(folder)});
  wanted.emplace_back(range{.key = keys::latch_time_of(folder)});
  wanted.emplace_back(names_from_to(counted, keys::end_of(counted)));
  for (auto& [first, end] : keys::all_but(folder, keys::latch_of(folder)))
    wanted.emplace_back(names_from_to(std::move(first), std::move(end), 1));
}

latch_reading::latch_reading(std::string const& folder, std::span<found> answered) {
  for (auto const& others : answered.subspan(3)) {
    if (!others.keys.empty()) misfit = "the key \"" + others.keys.front().key + "\"";
  }
  if (answered[0].keys.empty()) return;
  auto& latch = answered[0].keys.front();
  auto const words = keys::latch_in(latch.value);
  if (!words) {
    misfit = "the key \"" + latch.key + "\", which is somebody else's";
    return;
  }
  text = std::move(latch.value);
  lease = latch.lease;
  of = words->number;
  left = left_of(of, folder, answered[2].keys);
  ends = words->ends;
  // What an earlier latch has left behind says another text.
  over = ends && (answered[1].keys.empty() || answered[1].keys.front().value != text);
}

}  // namespace holdfast::etcd
