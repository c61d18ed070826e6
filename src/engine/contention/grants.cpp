#include "engine/contention/grants.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "base/broken.hpp"
#include "engine/contention/decisions.hpp"

namespace holdfast::engine {
namespace {

/// Grants in a row whose ttl was over when they came: once is a frozen process, so many are a ttl that can't
/// work.
constexpr int too_late = 5;

}  // namespace

void grants::on_granted(lock_queue& queue, granted const& grant, time_point sent_at, milliseconds ttl,
                        time_point now) {
  lock_queue_ptr const pin{&queue};
  queue.contender->taken = true;
  if (queue.waiters.empty()) {
    if (grant.token != 0 || queue.contender->policy.copied) queue.contender->note_told();
    contenders_.withdraw(queue, now);
    return;
  }
  switch (use_of_grant(queue, deadline_of(sent_at, ttl), ttl, client_.deployment.etcd, now)) {
    case grant_use::lease:
      make_lease(queue, grant, sent_at, ttl, now);
      return;
    case grant_use::for_good:
      if (is_good_for(queue.waiters.front(), sent_at)) {
        take_for_good(queue, grant.token, sent_at, now);
      } else {
        requests_.send(queue, now);  // the caller that the request was for has left
      }
      return;
    case grant_use::other_caller:
    case grant_use::copied:
      requests_.ask_anew(queue, now);
      return;
    case grant_use::unacknowledged:
      requests_.send(queue, now);  // the request, or grant, was for a caller that left, or needs no replicas
      return;
    case grant_use::expired:
      on_expired(queue, ttl, now);
      return;
    case grant_use::other_ttl:
      ask_again(queue, now);
      return;
  }
}

void grants::on_expired(lock_queue& queue, milliseconds ttl, time_point now) {
  auto& contender = *queue.contender;
  if (++contender.late < too_late) {
    ask_again(queue, now);
    return;
  }
  contenders_.fail_all(queue,
                       std::make_shared<error const>(
                           errc::unreachable, client_.url + ": the server's answers for " + queue.title() +
                                                  " take longer than its ttl (" +
                                                  std::to_string(ttl.count()) + " ms): use a longer one"),
                       now);
}

/// The grant isn't used. The contender asks again, and is granted the lock anew, since it is the owner.
void grants::ask_again(lock_queue& queue, time_point now) noexcept {
  auto& contender = *queue.contender;
  if (contender.current == contender::state::asking) {
    contender.woken = true;  // a message brought the grant, while a request is under way
  } else {
    requests_.send(queue, now);
  }
}

void grants::make_lease(lock_queue& queue, granted const& grant, time_point sent_at, milliseconds ttl,
                        time_point now) {
  auto const& contender = *queue.contender;
  auto& first = queue.waiters.front();
  auto const& wanted = first.options->options;
  // The first renewal sets the ttl that this caller wants, which may be a shorter one.
  auto const deadline = std::min(deadline_of(sent_at, ttl), deadline_of(now, wanted.ttl));
  auto const exclusive = queue.lock_recipe().sharing == sharing::exclusive;
  lease_state_ptr const lease{
      new lease_state{lock_queue_ptr{&queue}, first.options, contender.number, grant.token}};
  lease->set_deadline(deadline);
  lease->tokens_left = grant.count - 1;
  lease->provisional = ttl != wanted.ttl;
  if (wanted.watchdog) lease->renew_at = sent_at + lease->effective().renewal_interval;
  // Early in a short grant: a holder that lets go of its work in the last third of it, as `holdfast run`
  // does, must not do so because a busy machine held up the first renewal.
  if (wanted.watchdog && lease->provisional)
    lease->renew_at = std::min(lease->renew_at, now + (deadline - now) / 4);
  set_limits(*lease, now);
  // By a message, while a request is under way.
  if (contender.current == contender::state::asking) late_responses_.expect(contender.number);
  if (!exclusive) holders_.open(*lease, now);
  // From here on nothing can fail.
  fast_path_.note_granted(queue, grant, sent_at);
  queue.uncontended = !contender.contended && contender.busy_sent_at == time_point{};
  queue.taken_fast = contender.fast ? 1 : 0;
  contenders_.end(queue, now);
  queue.held_here_since = now;
  queue.handoffs = 0;
  if (exclusive) queue.holder = lease.get();
  if (grant.by_message) first.came_by = waiter::way::message;
  give(first, lease, now);
  if (exclusive) {
    callers_.finish_tries(queue, nullptr, now);
    callers_.note_waiting(queue, now);
  } else {
    serve_others(queue, now);
  }
}

/// A grant without a lease: the caller has what it wanted, and goes. Where the lock is open to all, all
/// callers go that came before the request was sent.
void grants::take_for_good(lock_queue& queue, std::int64_t token, time_point sent_at, time_point now) {
  auto const number = queue.contender->number;
  lease_state_ptr lease{
      new lease_state{lock_queue_ptr{&queue}, queue.waiters.front().options, number, token}};
  contenders_.end(queue, now);
  queue.held_here_since = now;
  // When it is gone, those that wait want to know who doesn't give it back.
  if (queue.lock_recipe().lasts) presence_.stay_for_a_day(now);
  while (lease) {
    auto& first = queue.waiters.front();
    lease->set_released();
    first.lease.swap(lease);
    callers_.finish(first, now);
    lease.reset();
    // Without memory the callers that are left ask by themselves.
    if (queue.lock_recipe().sharing == sharing::open_to_all && !queue.waiters.empty() &&
        is_good_for(queue.waiters.front(), sent_at))
      lease.reset(new (std::nothrow)
                      lease_state{lock_queue_ptr{&queue}, queue.waiters.front().options, number, token});
  }
  serve_others(queue, now);
}

/// Where several may have the lock, the next caller asks as soon as the caller before it has got it.
void grants::serve_others(lock_queue& queue, time_point now) noexcept {
  try {
    while (!queue.waiters.empty() && join(queue.waiters.front(), now)) {
    }
  } catch (std::bad_alloc const&) {
    // The next caller gets an acquisition of its own.
  }
  if (!queue.waiters.empty() && !queue.contender) requests_.begin(queue, now, true);
}

bool grants::join(waiter& caller, time_point now) {
  auto& queue = *caller.queue;
  if (queue.lock_recipe().sharing != sharing::shared) return false;
  auto const lease = holders_.join(queue, caller.options, now);
  if (!lease) return false;
  ++stats_.handed_over;
  caller.came_by = waiter::way::handoff;
  give(caller, lease, now);
  return true;
}

bool grants::hand_over(lock_queue& queue, lease_state& from, time_point now) noexcept try {
  if (!may_hand_over(queue, from, now)) return false;
  auto& next = queue.waiters.front();
  if (requests_.gives_way(queue, next.came_at)) return false;
  auto const step = from.token() == 0 || broken("S3") ? 0 : 1;  // 0: a kind without tokens
  auto const token = from.token() + step;
  lease_state_ptr const heir{new lease_state{&queue, next.options, from.number(), token}};
  heir->set_deadline(from.deadline());
  heir->renew_at =
      from.renew_at == time_point::max() ? now : from.renew_at;  // that one may have had all of its own
  heir->renewing = from.renewing;
  heir->provisional = from.provisional;
  heir->is_heir = true;
  heir->tokens_left = from.tokens_left - 1;
  set_limits(*heir, now);
  if (from.renewing) from.set_heir(heir);
  ++queue.handoffs;
  queue.uncontended = 0;
  ++stats_.handed_over;
  queue.holder = heir.get();
  next.came_by = waiter::way::handoff;
  give(next, heir, now);
  return true;
} catch (std::bad_alloc const&) {
  return false;
}

/// For a lease that begins now, before its caller has it.
void grants::set_limits(lease_state& lease, time_point now) {
  auto const& options = lease.options();
  lease.renewals_left = options.max_renewals > 0 ? options.max_renewals : -1;
  if (options.max_hold.count() > 0) lease.set_limit(now + options.max_hold);
}

void grants::give(waiter& caller, lease_state_ptr const& lease, time_point now) noexcept {
  ++stats_.held_now;
  renewer_.add(*lease, now);
  presence_.touch(now);
  if (caller.thread != 0) holders_.give_to(caller.thread, *lease);
  caller.lease = lease;
  callers_.finish(caller, now);
}

}  // namespace holdfast::engine
