#include "watch_events.hpp"

namespace holdfast::cli {
namespace {

std::string_view client_of(std::string_view owner) { return owner.substr(0, owner.rfind(':')); }

bool is_held(lock_state const& lock) {
  return lock.kind == lock_kind::exclusive || lock.kind == lock_kind::foreign;
}

happening change_of_holder(lock_state const& before, lock_state const& now) {
  if (before.kind == lock_kind::exclusive && now.kind == lock_kind::exclusive &&
      client_of(before.holder.owner) == client_of(now.holder.owner))
    return happening::passed_on;
  return happening::handed_over;
}

}  // namespace

std::string_view to_string(happening what) noexcept {
  switch (what) {
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
  }
  return "unknown";
}

std::vector<event> changes(lock_state const& before, lock_state const& now,
                           std::chrono::nanoseconds between) {
  if (before.kind == lock_kind::other || now.kind == lock_kind::other) {
    if (before.type == now.type) return {};
    return {{.what = happening::became, .before = before.holder}};
  }
  if (is_held(before) && is_held(now)) {
    if (before.holder.owner != now.holder.owner)
      return {{.what = change_of_holder(before, now), .before = before.holder}};
    if (before.holder.pid == 0 && now.holder.pid != 0)
      return {{.what = happening::identified, .before = before.holder}};
  } else if (is_held(before)) {
    bool const ran_out = before.ttl_left && *before.ttl_left <= between;
    return {{.what = ran_out ? happening::expired : happening::released, .before = before.holder}};
  } else if (is_held(now)) {
    return {{.what = happening::acquired}};
  } else if (now.token > before.token) {
    return {{.what = happening::held_meanwhile}};
  }
  if (before.waiting != now.waiting) return {{.what = happening::waiting}};
  return {};
}

}  // namespace holdfast::cli
