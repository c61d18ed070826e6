#include "etcd/barrier_keys.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/whole_number.hpp"
#include "etcd/keys.hpp"

namespace holdfast::etcd {
namespace keys {
namespace {

/// No digit of a lease is an r.
constexpr std::string_view barrier{"barrier"};
constexpr std::string_view arrived{"barrier-arrived-"};
constexpr std::string_view here{"barrier-here-"};

}  // namespace

std::string barrier_of(std::string_view folder) { return below(folder, barrier); }
std::string arrived_of(std::string_view folder) { return below(folder, arrived); }
std::string arrived_at(std::string_view folder, std::int64_t slot) {
  return arrived_of(folder).append(std::to_string(slot));
}
std::string here_of(std::string_view folder) { return below(folder, here); }
std::string here_for(std::string_view folder, std::int64_t generation) {
  return here_of(folder).append(std::to_string(generation)).append(1, '-');
}
std::string here_at(std::string_view folder, std::int64_t generation, std::int64_t slot) {
  return here_for(folder, generation).append(std::to_string(slot));
}

std::optional<std::string> name_of_barrier(std::string_view prefix, std::string_view key) {
  return name_before(prefix, key, barrier);
}

}  // namespace keys

namespace {

constexpr std::string_view mark{"holdfast barrier "};
/// Of generations that were broken.
constexpr std::size_t most_breaks = 32;

/// Takes the text up to the next space or end of line off the front.
std::optional<std::int64_t> take_number(std::string_view& text) {
  auto const end = std::min(text.find_first_of(" \n"), text.size());
  auto const number = whole_number(text.substr(0, end));
  text.remove_prefix(end < text.size() && text[end] == ' ' ? end + 1 : end);
  return number;
}

/// The numbers behind that beginning, in their order.
std::vector<std::int64_t> numbers_behind(std::string const& first, std::span<key_value const> keys) {
  std::vector<std::int64_t> all;
  all.reserve(keys.size());
  for (auto const& each : keys) {
    if (!each.key.starts_with(first)) continue;
    if (auto const number = whole_number(std::string_view{each.key}.substr(first.size())))
      all.push_back(*number);
  }
  std::ranges::sort(all);
  return all;
}

range all_that_begin_with(std::string const& first) { return names_from_to(first, keys::end_of(first)); }

}  // namespace

std::optional<barrier_words> barrier_words::read(std::string_view text) {
  if (!text.starts_with(mark)) return std::nullopt;
  text.remove_prefix(mark.size());
  auto const parties = take_number(text);
  auto const generation = take_number(text);
  auto const since = take_number(text);
  if (!parties || *parties < 1 || !generation || !since) return std::nullopt;
  barrier_words all{.parties = *parties, .generation = *generation, .since = *since};
  while (!text.empty()) {
    text.remove_prefix(1);
    auto const line = text.substr(0, text.find('\n'));
    text.remove_prefix(line.size());
    all.breaks.emplace_back(line);
  }
  return all;
}

std::string barrier_words::text() const {
  std::string all{mark};
  all.append(std::to_string(parties)).append(1, ' ').append(std::to_string(generation));
  all.append(1, ' ').append(std::to_string(since));
  for (auto const& each : breaks) all.append(1, '\n').append(each);
  return all;
}

barrier_words barrier_words::next(std::string const& cause) const {
  auto after = *this;
  if (!cause.empty()) after.breaks.push_back(std::to_string(generation) + ' ' + cause);
  if (after.breaks.size() > most_breaks) {
    after.since = leading_number(after.breaks.front()) + 1;
    after.breaks.erase(after.breaks.begin());
  }
  ++after.generation;
  return after;
}

/// The number of the generation is another one, so that a late request finds another text.
barrier_words barrier_words::resized(std::int64_t number) const {
  auto other = next();
  other.parties = number;
  return other;
}

std::string barrier_words::cause_of(std::int64_t ended, std::string const& lost) const {
  auto const start = std::to_string(ended) + ' ';
  auto const known = std::ranges::find_if(breaks, [&](auto const& each) { return each.starts_with(start); });
  if (known != breaks.end()) return known->substr(start.size());
  return ended < since || ended >= generation ? lost : std::string{};
}

transaction end_of_generation(std::string const& folder, std::string const& text, barrier_words const& after,
                              std::int64_t lease) {
  auto const barrier = keys::barrier_of(folder);
  auto const arrived = keys::arrived_of(folder);
  return {.when = {{.key = barrier, .equals = text}},
          .then = {put{.key = barrier, .value = after.text(), .lease = lease},
                   remove{.key = arrived, .end = keys::end_of(arrived)}}};
}

void barrier_reading::ask(std::vector<operation>& wanted, std::string const& folder) {
  auto const barrier = keys::barrier_of(folder);
  wanted.emplace_back(range{.key = barrier});
  ask_who(wanted, folder);
  for (auto& [first, end] : keys::all_but(folder, barrier))
    wanted.emplace_back(names_from_to(std::move(first), std::move(end), 1));
}

void barrier_reading::ask_who(std::vector<operation>& wanted, std::string const& folder) {
  wanted.emplace_back(all_that_begin_with(keys::arrived_of(folder)));
  wanted.emplace_back(all_that_begin_with(keys::here_of(folder)));
}

/// What came when the barrier was there has to wait, or was refused: only without it is that a misfit.
barrier_reading::barrier_reading(std::string const& folder, std::span<found> answered) {
  if (answered[0].keys.empty()) {
    for (auto const& others : answered.subspan(3, 2)) {
      if (!others.keys.empty()) misfit = "the key \"" + others.keys.front().key + "\"";
    }
    return;
  }
  auto& barrier = answered[0].keys.front();
  auto said = barrier_words::read(barrier.value);
  if (!said) {
    misfit = "the key \"" + barrier.key + "\", which is somebody else's";
    return;
  }
  text = std::move(barrier.value);
  lease = barrier.lease;
  words = *std::move(said);
  read_who(folder, answered[1], answered[2]);
}

barrier_reading::barrier_reading(std::string const& folder, std::string said, std::span<found> answered)
    : text{std::move(said)}, words{barrier_words::read(text).value_or(barrier_words{})} {
  read_who(folder, answered[0], answered[1]);
}

void barrier_reading::read_who(std::string const& folder, found const& slots, found const& alive) {
  arrived = numbers_behind(keys::arrived_of(folder), slots.keys);
  auto const here = numbers_behind(keys::here_for(folder, words.generation), alive.keys);
  std::ranges::set_difference(arrived, here, std::back_inserter(dead));
}

std::int64_t barrier_reading::free_slot(std::size_t choice) const {
  auto const count = static_cast<std::size_t>(words.parties) - arrived.size();
  auto slot = static_cast<std::int64_t>(choice % count) + 1;
  for (auto const taken : arrived) {
    if (taken > slot) break;
    ++slot;
  }
  return slot;
}

bool barrier_reading::is_free(std::int64_t slot) const {
  return slot >= 1 && slot <= words.parties && !std::ranges::binary_search(arrived, slot);
}

std::int64_t barrier_reading::first_alive() const {
  auto const first = std::ranges::find_if(
      arrived, [&](std::int64_t slot) { return !std::ranges::binary_search(dead, slot); });
  return first == arrived.end() ? 0 : *first;
}

}  // namespace holdfast::etcd
