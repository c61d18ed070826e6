#include "run/server_patience.hpp"

#include "common/boot_time.hpp"
#include "process/signals.hpp"
#include "run/outer_lock.hpp"

#include <algorithm>

namespace holdfast::cli {

namespace {

using namespace std::chrono_literals;

/// The number of slots, the last run, and the lock of an outer `run`: the client waits for a server only
/// where it is asked for a lock.
bool asks_before_lock(run_options const& options) {
  return std::ranges::count(names_of(options), run_side::slot, &run_name::side) != 0 || options.limit ||
         has_name_of_outer_lock(options);
}

}  // namespace

std::chrono::milliseconds patience_of(run_options const& options) {
  if (options.wait_server) return std::max(*options.wait_server, 1ms);
  return options.wait.value_or(0ms);
}

run_options reach_server(client& redis, run_options options) {
  if (patience_of(options) == 0ms || !asks_before_lock(options)) return options;
  default_actions const nothing_to_leave_behind{signals::ending};
  auto const begun = boot_time();
  redis.connect();
  auto const took = std::chrono::ceil<std::chrono::milliseconds>(boot_time() - begun);
  if (options.wait && *options.wait > 0ms) options.wait = std::max(*options.wait - took, 1ms);
  return options;
}

}  // namespace holdfast::cli
