#include "engine/contention/acquire_replies.hpp"

#include <new>
#include <string>
#include <variant>

#include "engine/failure.hpp"

namespace holdfast::engine {

void acquire_replies::on_answer(lock_queue& queue, std::uint64_t number,
                                answer<verdict> const& result) noexcept {
  if (!is_contender(queue, number)) {
    requests_.drop_orphan(queue, number);
    return;
  }
  lock_queue_ptr const pin{&queue};
  queue.contender->current = contender::state::waiting;
  try {
    if (auto const* const found = result.outcome()) {
      auto& contender = *queue.contender;
      contender.answered = true;
      contender.unconfirmed = false;
      contender.trouble.reset();
      on_verdict(queue, *found, result.sent_at);
    } else if (auto const* const refusal = result.refusal()) {
      on_refused(queue, *refusal);
    } else {
      on_failed(queue, *result.failure());
    }
  } catch (std::bad_alloc const&) {
    contenders_.ask_again_soon(queue, number);
  }
}

void acquire_replies::on_verdict(lock_queue& queue, verdict const& found, time_point sent_at) {
  if (auto const* const grant = std::get_if<granted>(&found)) {
    grants_.on_granted(queue, *grant, sent_at, queue.contender->ttl);
  } else {
    on_busy(queue, std::get<busy>(found), sent_at);
  }
}

void acquire_replies::on_busy(lock_queue& queue, busy const& reply, time_point sent_at) {
  lock_queue_ptr const pin{&queue};
  auto& contender = *queue.contender;
  auto const asked_to_wait = reply.ahead >= 0;
  contender.last = {reply, boot_clock::now()};
  contender.current = contender::state::waiting;
  if (ghosts_.clear(queue, reply.holder)) {
    requests_.send(queue);
    return;
  }
  callers_.finish_tries(queue, nullptr);
  if (queue.waiters.empty() || notifications_.can_only_fail(queue)) {
    contenders_.fail_all(queue, notifications_.refusal(queue));
    return;
  }
  if (requests_.replace_contender(queue)) return;
  if (contender.ticket.empty() && contender.asked_at == time_point{}) ++stats_.waits;
  presence_.touch();
  contender.asked_at = sent_at;
  contender.counter = reply.counter;
  if (asked_to_wait) contender.ticket = std::to_string(reply.ticket);
  if (contender.woken || (notifications_.by_message(queue) && !contender.requested_join)) {
    requests_.send(queue);
    return;
  }
  requests_.wait_for_wake_up(queue, reply);
}

void acquire_replies::on_failed(lock_queue& queue, failed const& failure) {
  lock_queue_ptr const pin{&queue};
  auto& contender = *queue.contender;
  contender.current = contender::state::waiting;
  // It is unknown whether the request was carried out: withdrawing makes sure that it leaves no traces.
  contender.unconfirmed = contender.unconfirmed || failure.sent;
  contender.joined = contender.answered || contender.unconfirmed;
  if (!contender.endless && callers_.fail_impatient(queue, failure.reason)) {
    requests_.send(queue);  // the caller that the request was for waits for less than the others
  } else {
    contenders_.fail_all(queue, failure.reason);
  }
}

void acquire_replies::on_refused(lock_queue& queue, refused const& refusal) {
  auto& contender = *queue.contender;
  contender.current = contender::state::waiting;
  // An earlier copy of this request, or an earlier request without an outcome, may have been carried out.
  contender.unconfirmed = contender.unconfirmed || refusal.resent;
  contender.joined = (contender.answered && contender.joined) || contender.unconfirmed;
  auto const reason = explain(refusal.text, queue, client_);
  if (!is_transient(refusal.text)) {
    contenders_.fail_all(queue, reason);
    return;
  }
  lock_queue_ptr const pin{&queue};
  callers_.finish_tries(queue, reason);
  if (queue.waiters.empty()) {
    contenders_.withdraw(queue);
  } else {
    requests_.wait_out(queue, reason);
  }
}

}  // namespace holdfast::engine
