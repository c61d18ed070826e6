#include "run/server_patience.hpp"

#include "common/boot_time.hpp"
#include "process/end_by_signal.hpp"
#include "run/outer_lock.hpp"

#include <algorithm>

namespace holdfast::cli {

namespace {

using namespace std::chrono_literals;

/// A short --wait is about the lock: a server that is far away may take a moment longer to answer.
constexpr auto silence_beyond_wait = 1s;

/// The client gives up so much before the limit of silence: only it knows why a server can't be reached.
constexpr std::chrono::milliseconds client_first = 100ms;

/// The number of slots, the last run, and the lock of an outer `run`: the client waits for a server only
/// where it is asked for a lock.
bool asks_before_lock(run_options const& options) {
  return std::ranges::count(names_of(options), run_side::slot, &run_name::side) != 0 || options.limit ||
         has_name_of_outer_lock(options);
}

}  // namespace

std::chrono::milliseconds patience_of(run_options const& options) {
  if (auto const limit = options.wait_server)
    return std::max(*limit - std::min(*limit / 10, client_first), 1ms);
  return options.wait.value_or(0ms);
}

std::optional<std::chrono::milliseconds> limit_of_silence(run_options const& options) {
  if (options.wait_server)
    return *options.wait_server > 0ms ? options.wait_server : std::nullopt;  // one try, as long as it takes
  if (!options.wait || *options.wait == 0ms) return std::nullopt;
  return *options.wait + silence_beyond_wait;
}

run_options reach_server(client& redis, run_options options) {
  if (patience_of(options) == 0ms || !asks_before_lock(options)) return options;
  endable_by_signals const nothing_to_leave_behind;
  auto const begun = boot_time();
  redis.connect();
  auto const took = std::chrono::ceil<std::chrono::milliseconds>(boot_time() - begun);
  if (options.wait && *options.wait > 0ms) options.wait = std::max(*options.wait - took, 1ms);
  return options;
}

}  // namespace holdfast::cli
