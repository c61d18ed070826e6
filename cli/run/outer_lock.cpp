#include "run/outer_lock.hpp"

#include "common/environment.hpp"
#include "common/exit_codes.hpp"
#include "probe/named_servers.hpp"
#include "probe/outer_holds.hpp"
#include "probe/owned_lock.hpp"
#include "run/locks.hpp"

#include <holdfast/inspect.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
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

/// A leader has no owner id in its key there, and may be one of these.
std::vector<probe::owned_hold> holds_on_etcd(client& etcd, std::string const& name,
                                             std::vector<std::string> const& owners) {
  auto const seen = inspect(etcd, name);
  std::vector<probe::owned_hold> holds;
  for (auto const& each : seen.holders) {
    if (seen.leads || std::ranges::find(owners, each.process.owner) != owners.end())
      holds.push_back({.side = each.side, .permits = seen.permits.value_or(0)});
  }
  return holds;
}

/// Whether these holds keep out a caller that wants `wanted`, for as long as they last. `sets_slots`: the
/// caller sets the number of slots to wanted.slots.
bool keep_out(std::vector<probe::owned_hold> const& holds, run_name const& wanted, bool const sets_slots) {
  std::int64_t permits_held = 0;
  return std::ranges::any_of(holds, [&](probe::owned_hold const& hold) {
    switch (hold.side) {
      case hold_side::read:
      case hold_side::upgrade:
        return wanted.side != run_side::shared;
      case hold_side::permit:
        // If there are more permits, another permit may come free.
        return ++permits_held >= (sets_slots ? wanted.slots : hold.permits);
      case hold_side::exclusive:
      case hold_side::write:
      case hold_side::arrived:  // `run` takes no latch and no barrier
        break;
    }
    return true;
  });
}

}  // namespace

bool has_name_of_outer_lock(run_options const& options) {
  return std::ranges::any_of(names_of(options),
                             [](run_name const& each) { return !owners_of(each.name).empty(); });
}

std::string owner_of(lease const& held, run_options const& options, run_name const& name) {
  return options.with.empty() || name.side != run_side::shared ? held.owner()
                                                               : probe::reader_id(held.owner());
}

std::vector<std::string> outer_locks_for_command(lease const& held, run_options const& options) {
  auto others = distant_locks().size();
  std::vector<std::string> variables;
  auto const add = [&](outer_lock const& lock) {
    variables.push_back(fmt::format("{}={} {}", variable_of_distant(++others), lock.owner, lock.name));
  };
  if (auto const nearest = nearest_lock()) add(*nearest);
  for (auto const& each : options.with) add({.owner = owner_of(held, options, each), .name = each.name});
  return variables;
}

void count_outer_locks(client& redis) {
  std::vector<std::pair<std::string, std::string>> all;
  for (auto& lock : outer_locks()) all.emplace_back(std::move(lock.name), std::move(lock.owner));
  probe::count_as_held(redis, std::move(all));
}

void refuse_own_lock(client& redis, std::string_view const url, run_options const& options) {
  auto const on_etcd = probe::named_servers{url}.kind() == probe::deployment_kind::etcd;
  for (auto const& wanted : names_of(options)) {
    auto const owners = owners_of(wanted.name);
    std::vector<probe::owned_hold> holds;
    if (on_etcd && !owners.empty()) {
      holds = holds_on_etcd(redis, wanted.name, owners);
    } else {
      for (auto const& owner : owners) {
        if (auto const hold = probe::owned_lock{redis, url, wanted.name, owner, options.wire}.look())
          holds.push_back(*hold);
      }
    }
    if (!keep_out(holds, wanted, options.set_slots)) continue;
    throw failure{busy, fmt::format("{} is held by the holdfast in whose command this runs: you hold it, and "
                                    "would wait for yourself",
                                    title_of(wanted))};
  }
}

}  // namespace holdfast::cli
