// A queue's contender on the wire: its requests, its pauses between them, and how it leaves.

#include <algorithm>
#include <utility>

#include "engine/core.hpp"
#include "engine/failure.hpp"

namespace holdfast::engine {
namespace {

/// The pause after an error that passes by itself.
constexpr std::chrono::milliseconds trouble_floor{20};

/// Behind the end of the holder's ttl, for each place in the queue: Redis counts in whole milliseconds, and
/// the waiters ask one after the other, so that only one of them finds the lock free.
constexpr std::chrono::milliseconds expiry_slack{2};

}  // namespace

/// A contender for the first caller of the queue. The timer and the map point back at the queue, which is
/// pinned by the callers that the contender is for.
contender& core::open_contender(lock_queue& queue) {
  auto const& options = queue.waiters.front().options->options;
  auto const number = queues_.next_number();
  auto try_again = [this, &queue] {
    ++stats_.rechecks;
    send_acquire(queue);
  };
  auto opened = std::make_unique<contender>(number, client_.owner_id(number), std::move(try_again),
                                            backoff{std::min(options.poll_floor, client_.options.recheck),
                                                    std::min(options.poll_cap, client_.options.recheck)});
  opened->listening = notifications_.join(queue, number, opened->owner);
  try {
    queues_.add(queue, std::move(opened));
  } catch (...) {
    notifications_.leave(queue, number);
    throw;
  }
  return *queue.contender;
}

/// A contender that asks at once. When there is no memory for it, it is begun a little later.
void core::begin_contending(lock_queue& queue, bool answered) noexcept {
  try {
    open_contender(queue).answered = answered;
  } catch (std::bad_alloc const&) {
    mend_soon();
    return;
  }
  send_acquire(queue);
}

/// Nothing was sent for the contender with that number, for want of memory.
void core::on_unsent(lock_queue& queue, std::uint64_t number) noexcept {
  if (is_contender(queue, number)) queue.contender->current = contender::state::waiting;
  ask_again_soon(queue, number);
}

/// A step of the contender with that number failed for want of memory, and no request is under way.
void core::ask_again_soon(lock_queue& queue, std::uint64_t number) noexcept {
  if (!is_contender(queue, number)) {
    mend_soon();  // another contender may have to be begun
  } else if (queue.contender->current != contender::state::asking) {
    queue.contender->current = contender::state::waiting;
    queue.contender->trouble = client_.no_memory;
    finish_tries(queue, client_.no_memory);
    if (queue.waiters.empty()) {
      withdraw(queue);
    } else {
      loop_.arm(queue.contender->retry, boot_clock::now() + memory_pause);
    }
  }
}

void core::mend_soon() noexcept {
  if (!mending_.armed()) loop_.arm(mending_, boot_clock::now() + memory_pause);
}

/// A step failed halfway, or there was no memory to report that the server is another one. So besides the
/// work that is known to be undone, all leases are asked about, and all contenders ask again.
void core::on_torn() noexcept {
  look_again_ = true;
  mend_soon();
}

/// Needs no memory.
void core::mend() noexcept {
  auto const now = boot_clock::now();
  auto const look_again = std::exchange(look_again_, false);
  if (look_again) {
    renewer_.ask_about_all();
    pending_releases_.repeat();
  }
  queues_.for_each([&](lock_queue& queue) {
    if (queue.contender) {
      if (look_again && queue.contender->current == contender::state::waiting)
        loop_.arm(queue.contender->retry, now);
    } else if (!queue.waiters.empty() && queue.holder == nullptr) {
      begin_contending(queue);
    }
  });
}

/// The contender is over here; the server may still have traces of it.
void core::end_contender(lock_queue& queue) noexcept {
  auto const number = queue.contender->number;
  queues_.remove_contender(queue);
  notifications_.leave(queue, number);
}

/// Where the order is strict no caller inherits a place: if the contender may have the place of an earlier
/// caller, the first caller of the queue gets a new contender. The new one joins the server's queue before
/// the old one leaves, so that a grant which the old one has to give back goes to the first waiter by then.
bool core::renew_contender(lock_queue& queue) noexcept {
  auto const& old = *queue.contender;
  if (queue.protocol().order == order::barging || !old.joined || old.since == queue.waiters.front().since)
    return false;
  auto const number = old.number;
  auto const policy = old.policy;
  auto const answered = old.answered;
  auto const under_way = old.current != contender::state::waiting;
  end_contender(queue);
  begin_contending(queue, answered);
  if (!under_way)
    pending_releases_.abandon(queue, number, policy);  // otherwise it is an orphan, and its reply decides
  return true;
}

/// Callers for which there are enough copies get the lock; the others fail with the reason. False: the
/// contender asks again.
bool core::on_acknowledged(lock_queue& queue, std::uint64_t number, acknowledgement const& reached) noexcept {
  if (!is_contender(queue, number)) return true;  // without callers it is given back
  lock_queue_ptr const pin{&queue};
  queue.contender->current = contender::state::waiting;
  if (reached.elsewhere && !queue.waiters.empty()) {
    send_acquire(queue);
    return false;
  }
  for (auto next = queue.waiters.begin(); next != queue.waiters.end();) {
    auto& caller = *next++;
    auto const& options = caller.options->options;
    if (reached.enough(options) || (options.fsynced && !reached.of_disks)) continue;
    try {
      caller.failure = explain_lack(reached, options, queue.title(), client_.url);
    } catch (std::bad_alloc const&) {
      caller.failure = client_.no_memory;
    }
    finish(caller);
  }
  if (!queue.waiters.empty() && !reached.enough(queue.waiters.front().options->options)) {
    send_acquire(queue);  // as its owner, and with a WAIT for disks this time
    return false;
  }
  queue.contender->acknowledged = true;
  return true;
}

/// A reply to a contender that is over. A message brought the lock first, or the caller left and another one
/// got a contender of its own. Unless the lock is in use, or kept, the request may have left traces: taken
/// the lock for no caller, even when the release overtook it (they may trade places when the server has lost
/// its scripts), or joined the server's queue.
void core::drop_orphan(lock_queue& queue, std::uint64_t number) noexcept {
  auto const kept_until = late_responses_.take(number);
  if (kept_until == time_point{}) {
    if (!holders_.hold(queue, number)) pending_releases_.abandon(queue, number, notifications_.policy_of({}));
    return;
  }
  // If the last ttl overtook it in the same way, it has given the key its usual ttl.
  if (kept_until != time_point::max() && boot_clock::now() < kept_until)
    kept_keys_.set_last_ttl(queue, number, kept_until, kept_until);
}

acquire_request core::next_request(lock_queue& queue) {
  auto& contender = *queue.contender;
  auto const& first = queue.waiters.front();
  auto const& options = first.options->options;
  contender.ttl = options.ttl;
  contender.amount = first.amount;
  contender.requested_join = notifications_.by_message(queue) && !first.once;
  contender.policy = notifications_.policy_of(options);
  contender.since = first.since;
  return {.owner = contender.owner,
          .ttl = contender.ttl,
          .tokens = options.handoff_limit + 1,
          .amount = contender.amount,
          .join = contender.requested_join,
          .listening = contender.listening,
          .ticket = contender.ticket,
          .waited = std::chrono::duration_cast<std::chrono::microseconds>(boot_clock::now() - first.since),
          .newest = contender.counter,
          .policy = contender.policy};
}

void core::send_acquire(lock_queue& queue) noexcept {
  auto& contender = *queue.contender;
  auto const number = contender.number;
  contender.current = contender::state::asking;
  contender.woken = false;
  contender.acknowledged = false;
  contender.retry.disarm();
  try {
    try_send_acquire(queue);
  } catch (std::bad_alloc const&) {
    on_unsent(queue, number);
  }
}

void core::try_send_acquire(lock_queue& queue) {
  auto& contender = *queue.contender;
  auto const request = next_request(queue);
  contender.joined = contender.joined || (request.join && queue.protocol().queues);
  auto const& first = queue.waiters.front();
  auto const while_down = contender.answered || (first.steadfast && !first.once) ? net::retry_policy::endless
                          : first.once                                           ? net::retry_policy::little
                                                                                 : net::retry_policy::steady;
  contender.endless = while_down == net::retry_policy::endless;
  if (queue.waiters.front().options->acknowledged()) {
    acknowledgements_.acquire(queue.protocol(), queue.name(), request, first.options->options, while_down,
                              [this, pin = lock_queue_ptr{&queue}, number = contender.number](
                                  net::response&& response, acknowledgement const* reached) {
                                if (reached == nullptr || on_acknowledged(*pin, number, *reached))
                                  on_acquire_reply(*pin, number, response);
                              });
    return;
  }
  backend_->acquire(queue.protocol(), queue.name(), request,
                    [this, pin = lock_queue_ptr{&queue}, number = contender.number](
                        net::response&& response) { on_acquire_reply(*pin, number, response); },
                    {.while_down = while_down});
}

void core::on_acquire_reply(lock_queue& queue, std::uint64_t number, net::response const& response) noexcept {
  if (!is_contender(queue, number)) {
    drop_orphan(queue, number);
    return;
  }
  lock_queue_ptr const pin{&queue};
  queue.contender->current = contender::state::waiting;
  try {
    if (response.failure || response.reply.is_error()) {
      on_trouble(queue, response);
      return;
    }
    auto& contender = *queue.contender;
    contender.answered = true;
    contender.trouble.reset();
    on_verdict(queue, queue.protocol().read_acquire(response.reply), response.sent_at);
  } catch (std::bad_alloc const&) {
    ask_again_soon(queue, number);
  }
}

void core::on_trouble(lock_queue& queue, net::response const& response) {
  auto& contender = *queue.contender;
  contender.current = contender::state::waiting;
  if (response.failure) {
    // It is unknown whether the request was carried out: withdrawing makes sure that it leaves no traces.
    contender.joined = contender.answered || response.sent;
    lock_queue_ptr const pin{&queue};
    if (!contender.endless && fail_impatient(queue, response.failure)) {
      send_acquire(queue);  // the caller that the request was for waits for less than the others
    } else {
      fail_all(queue, response.failure);
    }
    return;
  }
  contender.joined = contender.answered && contender.joined;
  auto const reason = explain(response.reply, queue, client_.url);
  if (!passes(response.reply)) {
    fail_all(queue, reason);
    return;
  }
  lock_queue_ptr const pin{&queue};
  finish_tries(queue, reason);
  if (queue.waiters.empty()) {
    withdraw(queue);
    return;
  }
  contender.trouble = reason;
  loop_.arm(contender.retry, boot_clock::now() + trouble_floor + contender.pause.next(random_));
}

/// The grant isn't for the amount that the first caller wants: it is given back.
void core::ask_anew(lock_queue& queue) noexcept {
  auto const number = queue.contender->number;
  auto const policy = queue.contender->policy;
  end_contender(queue);
  pending_releases_.abandon(queue, number, policy);
  begin_contending(queue, true);
}

/// Until a message, the end of the holder's ttl, or the next re-check.
void core::sleep(lock_queue& queue, busy const& busy_reply) {
  auto& contender = *queue.contender;
  contender.current = contender::state::waiting;
  auto const now = boot_clock::now();
  std::chrono::nanoseconds pause = client_.options.recheck;
  if (notifications_.by_message(queue)) {
    if (!contender.listening) {
      contender.listening = notifications_.listen(queue, contender.number, contender.owner);
      if (contender.listening) {  // they were opened for another contender, perhaps after this request
        send_acquire(queue);
        return;
      }
    }
    if (busy_reply.pttl.count() >= 0) {
      auto const position = std::max<std::int64_t>(busy_reply.ahead, 0) + 1;
      pause = std::min<std::chrono::nanoseconds>(pause, busy_reply.pttl + expiry_slack * position);
    }
  } else {
    pause = contender.pause.next(random_);
    if (busy_reply.pttl.count() >= 0)
      pause = std::min<std::chrono::nanoseconds>(pause, busy_reply.pttl + expiry_slack);
  }
  // A message may have been lost, and the lock be free or even ours: each caller asks once more before it
  // leaves.
  auto const last_look = queue.waiters.front().last_look;
  loop_.arm(contender.retry, last_look > now ? std::min(now + pause, last_look) : now + pause);
}

/// No caller here wants the lock any more: leaves no traces, and passes on a wake-up that others may be
/// waiting for.
void core::withdraw(lock_queue& queue) noexcept {
  auto& contender = *queue.contender;
  if (contender.current != contender::state::waiting) {
    contender.current = contender::state::leaving;  // the reply to the request under way decides
    return;
  }
  auto const number = contender.number;
  auto const traces = contender.joined;
  auto const policy = contender.policy;
  end_contender(queue);
  if (traces) pending_releases_.abandon(queue, number, policy);
}

}  // namespace holdfast::engine
