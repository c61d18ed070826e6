// Reports the holder when a caller goes without the lock.

#include <algorithm>
#include <utility>

#include "engine/core.hpp"
#include "engine/record.hpp"
#include "script/names.hpp"

namespace holdfast::engine {
namespace {

/// The most callers of this process that count as ahead: the cost of a try mustn't grow with the queue.
constexpr std::int64_t most_counted = 1000;

std::chrono::microseconds rounded(std::chrono::nanoseconds time) {
  return std::chrono::duration_cast<std::chrono::microseconds>(time);
}

}  // namespace

/// Uses only what this client knows; last_busy() asks the server for more. Callers before it in this
/// process's queue count as ahead.
void core::note_busy(waiter const& caller) noexcept try {
  auto& queue = *caller.queue;
  auto ahead = std::int64_t{0};
  for (auto const& other : queue.waiters) {
    if (&other == &caller || ahead == most_counted) break;
    ++ahead;
  }
  busy_info info{.ahead = ahead};
  if (queue.holder != nullptr) {
    auto const now = boot_clock::now();
    info.holder.owner = client_.owner_id(queue.holder->number());
    info.held_for = rounded(now - queue.since);
    info.ttl_left = std::chrono::duration_cast<milliseconds>(queue.holder->deadline() - now);
  } else if (queue.contender && queue.contender->last.heard_at != time_point{}) {
    auto const& last = queue.contender->last;
    auto const age = boot_clock::now() - last.heard_at;
    info.holder.owner = last.reply.holder;
    if (last.reply.held_for.count() >= 0 && !uuid_of(last.reply.holder).empty()) {
      info.held_for = last.reply.held_for + rounded(age);
    }
    if (last.reply.pttl.count() >= 0) {
      info.ttl_left =
          std::max(last.reply.pttl - std::chrono::duration_cast<milliseconds>(age), milliseconds{0});
    }
    info.ahead = last.reply.ahead < 0 ? -1 : ahead + last.reply.ahead;
  } else {
    return;  // no busy reply has come
  }
  queue.set_in_the_way({std::move(info), boot_clock::now()});
} catch (std::bad_alloc const&) {
  return;  // the earlier report stays
}

std::optional<busy_info> core::last_busy(lock_queue& queue) {
  if (forked()) check_usable();
  std::optional<busy_info> result;
  {
    reactor::lock const hold{loop_.mutex()};
    if (queue.in_the_way() == nullptr) return result;
    result = queue.in_the_way()->who;
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
  if (uuid == client_.uuid) {
    auto self = describe_self(client_.options.label);
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

time_point core::last_busy_at(lock_queue const& queue) {
  if (forked()) check_usable();
  reactor::lock const hold{loop_.mutex()};
  return queue.in_the_way() != nullptr ? queue.in_the_way()->at : time_point{};
}

}  // namespace holdfast::engine
