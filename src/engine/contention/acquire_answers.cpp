#include "engine/contention/acquire_answers.hpp"

#include <new>
#include <string>
#include <variant>

#include "engine/failure.hpp"

namespace holdfast::engine {

namespace {

/// Whether a copy of the request may still be carried out.
bool leaves_copies(answer<verdict> const& result) noexcept {
  return result.resent || (result.failure() != nullptr && result.failure()->sent);
}

}  // namespace

void acquire_answers::on_answer(lock_queue& queue, std::uint64_t number, answer<verdict> const& result,
                                time_point now) noexcept {
  if (!is_contender(queue, number)) {
    requests_.drop_orphan(queue, number, leaves_copies(result), now);
    return;
  }
  lock_queue_ptr const pin{&queue};
  queue.contender->current = contender::state::waiting;
  if (leaves_copies(result)) queue.contender->policy.copied = true;
  if (queue.contender->fast && !fast_path_.decides(queue, result, now)) {
    on_undecided(queue, result, now);
    return;
  }
  try {
    if (auto const* const found = result.outcome()) {
      auto& contender = *queue.contender;
      contender.answered = true;
      contender.unconfirmed = false;
      contender.trouble.reset();
      on_verdict(queue, *found, result.sent_at, now);
    } else if (auto const* const refusal = result.refusal()) {
      on_refused(queue, *refusal, now);
    } else {
      on_failed(queue, *result.failure(), now);
    }
  } catch (std::bad_alloc const&) {
    contenders_.ask_again_soon(queue, number, now);
  }
}

/// The answer to a fast request doesn't decide. That request may have taken the lock, unless it was never
/// sent, or found another holder.
void acquire_answers::on_undecided(lock_queue& queue, answer<verdict> const& result,
                                   time_point now) noexcept {
  auto& contender = *queue.contender;
  auto const* const found = result.outcome();
  auto const* const seen = found != nullptr ? std::get_if<undecided>(found) : nullptr;
  auto const* const failure = result.failure();
  auto const untaken = (seen != nullptr && !seen->taken) || (failure != nullptr && !failure->sent);
  contender.answered = contender.answered || found != nullptr;
  contender.contended = true;
  contender.unconfirmed = !untaken;
  if (queue.waiters.empty()) {
    contender.taken = !untaken;
    contenders_.withdraw(queue, now);
  } else if (seen != nullptr && seen->overtook) {
    requests_.ask_anew(queue, now);  // the first waiter has it next, and the contender gets into the queue
  } else {
    requests_.send(queue, now);
  }
}

void acquire_answers::on_verdict(lock_queue& queue, verdict const& found, time_point sent_at,
                                 time_point now) {
  if (auto const* const grant = std::get_if<granted>(&found)) {
    grants_.on_granted(queue, *grant, sent_at, queue.contender->ttl, now);
  } else {
    on_busy(queue, std::get<busy>(found), sent_at, now);
  }
}

void acquire_answers::on_busy(lock_queue& queue, busy const& seen, time_point sent_at, time_point now) {
  lock_queue_ptr const pin{&queue};
  auto& contender = *queue.contender;
  if (seen.ahead == own_id_is_spent && !queue.waiters.empty()) {
    requests_.ask_anew(queue, now);
    return;
  }
  auto const asked_to_wait = seen.ahead >= 0;
  contender.last = {seen, now};
  contender.contended = true;
  queue.note_busy(now);
  contender.current = contender::state::waiting;
  if (ghosts_.clear(queue, seen.holder, now)) {
    requests_.send(queue, now);
    return;
  }
  if (auto const reason = explain_endless(seen, queue, client_)) {
    contenders_.fail_all(queue, reason, now);
    return;
  }
  auto const had_tries = !queue.tries.empty();
  callers_.finish_tries(queue, nullptr, now);
  if (queue.waiters.empty()) {
    if (had_tries) contender.policy.why = departure::timed_out;  // no caller was cancelled
    contenders_.withdraw(queue, now);
    return;
  }
  if (notifications_.can_only_fail(queue)) {
    contenders_.fail_all(queue, notifications_.refusal(queue), now);
    return;
  }
  callers_.note_waiting(queue, now);
  if (requests_.replace_contender(queue, now)) return;
  if (contender.ticket.empty() && contender.busy_sent_at == time_point{}) ++stats_.waits;
  presence_.touch(now);
  contender.busy_sent_at = sent_at;
  contender.newest_token = seen.counter;
  if (asked_to_wait && contender.was_listening && !contender.woken &&
      notifications_.hears(queue, contender.number))
    callers_.note_queued(queue, now);
  if (asked_to_wait) contender.ticket = std::to_string(seen.ticket);
  if (contender.woken || (notifications_.by_message(queue) && !contender.requested_join)) {
    requests_.send(queue, now);
    return;
  }
  requests_.wait_for_wake_up(queue, seen, now);
}

void acquire_answers::on_failed(lock_queue& queue, failed const& failure, time_point now) {
  lock_queue_ptr const pin{&queue};
  auto& contender = *queue.contender;
  contender.current = contender::state::waiting;
  // It is unknown whether the request was carried out: withdrawing makes sure that it leaves no traces.
  contender.unconfirmed = contender.unconfirmed || failure.sent;
  contender.joined = contender.answered || contender.unconfirmed;
  if (!contender.endless && is_outage(*failure.reason) &&
      callers_.fail_impatient(queue, failure.reason, now)) {
    requests_.send(queue, now);  // the caller that the request was for waits for less than the others
  } else {
    contenders_.fail_all(queue, failure.reason, now);
  }
}

void acquire_answers::on_refused(lock_queue& queue, refused const& refusal, time_point now) {
  auto& contender = *queue.contender;
  contender.current = contender::state::waiting;
  // An earlier copy of this request, or an earlier request without an outcome, may have been carried out.
  contender.unconfirmed = contender.unconfirmed || refusal.resent;
  contender.joined = (contender.answered && contender.joined) || contender.unconfirmed;
  auto const reason = explain(refusal.text, queue, client_);
  lock_queue_ptr const pin{&queue};
  if (!is_transient(refusal.text)) {
    // Of the lease that this caller has: the others have leases of their own.
    if (contender.in_place_of != 0 && reason->code() == errc::lost &&
        callers_.fail_in_place_of(queue, contender.in_place_of, reason, now)) {
      requests_.ask_anew(queue, now);
    } else {
      contenders_.fail_all(queue, reason, now);
    }
    return;
  }
  callers_.finish_tries(queue, reason, now);
  if (queue.waiters.empty()) {
    contenders_.withdraw(queue, now);
  } else {
    requests_.wait_out(queue, reason, now);
  }
}

}  // namespace holdfast::engine
