// Who is in the way of those that go without the lock.

#include <algorithm>
#include <utility>

#include "engine/core.hpp"
#include "engine/record.hpp"
#include "script/names.hpp"

namespace holdfast::engine {
namespace {

/// Callers of this process that are counted as ahead: what a try costs mustn't grow with those that wait.
constexpr std::int64_t most_counted = 1000;

std::chrono::microseconds rounded(std::chrono::nanoseconds time) {
  return std::chrono::duration_cast<std::chrono::microseconds>(time);
}

}  // namespace

/// From what is known here: asking is left to whoever wants to know more. The callers of this process that
/// stand before it in the line count as ahead.
void core::note_busy(waiter const& who) noexcept try {
  auto& at = *who.queue;
  auto ahead = std::int64_t{0};
  for (auto const& other : at.waiters) {
    if (&other == &who || ahead == most_counted) break;
    ++ahead;
  }
  busy_info how{.ahead = ahead};
  if (at.holder != nullptr) {
    auto const now = boot_clock::now();
    how.holder.owner = owner_id(at.holder->number());
    how.held_for = rounded(now - at.since);
    how.ttl_left = std::chrono::duration_cast<milliseconds>(at.holder->deadline() - now);
  } else if (at.contender && at.contender->last.heard_at != time_point{}) {
    auto const& last = at.contender->last;
    auto const age = boot_clock::now() - last.heard_at;
    how.holder.owner = last.what.holder;
    if (last.what.held_for.count() >= 0 && !uuid_of(last.what.holder).empty()) {
      how.held_for = last.what.held_for + rounded(age);
    }
    if (last.what.pttl.count() >= 0) {
      how.ttl_left =
          std::max(last.what.pttl - std::chrono::duration_cast<milliseconds>(age), milliseconds{0});
    }
    how.ahead = last.what.ahead < 0 ? -1 : ahead + last.what.ahead;
  } else {
    return;  // nobody answered
  }
  at.set_in_the_way({std::move(how), boot_clock::now()});
} catch (std::bad_alloc const&) {
  return;  // the one before is as good as none
}

std::optional<busy_info> core::last_busy(lock_queue& at) {
  if (forked()) check_usable();
  std::optional<busy_info> result;
  {
    reactor::lock const hold{loop_.mutex()};
    if (at.in_the_way() == nullptr) return result;
    result = at.in_the_way()->who;
    auto const same = uuid_of(known_.owner) == uuid_of(result->holder.owner);
    if (same && !known_.host.empty()) {
      auto owner = std::move(result->holder.owner);
      result->holder = known_;
      result->holder.owner = std::move(owner);
      return result;
    }
  }
  auto& holder = result->holder;
  auto const uuid = uuid_of(holder.owner);
  if (uuid.empty()) return result;
  if (uuid == uuid_) {
    auto self = describe_self(options_.label);
    self.owner = std::move(holder.owner);
    holder = std::move(self);
    return result;
  }
  try {
    auto const key = names::client_record(uuid);
    std::string_view const command[]{"HGETALL", key};
    holder = read_record(std::string{holder.owner}, ask_server(command, key));
  } catch (error const&) {
    return result;  // a message without a name is better than none
  }
  reactor::lock const hold{loop_.mutex()};
  known_ = holder;
  return result;
}

time_point core::last_busy_at(lock_queue const& at) {
  if (forked()) check_usable();
  reactor::lock const hold{loop_.mutex()};
  return at.in_the_way() != nullptr ? at.in_the_way()->at : time_point{};
}

}  // namespace holdfast::engine
