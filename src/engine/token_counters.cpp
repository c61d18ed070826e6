#include "engine/token_counters.hpp"

#include <algorithm>
#include <new>
#include <string>
#include <utility>

#include "resp/command.hpp"
#include "script/names.hpp"

namespace holdfast::engine {
namespace {

using namespace std::chrono_literals;

/// As the scripts have it.
constexpr milliseconds life = 24h;
/// Twice in its life: one renewal may come late.
constexpr std::chrono::nanoseconds pause = 12h;

/// Nobody waits for the answer: a counter that is gone all the same is missed by searches alone.
void prolong(lock_backend& backend, lock_queue const& queue, milliseconds const at_least) noexcept try {
  if (!queue.lock_recipe().found_by_counter) return;
  auto const last_for = std::to_string(std::max(life, at_least).count());
  for (auto const name : queue.lock_recipe().all_names(queue.name())) {
    auto const counter = names::token_counter(name);
    net::request request{.slot = backend.slot_of(counter)};
    resp::append_command(request.bytes, {"PEXPIRE", counter, last_for});
    backend.send(std::move(request));
  }
} catch (std::bad_alloc const&) {
  return;  // of a lease: half a day later it is sent again
}

}  // namespace

std::chrono::nanoseconds::rep token_counters::half_day_of(time_point when) const noexcept {
  return (when - begun_) / pause;
}

void token_counters::taken(lease_state const& lease) noexcept {
  if (lease.options().ttl > pause) prolong(lease);
}

void token_counters::renewed(lease_state const& lease, time_point before, time_point sent_at) noexcept {
  if (half_day_of(before) != half_day_of(sent_at) || lease.options().ttl > pause) prolong(lease);
}

void token_counters::prolong(lease_state const& lease) noexcept {
  engine::prolong(backend_, lease.queue(), 2 * lease.options().ttl);
}

void keep_token_counters(lock_backend& backend, lock_queue const& queue,
                         milliseconds const key_stays_for) noexcept {
  if (key_stays_for > pause) prolong(backend, queue, key_stays_for);
}

}  // namespace holdfast::engine
