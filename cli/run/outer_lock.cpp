#include "run/outer_lock.hpp"

#include "common/environment.hpp"
#include "common/exit_codes.hpp"
#include "probe/outer_holds.hpp"
#include "probe/owned_lock.hpp"
#include "run/locks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace holdfast::cli {
namespace {

struct outer_lock {
  std::string owner;
  std::string name;
};

/// All but the nearest one are in variables of their own: the owner id, a blank, and the name.
std::string variable_of_distant(std::size_t const number) { return fmt::format("HOLDFAST_OUTER_{}", number); }

std::vector<outer_lock> distant_locks() {
  std::vector<outer_lock> found;
  for (;;) {
    auto const text = environment_value(variable_of_distant(found.size() + 1).c_str());
    auto const blank = text.find(' ');
    if (blank == std::string::npos) return found;
    found.push_back({.owner = text.substr(0, blank), .name = text.substr(blank + 1)});
  }
}

std::optional<outer_lock> nearest_lock() {
  outer_lock nearest{.owner = environment_value("HOLDFAST_OWNER"),
                     .name = environment_value("HOLDFAST_NAME")};
  return nearest.owner.empty() ? std::nullopt : std::optional{std::move(nearest)};
}

std::vector<outer_lock> outer_locks() {
  auto locks = distant_locks();
  if (auto nearest = nearest_lock()) locks.push_back(std::move(*nearest));
  return locks;
}

std::vector<std::string> owners_of(std::string const& name) {
  std::vector<std::string> owners;
  for (auto& lock : outer_locks()) {
    if (lock.name == name) owners.push_back(std::move(lock.owner));
  }
  return owners;
}

/// Whether these holds keep a lock of this side from being granted for as long as they last.
bool keep_out(std::vector<probe::owned_hold> const& holds, run_side const side) {
  std::int64_t permits_held = 0;
  return std::ranges::any_of(holds, [&](probe::owned_hold const& hold) {
    switch (hold.side) {
      case hold_side::read:
      case hold_side::upgrade:
        return side != run_side::shared;
      case hold_side::permit:
        return ++permits_held >= hold.permits;  // of more permits another one may come free
      case hold_side::exclusive:
      case hold_side::write:
      case hold_side::arrived:  // `run` takes no latch and no barrier
        break;
    }
    return true;
  });
}

}  // namespace

bool has_name_of_outer_lock(run_options const& options) { return !owners_of(options.name).empty(); }

std::string outer_lock_for_command() {
  auto const nearest = nearest_lock();
  if (!nearest) return {};
  return fmt::format("{}={} {}", variable_of_distant(distant_locks().size() + 1), nearest->owner,
                     nearest->name);
}

void count_outer_locks(client& redis) {
  std::vector<std::pair<std::string, std::string>> all;
  for (auto& lock : outer_locks()) all.emplace_back(std::move(lock.name), std::move(lock.owner));
  probe::count_as_held(redis, std::move(all));
}

void refuse_own_lock(client& redis, std::string_view const url, run_options const& options) {
  std::vector<probe::owned_hold> holds;
  for (auto const& owner : owners_of(options.name)) {
    if (auto const hold = probe::owned_lock{redis, url, options.name, owner, options.wire}.look())
      holds.push_back(*hold);
  }
  if (!keep_out(holds, options.side)) return;
  throw failure{busy, fmt::format("{} is held by the holdfast in whose command this runs: you hold it, and "
                                  "would wait for yourself",
                                  title_of(options))};
}

}  // namespace holdfast::cli
