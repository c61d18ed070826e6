#include "engine/busy_report.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "base/ranges.hpp"
#include "base/whole_number.hpp"
#include "engine/lease_state.hpp"
#include "engine/presence.hpp"

namespace holdfast::engine {
namespace {

/// The most callers of this process that count as ahead: the cost of a try mustn't grow with the queue.
constexpr std::int64_t most_counted = 1000;
/// A record that is known isn't read again so soon if it couldn't be.
constexpr std::chrono::seconds after_failure{20};

std::chrono::microseconds rounded(std::chrono::nanoseconds time) {
  return std::chrono::duration_cast<std::chrono::microseconds>(time);
}

std::int64_t callers_before(waiter const& caller) {
  auto ahead = std::int64_t{0};
  for (auto const& other : caller.queue->waiters) {
    if (&other == &caller || ahead == most_counted) break;
    ++ahead;
  }
  return ahead;
}

/// Whether the latest caller waits, so that an earlier one's report is out of date.
bool last_still_waits(lock_queue const& queue) noexcept {
  if (queue.waiters.empty()) return false;
  return queue.in_the_way() == nullptr || queue.in_the_way()->at < queue.waiters.back().came_at;
}

}  // namespace

std::optional<busy_info> obstacle_of(waiter const& caller, client_constants const& client,
                                     held_traces const* traces, time_point now) {
  auto const& queue = *caller.queue;
  busy_info info{.ahead = callers_before(caller)};
  if (queue.holder != nullptr) {
    info.holder.owner = client.owner_id(queue.holder->number());
    if (traces != nullptr) info.holder.trace = traces->of(*queue.holder);
    info.held_for = rounded(now - queue.held_here_since);
    info.ttl_left = std::chrono::duration_cast<milliseconds>(queue.holder->deadline() - now);
    return info;
  }
  if (!queue.contender || queue.contender->last.heard_at == time_point{}) return std::nullopt;
  auto const& [seen, heard_at] = queue.contender->last;
  auto const age = now - heard_at;
  info.holder.owner = seen.holder;
  if (seen.held_for.count() >= 0 && !uuid_of(seen.holder).empty())
    info.held_for = seen.held_for + rounded(age);
  if (seen.pttl.count() >= 0 && ranges::left_of_lease(seen.pttl)) {
    info.ttl_left = std::max(seen.pttl - std::chrono::duration_cast<milliseconds>(age), milliseconds{0});
  }
  info.never_expires = seen.pttl == without_ttl;
  info.ahead = seen.ahead < 0 ? -1 : info.ahead + seen.ahead;
  if (queue.lock_recipe().sharing == sharing::counted && queue.lock_recipe().order == order::strict) {
    info.wanted = caller.amount;
    info.permits = seen.permits;
    info.taken = seen.out;
  }
  return info;
}

void busy_report::note(waiter const& caller, time_point now) noexcept try {
  if (auto info = obstacle_of(caller, client_, traces_, now))
    caller.queue->set_in_the_way({std::move(*info), now});
} catch (std::bad_alloc const&) {
  return;
}

std::optional<busy_info> busy_report::latest(lock_queue const& queue, time_point now) const {
  std::optional<busy_info> info;
  if (last_still_waits(queue)) info = obstacle_of(queue.waiters.back(), client_, traces_, now);
  if (!info && queue.in_the_way() != nullptr) info = queue.in_the_way()->holder;
  if (!info) return std::nullopt;
  auto& holder = info->holder;
  if (knows_client_of(holder.owner)) {
    holder = known_.of(std::move(holder.owner));
  } else if (traces_ != nullptr && holder.trace.empty() && uuid_of(holder.owner) == client_.uuid &&
             queue.lock_recipe().sharing == sharing::counted) {
    // They have many holders. Others hand a number over, and a report may be older than that.
    holder.trace = traces_->of(leading_number<std::uint64_t>(holder.owner.substr(client_.uuid.size() + 1)));
  }
  return info;
}

bool busy_report::knows_client_of(std::string_view owner) const noexcept {
  auto const uuid = uuid_of(owner);
  return !uuid.empty() && uuid == known_uuid_;
}

bool busy_report::wants_record(process_info const& holder, bool up, time_point now) noexcept {
  if (!knows_client_of(holder.owner)) return uuid_of(holder.owner) != missing_uuid_ || now >= missing_until_;
  if (!up || !holder.trace.empty() || now < read_again_) return false;
  read_again_ = now + after_failure;
  return true;
}

void busy_report::remember(std::string_view uuid, client_record record, time_point now) {
  auto const again = now + record.lasts();
  if (!record.is_missing()) {
    known_uuid_ = uuid;
    known_ = std::move(record);
    read_again_ = again;
  } else if (uuid != known_uuid_) {
    missing_uuid_ = uuid;
    missing_until_ = again;
  }
}

time_point busy_report::latest_at(lock_queue const& queue, time_point now) noexcept {
  if (last_still_waits(queue)) {
    if (queue.holder != nullptr) return now;
    if (queue.contender && queue.contender->last.heard_at != time_point{})
      return queue.contender->last.heard_at;
  }
  return queue.in_the_way() != nullptr ? queue.in_the_way()->at : time_point{};
}

bool busy_report::describe_if_own(process_info& holder) const {
  if (uuid_of(holder.owner) != client_.uuid) return false;
  auto self = describe_self(client_.options.label);
  self.owner = std::move(holder.owner);
  self.trace = std::move(holder.trace);
  holder = std::move(self);
  return true;
}

}  // namespace holdfast::engine
