// THE waiting loop: how a caller gets the lock, for every kind of lock.
//
// Callers of one name stand in line inside the client; the line has at most one bid on the wire (bid.cpp).
// Asking and being told are two sources of the same news, so every step may find that the other was faster.

#include <new>
#include <utility>

#include "engine/core.hpp"

namespace holdfast::engine {
namespace {

/// Grants in a row whose ttl was over when they came: once is a frozen process, so many are a ttl that can't
/// work.
constexpr int too_late = 5;

}  // namespace

waiter::waiter(lock_queue_ptr at, effective_options_ptr terms, std::function<void()> when_time_is_up)
    : queue{std::move(at)}, options{std::move(terms)}, time_up{std::move(when_time_is_up)} {}

waiter::~waiter() = default;

/// It is in line, or finished.
void core::start(waiter& who) noexcept {
  who.since = boot_clock::now();
  ++stats_.waiting_now;
  try {
    queue(who);
  } catch (std::bad_alloc const&) {
    if (who.done) return;
    who.failure = no_memory_;
    leave(who);
  }
}

void core::queue(waiter& who) {
  auto& at = *who.queue;
  if (exiting_elsewhere()) {
    if (who.once) finish(who);
    return;
  }
  auto const known_busy =
      at.holder != nullptr || (at.contender && at.contender->current == contender::state::waiting);
  if (who.once && known_busy) {
    finish(who);
    return;
  }
  if (at.waiters.empty() && join(who)) return;
  at.waiters.push_back(who);
  if (who.once) only_try(who);
  if (at.holder != nullptr) {
    ++stats_.waits;
    listen_ahead(at);
  } else if (!at.contender) {
    open_contender(at);
    send_acquire(at);
  } else {
    if (at.contender->current == contender::state::leaving) {
      at.contender->current = contender::state::asking;
      (void)renew_contender(at);
    }
    // The request under way may be somebody's who waits through outages.
    if (who.once && !who.done)
      loop_.arm(who.time_up, who.since + options_.connect_timeout + options_.reply_timeout);
  }
}

/// Lets a caller go with whatever is in place. It isn't in the line any more afterwards.
void core::finish(waiter& who) noexcept {
  if (!who.lease && !who.failure) note_busy(who);
  auto& at = *who.queue;
  if (who.queued()) at.waiters.erase(waiter_list::s_iterator_to(who));
  who.try_hook::unlink();
  who.time_up.disarm();
  who.done = true;
  --stats_.waiting_now;
  if (who.lease) {
    ++stats_.acquired;
  } else if (!who.failure && !who.once) {
    ++stats_.timed_out;
  }
  who.queue.reset();
  who.finished();
}

/// The caller goes without the lock: its time is up, or it was cancelled.
void core::leave(waiter& who) noexcept {
  lock_queue_ptr const at = who.queue;
  finish(who);
  if (!at->contender) return;
  if (at->waiters.empty()) {
    withdraw(*at);
  } else {
    (void)renew_contender(*at);
  }
}

void core::time_up(waiter& who) noexcept {
  auto const* const mine = who.queued() ? who.queue->contender.get() : nullptr;
  if (mine != nullptr && mine->trouble) {
    who.failure = mine->trouble;
  } else if (mine != nullptr && mine->current == contender::state::asking) {
    // A server that couldn't be asked is no busy lock. One that was, and has yet to give its first answer,
    // decides, unless it may take as long as an outage; and where replicas have to acknowledge, whether they
    // do decides each time.
    who.failure = servers_->down_because();
    auto const first_answer = !mine->answered && !who.steadfast;
    if (!who.failure && !who.once && (first_answer || who.options->acknowledged())) {
      only_try(who);
      // Once it has answered, or where others wait through outages from the start: not this one.
      if (mine->endless)
        loop_.arm(who.time_up, boot_clock::now() + options_.reply_timeout + options_.connect_timeout);
      return;
    }
  }
  leave(who);
}

/// It is in line, and doesn't wait beyond the next answer.
void core::only_try(waiter& who) noexcept {
  who.once = true;
  if (!who.among_tries()) who.queue->tries.push_back(who);
}

/// Those that only try have their answer: it's somebody else's. Those that wait are not looked at: a process
/// may have a million of them.
void core::finish_tries(lock_queue& at, std::shared_ptr<error const> const& why) noexcept {
  while (!at.tries.empty()) {
    auto& who = at.tries.front();
    who.failure = why;
    finish(who);
  }
}

/// Those who don't wait through outages from the start. True: others are left.
bool core::fail_impatient(lock_queue& at, std::shared_ptr<error const> const& why) noexcept {
  for (auto next = at.waiters.begin(); next != at.waiters.end();) {
    auto& who = *next++;
    if (who.steadfast && !who.once) continue;
    who.failure = why;
    finish(who);
  }
  return !at.waiters.empty();
}

void core::fail_all(lock_queue& at, std::shared_ptr<error const> const& why) noexcept {
  lock_queue_ptr const pin{&at};
  while (!at.waiters.empty()) {
    auto& first = at.waiters.front();
    first.failure = why;
    finish(first);
  }
  if (at.contender) withdraw(at);
}

void core::on_verdict(lock_queue& at, verdict const& what, time_point sent_at) {
  if (auto const* const yes = std::get_if<granted>(&what)) {
    on_granted(at, *yes, sent_at, at.contender->ttl);
  } else {
    on_busy(at, std::get<busy>(what), sent_at);
  }
}

void core::on_granted(lock_queue& at, granted const& what, time_point sent_at, milliseconds ttl) {
  lock_queue_ptr const pin{&at};
  auto& mine = *at.contender;
  if (at.waiters.empty()) {
    mine.joined = true;  // there is something to give back
    withdraw(at);
    return;
  }
  auto& first = at.waiters.front();
  auto const now = boot_clock::now();
  if (!at.protocol().leased) {
    if (mine.amount == first.amount) {
      take_for_good(at, what.token, now);
    } else {
      ask_anew(at);
    }
    return;
  }
  if (first.options->acknowledged() && !mine.acknowledged) {
    send_acquire(at);  // it was asked for, or passed on, to somebody who left, or who needs no replicas
    return;
  }
  auto const deadline = deadline_of(sent_at, ttl);
  if (now >= deadline && ++mine.late >= too_late) {
    mine.joined = true;
    fail_all(at, std::make_shared<error const>(
                     errc::unreachable, url() + ": the server's answers for " + at.title() +
                                            " take longer than its ttl (" + std::to_string(ttl.count()) +
                                            " ms): use a longer one"));
    return;
  }
  auto const by_message = mine.current == contender::state::asking;  // while a request is under way
  if (now >= deadline || (ttl != first.options->options.ttl && !first.options->options.watchdog)) {
    // Too late, or not for so long as this caller wants: as its owner we can ask again.
    if (by_message) {
      mine.woken = true;
    } else {
      send_acquire(at);
    }
    return;
  }
  lease_state_ptr const lease{new lease_state{pin, first.options, mine.number, what.token}};
  lease->set_deadline(deadline);
  lease->tokens_left = what.count - 1;
  lease->provisional = ttl != first.options->options.ttl;
  if (first.options->options.watchdog) {
    lease->renew_at = std::min(sent_at + lease->effective().every, now + (deadline - now) / 2);
  }
  set_limits(*lease, now);
  if (by_message) outrun_.emplace(mine.number, time_point{});
  if (at.protocol().sharing != sharing::exclusive) join_holders(at, *lease, now);
  // From here on nothing can fail.
  end_contender(at);
  at.since = now;
  at.handoffs = 0;
  if (at.protocol().sharing == sharing::exclusive) {
    give(at, lease);
    finish_tries(at, nullptr);
  } else {
    give(first, lease);
    serve_others(at);
  }
}

/// Nobody holds it: the caller has what it came for, and goes. Through a gate all go.
void core::take_for_good(lock_queue& at, std::int64_t token, time_point now) {
  auto const number = at.contender->number;
  lease_state_ptr lease{new lease_state{lock_queue_ptr{&at}, at.waiters.front().options, number, token}};
  end_contender(at);
  at.since = now;
  while (lease) {
    auto& first = at.waiters.front();
    lease->set_released();
    first.lease.swap(lease);
    finish(first);
    lease.reset();
    // Without memory those that are left ask by themselves.
    if (at.protocol().sharing == sharing::open_to_all && !at.waiters.empty())
      lease.reset(new (std::nothrow)
                      lease_state{lock_queue_ptr{&at}, at.waiters.front().options, number, token});
  }
  serve_others(at);
}

/// Where several may have it, the next caller asks as soon as the one before it has got it.
void core::serve_others(lock_queue& at) noexcept {
  try {
    while (!at.waiters.empty() && join(at.waiters.front())) {
    }
  } catch (std::bad_alloc const&) {
    // The next one has an acquisition of its own.
  }
  if (!at.waiters.empty() && !at.contender) begin_contending(at, true);
}

/// A caller that finds an acquisition of this process to share.
bool core::join(waiter& who) {
  auto& at = *who.queue;
  if (at.protocol().sharing != sharing::shared) return false;
  auto const known = shared_holders_.find(&at);
  if (known == shared_holders_.end()) return false;
  auto const now = boot_clock::now();
  auto const lease = known->second.join(at, who.options, now);
  if (!lease) return false;
  ++stats_.handed_over;
  give(who, lease);
  return true;
}

/// A lease that is the first of its acquisition, where several may have the lock.
void core::join_holders(lock_queue& at, lease_state& first, time_point now) {
  auto const [known, added] = shared_holders_.try_emplace(&at);
  try {
    known->second.open(first, now);
  } catch (...) {
    if (added) shared_holders_.erase(known);
    throw;
  }
}

/// Of a lease that begins now, before anybody knows it.
void core::set_limits(lease_state& lease, time_point now) {
  auto const& options = lease.options();
  lease.renewals_left = options.max_renewals > 0 ? options.max_renewals : -1;
  if (options.max_hold.count() > 0) lease.set_limit(now + options.max_hold);
}

/// The lock is this process's, and its first caller gets it.
void core::give(lock_queue& at, lease_state_ptr const& lease) noexcept {
  at.holder = lease.get();
  give(at.waiters.front(), lease);
}

void core::give(waiter& who, lease_state_ptr const& lease) noexcept {
  ++stats_.held_now;
  renewer_.add(*lease);
  presence_.touch();
  who.lease = lease;
  finish(who);
}

void core::on_busy(lock_queue& at, busy const& how, time_point sent_at) {
  lock_queue_ptr const pin{&at};
  auto& mine = *at.contender;
  auto const asked_to_wait = how.ahead >= 0;
  mine.last = {how, boot_clock::now()};
  mine.current = contender::state::waiting;
  if (clear_ghost(at, how.holder)) return;
  finish_tries(at, nullptr);
  auto const insists = !at.waiters.empty() && why_unheard(at) && wake_of(at) == wake::inbox;
  if (at.waiters.empty() || insists) {
    fail_all(at, why_unheard(at));
    return;
  }
  if (renew_contender(at)) return;
  if (mine.ticket.empty() && mine.asked_at == time_point{}) ++stats_.waits;
  presence_.touch();
  mine.asked_at = sent_at;
  mine.counter = how.counter;
  if (asked_to_wait) mine.ticket = std::to_string(how.ticket);
  if (mine.woken || (by_message(at) && !mine.requested_join)) {
    send_acquire(at);
    return;
  }
  sleep(at, how);
}

}  // namespace holdfast::engine
