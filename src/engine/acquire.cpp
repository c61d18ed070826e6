// THE waiting loop: how a caller gets the lock, for every kind of lock.
//
// The callers of one name stand in a queue inside the client; the queue has at most one contender on the wire
// (contender.cpp). Replies and messages bring the same news, so every step may find that the other was
// faster.

#include <new>
#include <utility>

#include "engine/core.hpp"

namespace holdfast::engine {
namespace {

/// Grants in a row whose ttl was over when they came: once is a frozen process, so many are a ttl that can't
/// work.
constexpr int too_late = 5;

}  // namespace

waiter::waiter(lock_queue_ptr caller_queue, effective_options_ptr caller_options,
               std::function<void()> on_timeout)
    : queue{std::move(caller_queue)}, options{std::move(caller_options)}, time_up{std::move(on_timeout)} {}

waiter::~waiter() = default;

/// Afterwards the caller is in the queue, or finished.
void core::start(waiter& caller) noexcept {
  caller.since = boot_clock::now();
  ++stats_.waiting_now;
  try {
    queue(caller);
  } catch (std::bad_alloc const&) {
    if (caller.done) return;
    caller.failure = client_.no_memory;
    leave(caller);
  }
}

void core::queue(waiter& caller) {
  auto& queue = *caller.queue;
  if (exiting_elsewhere()) {
    if (caller.once) finish(caller);
    return;
  }
  auto const known_busy =
      queue.holder != nullptr || (queue.contender && queue.contender->current == contender::state::waiting);
  if (caller.once && known_busy) {
    finish(caller);
    return;
  }
  if (queue.waiters.empty() && join(caller)) return;
  queue.waiters.push_back(caller);
  if (caller.once) only_try(caller);
  if (queue.holder != nullptr) {
    ++stats_.waits;
    notifications_.listen_ahead(queue, queue.holder->number());
  } else if (!queue.contender) {
    open_contender(queue);
    send_acquire(queue);
  } else {
    if (queue.contender->current == contender::state::leaving) {
      queue.contender->current = contender::state::asking;
      (void)renew_contender(queue);
    }
    // The request under way may be that of a caller that waits through outages.
    if (caller.once && !caller.done)
      loop_.arm(caller.time_up,
                caller.since + client_.options.connect_timeout + client_.options.reply_timeout);
  }
}

/// Lets a caller go with its results in place. Afterwards it isn't in the queue any more.
void core::finish(waiter& caller) noexcept {
  if (!caller.lease && !caller.failure) busy_report_.note(caller, boot_clock::now());
  auto& queue = *caller.queue;
  if (caller.queued()) queue.waiters.erase(waiter_list::s_iterator_to(caller));
  caller.try_hook::unlink();
  caller.time_up.disarm();
  caller.done = true;
  --stats_.waiting_now;
  if (caller.lease) {
    ++stats_.acquired;
  } else if (!caller.failure && !caller.once) {
    ++stats_.timed_out;
  }
  caller.queue.reset();
  caller.finished();
}

/// The caller goes without the lock: its time is up, or it was cancelled.
void core::leave(waiter& caller) noexcept {
  lock_queue_ptr const queue = caller.queue;
  finish(caller);
  if (!queue->contender) return;
  if (queue->waiters.empty()) {
    withdraw(*queue);
  } else {
    (void)renew_contender(*queue);
  }
}

void core::time_up(waiter& caller) noexcept {
  auto const* const contender = caller.queued() ? caller.queue->contender.get() : nullptr;
  if (contender != nullptr && contender->trouble) {
    caller.failure = contender->trouble;
  } else if (contender != nullptr && contender->current == contender::state::asking) {
    // A server that couldn't be asked is no busy lock. Where the first reply is due it decides, unless it may
    // take as long as an outage. Where replicas have to acknowledge, each reply decides.
    caller.failure = backend_->down_because();
    auto const first_reply = !contender->answered && !caller.steadfast;
    if (!caller.failure && !caller.once && (first_reply || caller.options->acknowledged())) {
      only_try(caller);
      // The request waits through outages, as the server has replied before, or for other callers; this
      // caller doesn't.
      if (contender->endless)
        loop_.arm(caller.time_up,
                  boot_clock::now() + client_.options.reply_timeout + client_.options.connect_timeout);
      return;
    }
  }
  leave(caller);
}

/// The caller is in the queue, and doesn't wait beyond the next reply.
void core::only_try(waiter& caller) noexcept {
  caller.once = true;
  if (!caller.among_tries()) caller.queue->tries.push_back(caller);
}

/// Callers that only try have their reply: the lock is busy. Callers that wait are not looked at: a process
/// may have a million of them.
void core::finish_tries(lock_queue& queue, std::shared_ptr<error const> const& reason) noexcept {
  while (!queue.tries.empty()) {
    auto& caller = queue.tries.front();
    caller.failure = reason;
    finish(caller);
  }
}

/// Fails the callers that don't wait through outages from the start. True: others are left.
bool core::fail_impatient(lock_queue& queue, std::shared_ptr<error const> const& reason) noexcept {
  for (auto next = queue.waiters.begin(); next != queue.waiters.end();) {
    auto& caller = *next++;
    if (caller.steadfast && !caller.once) continue;
    caller.failure = reason;
    finish(caller);
  }
  return !queue.waiters.empty();
}

void core::fail_all(lock_queue& queue, std::shared_ptr<error const> const& reason) noexcept {
  lock_queue_ptr const pin{&queue};
  while (!queue.waiters.empty()) {
    auto& first = queue.waiters.front();
    first.failure = reason;
    finish(first);
  }
  if (queue.contender) withdraw(queue);
}

void core::on_verdict(lock_queue& queue, verdict const& result, time_point sent_at) {
  if (auto const* const grant = std::get_if<granted>(&result)) {
    on_granted(queue, *grant, sent_at, queue.contender->ttl);
  } else {
    on_busy(queue, std::get<busy>(result), sent_at);
  }
}

void core::on_granted(lock_queue& queue, granted const& grant, time_point sent_at, milliseconds ttl) {
  lock_queue_ptr const pin{&queue};
  auto& contender = *queue.contender;
  if (queue.waiters.empty()) {
    contender.joined = true;  // there is a lock to give back
    withdraw(queue);
    return;
  }
  auto& first = queue.waiters.front();
  auto const now = boot_clock::now();
  if (!queue.protocol().leased) {
    if (contender.amount == first.amount) {
      take_for_good(queue, grant.token, now);
    } else {
      ask_anew(queue);
    }
    return;
  }
  if (first.options->acknowledged() && !contender.acknowledged) {
    send_acquire(queue);  // the request, or grant, was for a caller that left, or needs no replicas
    return;
  }
  auto const deadline = deadline_of(sent_at, ttl);
  if (now >= deadline && ++contender.late >= too_late) {
    contender.joined = true;
    fail_all(queue, std::make_shared<error const>(
                        errc::unreachable, client_.url + ": the server's answers for " + queue.title() +
                                               " take longer than its ttl (" + std::to_string(ttl.count()) +
                                               " ms): use a longer one"));
    return;
  }
  auto const by_message = contender.current == contender::state::asking;  // while a request is under way
  if (now >= deadline || (ttl != first.options->options.ttl && !first.options->options.watchdog)) {
    // Too late, or not for as long as this caller wants: as the owner this client can ask again.
    if (by_message) {
      contender.woken = true;
    } else {
      send_acquire(queue);
    }
    return;
  }
  lease_state_ptr const lease{new lease_state{pin, first.options, contender.number, grant.token}};
  lease->set_deadline(deadline);
  lease->tokens_left = grant.count - 1;
  lease->provisional = ttl != first.options->options.ttl;
  if (first.options->options.watchdog) {
    lease->renew_at = std::min(sent_at + lease->effective().every, now + (deadline - now) / 2);
  }
  set_limits(*lease, now);
  if (by_message) late_responses_.expect(contender.number);
  if (queue.protocol().sharing != sharing::exclusive) holders_.open(*lease, now);
  // From here on nothing can fail.
  end_contender(queue);
  queue.since = now;
  queue.handoffs = 0;
  if (queue.protocol().sharing == sharing::exclusive) {
    give(queue, lease);
    finish_tries(queue, nullptr);
  } else {
    give(first, lease);
    serve_others(queue);
  }
}

/// A grant without a lease: the caller has what it wanted, and goes. Where the lock is open to all, all
/// callers go.
void core::take_for_good(lock_queue& queue, std::int64_t token, time_point now) {
  auto const number = queue.contender->number;
  lease_state_ptr lease{
      new lease_state{lock_queue_ptr{&queue}, queue.waiters.front().options, number, token}};
  end_contender(queue);
  queue.since = now;
  while (lease) {
    auto& first = queue.waiters.front();
    lease->set_released();
    first.lease.swap(lease);
    finish(first);
    lease.reset();
    // Without memory the callers that are left ask by themselves.
    if (queue.protocol().sharing == sharing::open_to_all && !queue.waiters.empty())
      lease.reset(new (std::nothrow)
                      lease_state{lock_queue_ptr{&queue}, queue.waiters.front().options, number, token});
  }
  serve_others(queue);
}

/// Where several may have the lock, the next caller asks as soon as the caller before it has got it.
void core::serve_others(lock_queue& queue) noexcept {
  try {
    while (!queue.waiters.empty() && join(queue.waiters.front())) {
    }
  } catch (std::bad_alloc const&) {
    // The next caller gets an acquisition of its own.
  }
  if (!queue.waiters.empty() && !queue.contender) begin_contending(queue, true);
}

/// Gives the caller a share in an acquisition of this process. False: there is none.
bool core::join(waiter& caller) {
  auto& queue = *caller.queue;
  if (queue.protocol().sharing != sharing::shared) return false;
  auto const lease = holders_.join(queue, caller.options, boot_clock::now());
  if (!lease) return false;
  ++stats_.handed_over;
  give(caller, lease);
  return true;
}

/// For a lease that begins now, before its caller has it.
void core::set_limits(lease_state& lease, time_point now) {
  auto const& options = lease.options();
  lease.renewals_left = options.max_renewals > 0 ? options.max_renewals : -1;
  if (options.max_hold.count() > 0) lease.set_limit(now + options.max_hold);
}

/// The lock is this process's, and its first caller gets it.
void core::give(lock_queue& queue, lease_state_ptr const& lease) noexcept {
  queue.holder = lease.get();
  give(queue.waiters.front(), lease);
}

void core::give(waiter& caller, lease_state_ptr const& lease) noexcept {
  ++stats_.held_now;
  renewer_.add(*lease);
  presence_.touch();
  caller.lease = lease;
  finish(caller);
}

void core::on_busy(lock_queue& queue, busy const& busy_reply, time_point sent_at) {
  lock_queue_ptr const pin{&queue};
  auto& contender = *queue.contender;
  auto const asked_to_wait = busy_reply.ahead >= 0;
  contender.last = {busy_reply, boot_clock::now()};
  contender.current = contender::state::waiting;
  if (clear_ghost(queue, busy_reply.holder)) return;
  finish_tries(queue, nullptr);
  if (queue.waiters.empty() || notifications_.can_only_fail(queue)) {
    fail_all(queue, notifications_.refusal(queue));
    return;
  }
  if (renew_contender(queue)) return;
  if (contender.ticket.empty() && contender.asked_at == time_point{}) ++stats_.waits;
  presence_.touch();
  contender.asked_at = sent_at;
  contender.counter = busy_reply.counter;
  if (asked_to_wait) contender.ticket = std::to_string(busy_reply.ticket);
  if (contender.woken || (notifications_.by_message(queue) && !contender.requested_join)) {
    send_acquire(queue);
    return;
  }
  sleep(queue, busy_reply);
}

}  // namespace holdfast::engine
