#include "show/watch_events.hpp"

#include <algorithm>
#include <iterator>

namespace holdfast::cli {
namespace {

std::string_view client_of(std::string_view owner) { return owner.substr(0, owner.rfind(':')); }

/// The kinds: locks with one holder at a time, locks with several, and numbers (permits and counters; a
/// counter has no holders).
bool is_single(lock_state const& lock) {
  return lock.kind == lock_kind::exclusive || lock.kind == lock_kind::foreign ||
         lock.kind == lock_kind::reentrant;
}
bool is_read_write(lock_state const& lock) { return lock.kind == lock_kind::read_write; }
bool is_number(lock_state const& lock) {
  return lock.kind == lock_kind::permits || lock.kind == lock_kind::counter ||
         lock.kind == lock_kind::latch || lock.kind == lock_kind::barrier;
}
bool is_held(lock_state const& lock) { return is_single(lock) || is_read_write(lock); }

happening change_of_holder(lock_state const& before, lock_state const& now) {
  if (before.kind == now.kind && before.kind != lock_kind::foreign &&
      client_of(before.holder.owner) == client_of(now.holder.owner))
    return happening::passed_on;
  return happening::handed_over;
}

std::int64_t times_held(lock_state const& lock) {
  return lock.holders.empty() ? 1 : lock.holders.front().count;
}

bool has(lock_state const& lock, hold_info const& hold) {
  return std::ranges::any_of(lock.holders, [&hold](hold_info const& other) {
    return other.side == hold.side && other.process.owner == hold.process.owner;
  });
}

/// Departures come first: a writer leaves before readers come.
std::vector<event> changes_of_holders(lock_state const& before, lock_state const& now) {
  std::vector<event> all;
  bool const complete =
      before.holding == std::ssize(before.holders) && now.holding == std::ssize(now.holders);
  if (complete) {
    for (auto const& hold : before.holders) {
      if (!has(now, hold)) all.push_back({.kind = happening::left, .before = before.holder, .hold = hold});
    }
    for (auto const& hold : now.holders) {
      if (!has(before, hold))
        all.push_back({.kind = happening::joined, .before = before.holder, .hold = hold});
    }
  }
  if (all.empty() &&
      (before.holding != now.holding || before.available != now.available || before.permits != now.permits))
    all.push_back({.kind = happening::counted, .before = before.holder});
  return all;
}

std::vector<event> waiters_changed(lock_state const& before, lock_state const& now) {
  if (before.waiting == now.waiting) return {};
  return {{.kind = happening::waiting}};
}

}  // namespace

std::string_view to_string(happening kind) noexcept {
  switch (kind) {
    case happening::seen:
      return "seen";
    case happening::acquired:
      return "acquired";
    case happening::released:
      return "released";
    case happening::expired:
      return "expired";
    case happening::handed_over:
      return "handed_over";
    case happening::passed_on:
      return "passed_on";
    case happening::identified:
      return "identified";
    case happening::held_meanwhile:
      return "held_meanwhile";
    case happening::waiting:
      return "waiting";
    case happening::became:
      return "became";
    case happening::joined:
      return "joined";
    case happening::left:
      return "left";
    case happening::counted:
      return "counted";
  }
  return "unknown";
}

std::vector<event> changes(lock_state const& before, lock_state const& now,
                           std::chrono::nanoseconds between) {
  if (before.kind == lock_kind::other || now.kind == lock_kind::other) {
    if (before.kind == now.kind && before.type == now.type) return {};
    return {{.kind = happening::became, .before = before.holder}};
  }
  if (is_number(before) != is_number(now) ||
      (is_held(before) && is_held(now) && is_read_write(before) != is_read_write(now)))
    return {{.kind = happening::became, .before = before.holder}};
  if ((is_read_write(before) && is_read_write(now)) || is_number(now)) {
    auto all = changes_of_holders(before, now);
    return all.empty() ? waiters_changed(before, now) : all;
  }
  if (is_held(before) && is_held(now)) {
    if (before.holder.owner != now.holder.owner)
      return {{.kind = change_of_holder(before, now), .before = before.holder}};
    if (before.holder.pid == 0 && now.holder.pid != 0)
      return {{.kind = happening::identified, .before = before.holder}};
    if (times_held(before) != times_held(now)) return {{.kind = happening::counted, .before = before.holder}};
  } else if (is_held(before)) {
    bool const ran_out = before.ttl_left && *before.ttl_left <= between;
    return {{.kind = ran_out ? happening::expired : happening::released, .before = before.holder}};
  } else if (is_held(now)) {
    return {{.kind = happening::acquired}};
  } else if (now.token > before.token) {
    return {{.kind = happening::held_meanwhile}};
  }
  return waiters_changed(before, now);
}

}  // namespace holdfast::cli
