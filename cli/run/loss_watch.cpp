#include "run/loss_watch.hpp"

#include <algorithm>

namespace holdfast::cli {
namespace {

using namespace std::chrono_literals;

constexpr loss_watch::time for_ever = loss_watch::time::max() / 4;
constexpr loss_watch::time longest_sleep = 1h;

}  // namespace

loss_watch::loss_watch(on_lost const policy, time const ttl, time const max_hold, time const now,
                       time const remaining)
    : policy_{policy},
      ttl_{ttl},
      most_{std::min(ttl, remaining)},
      limit_grace_{std::min<time>(5s, max_hold / 10)},
      hold_end_{max_hold == 0s ? for_ever : now + max_hold},
      deadline_{now + remaining} {}

loss_watch::time loss_watch::grace() const noexcept { return std::min<time>(5s, most_ / 3); }

/// Very short leases split the grace in halves, so that SIGTERM has some time.
loss_watch::time loss_watch::last_bit() const noexcept {
  return std::min(std::clamp<time>(most_ / 20, 20ms, 500ms), grace() / 2);
}

void loss_watch::note(time const now, time const remaining, loss_cause const cause) noexcept {
  if (is_held(remaining, cause)) {
    deadline_ = now + remaining;
    most_ = std::max(most_, std::min(remaining, ttl_));
  } else if (!kill_at_) {
    // Another process may hold the lock already, or wait two seconds for the release.
    kill_at_ = std::clamp(deadline_ - last_bit(), now, now + 1s);
  }
}

loss_watch::decision loss_watch::look(time const now, time const remaining, loss_cause const cause) {
  if (stage_ == action::kill) return {action::nothing, reason::none, longest_sleep};
  note(now, remaining, cause);
  if (!is_held(remaining, cause)) return look_at_lost(now, cause);
  auto due = look_at_held(now, remaining);
  if (!rest_end_ || due.step != action::nothing) return due;
  if (now >= *rest_end_) return step(action::kill, reason::rest, longest_sleep);
  due.look_again = std::min(due.look_again, *rest_end_ - now);
  return due;
}

void loss_watch::command_ended(time const now) noexcept { rest_end_ = now + grace(); }

loss_watch::decision loss_watch::look_at_held(time const now, time const remaining) {
  auto const until_limit = hold_end_ - now;
  bool const limit_rules = until_limit <= remaining;
  auto const usable = std::min(remaining, until_limit);
  auto const grace = limit_rules ? limit_grace_ : this->grace();
  auto const last_bit = std::min(this->last_bit(), grace / 2);
  auto const trigger = limit_rules ? reason::max_hold : reason::not_renewed;

  if (policy_ == on_lost::warn) return {action::nothing, reason::none, std::min(remaining, longest_sleep)};
  if (usable <= last_bit) return step(action::kill, trigger, longest_sleep);
  if (usable <= grace) {
    auto const next = policy_ == on_lost::kill ? action::nothing : action::terminate;
    return step(next, trigger, usable - last_bit);
  }
  return {action::nothing, reason::none, std::min(usable - grace, longest_sleep)};
}

loss_watch::decision loss_watch::look_at_lost(time const now, loss_cause const cause) {
  if (policy_ == on_lost::warn) return step(action::warn, reason::lost, longest_sleep);
  bool const at_the_deadline =
      cause == loss_cause::none || cause == loss_cause::unreachable || cause == loss_cause::limit_reached;
  if (policy_ == on_lost::kill || at_the_deadline) return step(action::kill, reason::lost, longest_sleep);

  // SIGTERM is still sent, but with a short time limit.
  if (now >= *kill_at_) return step(action::kill, reason::lost, longest_sleep);
  return step(action::terminate, reason::lost, *kill_at_ - now);
}

loss_watch::time loss_watch::latest_end() const noexcept {
  auto const half_a_bit = last_bit() / 2;
  return std::min({deadline_ - half_a_bit, hold_end_ - std::min(last_bit(), limit_grace_ / 2) / 2,
                   kill_at_ ? *kill_at_ + half_a_bit : for_ever});
}

loss_watch::decision loss_watch::step(action const next, reason const trigger, time const look_again) {
  if (next <= stage_) return {action::nothing, reason::none, look_again};
  stage_ = next;
  return {next, trigger, look_again};
}

}  // namespace holdfast::cli
