#include "run/outer_lock.hpp"

#include "common/environment.hpp"
#include "common/exit_codes.hpp"
#include "probe/owned_lock.hpp"
#include "run/locks.hpp"

#include <fmt/format.h>

namespace holdfast::cli {
namespace {

/// Whether the hold keeps a lock of this side from being granted for as long as it lasts.
bool keeps_out(probe::owned_hold const& hold, run_side const side) {
  switch (hold.side) {
    case hold_side::read:
      return side != run_side::shared;
    case hold_side::permit:
      return hold.permits == 1;  // of several another one may come free
    case hold_side::exclusive:
    case hold_side::write:
      break;
  }
  return true;
}

}  // namespace

bool has_name_of_outer_lock(run_options const& options) {
  return !environment_value("HOLDFAST_OWNER").empty() && environment_value("HOLDFAST_NAME") == options.name;
}

void refuse_own_lock(client& redis, std::string_view const url, run_options const& options) {
  if (!has_name_of_outer_lock(options)) return;
  auto const owner = environment_value("HOLDFAST_OWNER");
  auto const outer = probe::owned_lock{redis, url, options.name, owner, options.wire}.look();
  if (!outer || !keeps_out(*outer, options.side)) return;
  throw failure{busy, fmt::format("{} is held by the holdfast in whose command this runs: you hold it, and "
                                  "would wait for yourself",
                                  title_of(options))};
}

}  // namespace holdfast::cli
