#include "engine/contention/decisions.hpp"

#include <algorithm>
#include <utility>

#include "base/broken.hpp"

namespace holdfast::engine {
namespace {

/// The least remaining time of a lease that is handed over before its first renewal.
constexpr std::chrono::milliseconds shortest_handover{500};

/// The least remaining ttl of a grant that is used without asking the server.
constexpr std::chrono::milliseconds grant_reserve{500};

/// Behind the end of the holder's ttl, for each place in the queue: Redis counts in whole milliseconds, and
/// the waiters ask one after the other, so that only one of them finds the lock free.
constexpr std::chrono::milliseconds expiry_slack{2};

/// By what the contender's last request said.
bool was_for_another(contender const& asked, waiter const& caller) noexcept {
  return asked.amount != caller.amount || asked.in_place_of != caller.in_place_of ||
         (asked.proclaimed_by && asked.proclaimed_by->value != caller.options->value);
}

}  // namespace

grant_use use_of_grant(lock_queue const& queue, time_point deadline, milliseconds ttl, bool on_etcd,
                       time_point now) noexcept {
  auto const& contender = *queue.contender;
  auto const& first = queue.waiters.front();
  if (!queue.lock_recipe().leased && was_for_another(contender, first)) return grant_use::other_caller;
  if (may_take_for_nobody(queue)) return grant_use::copied;
  if (!queue.lock_recipe().leased) return grant_use::for_good;
  // On Redisson's wire, where the order isn't strict, the amount is the number of all permits.
  if (queue.lock_recipe().order == order::strict && was_for_another(contender, first))
    return grant_use::other_caller;
  if (first.options->wants_acknowledgement() && !contender.acknowledged) return grant_use::unacknowledged;
  if (now >= deadline) return grant_use::expired;
  auto const& wanted = first.options->options;
  // The first renewal is for the right time, but a lease of etcd keeps the ttl that it was made for.
  return ttl == wanted.ttl || (wanted.watchdog && !on_etcd) ? grant_use::lease : grant_use::other_ttl;
}

bool may_take_for_nobody(lock_queue const& queue) noexcept {
  return queue.lock_recipe().lasts && queue.contender->policy.copied;
}

bool is_good_for(waiter const& caller, time_point sent_at) noexcept {
  return caller.queue->lock_recipe().sharing != sharing::open_to_all || caller.came_at <= sent_at;
}

/// A request under way finds the lock ours, and sets its own ttl, which may be the shorter one.
milliseconds ttl_by_message(contender const& asked) noexcept {
  return asked.current == contender::state::asking ? std::min(grant_ttl, asked.ttl) : grant_ttl;
}

bool believes(lock_queue const& queue, granted const& grant, bool trusted, time_point now) noexcept {
  // Of several names the grant is for one; of several masters it is one vote. Where a replica may take over,
  // it may come from a former master that is a replica by now: messages are replicated, and the master, which
  // counts its own subscribers, has gone on to the next waiter.
  if (!trusted || queue.lock_recipe().several != nullptr || queue.waiters.empty()) return false;
  if (queue.lock_recipe().lasts) return false;
  // Where replicas have to acknowledge, only a request makes them do so.
  if (queue.waiters.front().options->wants_acknowledgement()) return false;
  // A grant that is newer than the last busy reply was made after that request was sent, so its ttl counts
  // from there at the earliest. An older grant, whose message was held up, may have ended long ago: then only
  // asking the server decides.
  auto const& contender = *queue.contender;
  return contender.busy_sent_at != time_point{} && grant.token > contender.newest_token &&
         deadline_of(contender.busy_sent_at, ttl_by_message(contender)) > now + grant_reserve;
}

bool may_hand_over(lock_queue const& queue, lease_state const& from, time_point now) noexcept {
  if (queue.waiters.empty() || from.tokens_left <= 0 || queue.lock_recipe().sharing != sharing::exclusive)
    return false;
  if (from.trace_said) return false;
  auto const& wanted = queue.waiters.front().options->options;
  if (std::cmp_greater_equal(queue.handoffs, wanted.handoff_limit) ||
      now - queue.held_here_since >= wanted.handoff_time)
    return false;
  if (!may_inherit(wanted, from.options())) return false;
  auto const remaining = from.deadline() - now;
  if (remaining >= wanted.ttl / 2) return true;
  // A lease granted by message starts out short; any other short lease has a renewal without a reply.
  return !from.renewing && remaining >= std::min<std::chrono::nanoseconds>(wanted.ttl / 2, shortest_handover);
}

bool may_pass(lock_queue const& queue, bool by_message) noexcept {
  return queue.lock_recipe().pass != nullptr && by_message &&
         !queue.waiters.front().options->wants_acknowledgement();
}

bool taken_away(loss_cause cause) noexcept {
  return cause == loss_cause::taken_over || cause == loss_cause::key_gone || cause == loss_cause::forced;
}

bool keeps_key(lease_state const& lease) noexcept {
  return lease.options().keep && !taken_away(lease.cause());
}

bool still_to_release(lease_state const& lease, time_point now) noexcept {
  // At a limit, or when its release was requested; and of several names perhaps only one is gone.
  auto const cause = lease.cause();
  auto const may_be_left = cause == loss_cause::limit_reached ||
                           (taken_away(cause) && lease.queue().lock_recipe().several != nullptr);
  auto const may_have_it = cause == loss_cause::forced || (may_be_left && !lease.options().keep);
  return may_have_it && now < lease.deadline();
}

request_patience patience_of(contender const& asking, waiter const& first, milliseconds patience,
                             time_point now) noexcept {
  using net::retry_policy;
  if (asking.answered || first.patient_until == time_point::max())
    return {.while_down = retry_policy::endless,
            .give_up = patience.count() > 0 ? now + patience : time_point::max()};
  if (first.patient_until > now)
    return {.while_down = retry_policy::endless, .give_up = first.patient_until, .of_first = true};
  // It has waited behind a holder of its process: that isn't what the patience is for.
  if (patience.count() > 0 && !first.tries_only)
    return {.while_down = retry_policy::endless, .give_up = now + patience};
  return {.while_down = first.tries_only ? retry_policy::little : retry_policy::steady};
}

bool waits_ahead(lock_queue const& other, time_point came_at) noexcept {
  auto const* const waiting = other.contender.get();
  return waiting != nullptr && waiting->contended && !waiting->trouble && !other.waiters.empty() &&
         other.waiters.front().came_at < came_at;
}

bool has_place_of_another(lock_queue const& queue) noexcept {
  auto const& contender = *queue.contender;
  return queue.lock_recipe().order == order::strict && contender.joined &&
         contender.first_came_at != queue.waiters.front().came_at;
}

bool asked_for_something_else(lock_queue const& queue) noexcept {
  auto const& contender = *queue.contender;
  auto const asked = contender.ttl != milliseconds{};
  return asked && was_for_another(contender, queue.waiters.front());
}

std::chrono::nanoseconds time_to_recheck(busy const& seen, milliseconds recheck) noexcept {
  if (broken("L1")) return std::chrono::hours{1};
  if (seen.pttl.count() < 0) return recheck;
  auto const position = std::max<std::int64_t>(seen.ahead, 0) + 1;
  return std::min(recheck, seen.pttl + expiry_slack * position);
}

std::chrono::nanoseconds time_to_poll(busy const& seen, std::chrono::nanoseconds pause) noexcept {
  if (seen.pttl.count() < 0) return pause;
  return std::min<std::chrono::nanoseconds>(pause, seen.pttl + expiry_slack);
}

time_point end_of_sleep(waiter const& first, std::chrono::nanoseconds pause, time_point now) noexcept {
  return first.last_look > now ? std::min(now + pause, first.last_look) : now + pause;
}

}  // namespace holdfast::engine
