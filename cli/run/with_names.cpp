#include "run/with_names.hpp"

#include "base/whole_number.hpp"
#include "common/exit_codes.hpp"
#include "common/output.hpp"
#include "run/lock_name.hpp"

#include <fmt/format.h>

#include <optional>
#include <set>

namespace holdfast::cli {
namespace {

std::string named(std::string_view const option, std::string_view const name) {
  if (name.empty()) throw failure{usage, fmt::format("{}: it is empty: give the name of a lock", option)};
  return lock_name_of(option, name);
}

/// Of "N:NAME", where NAME may have a colon, too.
run_name slot_of(std::string const& word) {
  constexpr auto option = "--with-slots";
  auto const colon = word.find(':');
  auto const number =
      colon == std::string::npos ? std::nullopt : whole_number(std::string_view{word}.substr(0, colon));
  if (!number) {
    throw failure{usage, fmt::format("{}: {} is not N:NAME, the number of slots and their name, as in 3:api",
                                     option, output::quoted(word))};
  }
  return {.name = named(option, std::string_view{word}.substr(colon + 1)),
          .side = run_side::slot,
          .slots = checked_slots(option, *number)};
}

}  // namespace

void add_with(command_options& run, with_words& to) {
  run.values(
      "--with", to.alone,
      "Take this name together with NAME, all or none, as a lock of its own (may be given several times)",
      "NAME");
  run.values("--with-shared", to.shared, "The same, to read: as with --shared", "NAME");
  run.values("--with-slots", to.slots, "The same, for one of N slots: as with --slots N", "N:NAME");
}

std::vector<run_name> with_of(with_words const& from) {
  std::vector<run_name> all;
  all.reserve(from.alone.size() + from.shared.size() + from.slots.size());
  for (auto const& word : from.alone) all.push_back({.name = named("--with", word)});
  for (auto const& word : from.shared)
    all.push_back({.name = named("--with-shared", word), .side = run_side::shared});
  for (auto const& word : from.slots) all.push_back(slot_of(word));
  return all;
}

void check_with(run_options const& options) {
  if (options.with.empty()) return;
  std::set<std::string> known;
  for (auto const& [name, side, slots] : names_of(options)) {
    if (known.insert(name).second) continue;
    throw failure{usage, fmt::format("--with: {} is given twice: a name can be taken in one way only",
                                     output::quoted(name))};
  }
  if (options.fair) {
    throw failure{usage,
                  "--fair: names that are taken together have no common queue; leave it out (whoever has "
                  "waited long keeps the names that come free)"};
  }
}

std::int64_t checked_slots(std::string_view const option, std::int64_t const number) {
  if (number >= 1) return number;
  throw failure{usage, fmt::format("{}: {} is not a number of slots; at least 1", option, number)};
}

}  // namespace holdfast::cli
