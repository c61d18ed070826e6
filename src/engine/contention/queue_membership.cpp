#include "engine/contention/queue_membership.hpp"

#include <new>

#include "engine/failure.hpp"

namespace holdfast::engine {
namespace {

std::shared_ptr<error const> unanswered_request(lock_queue const& queue,
                                                client_constants const& client) noexcept {
  try {
    return std::make_shared<error const>(
        errc::unreachable,
        client.url + ": the server hasn't answered a request for " + queue.title() + " in time");
  } catch (std::bad_alloc const&) {
    return client.no_memory;
  }
}

}  // namespace

void queue_membership::enter(waiter& caller, time_point now) noexcept {
  callers_.begin(caller, now);
  try {
    enqueue(caller, now);
  } catch (std::bad_alloc const&) {
    if (caller.done) return;
    caller.failure = client_.no_memory;
    leave(caller, now);
  }
}

void queue_membership::enqueue(waiter& caller, time_point now) {
  auto& queue = *caller.queue;
  if (exiting_elsewhere()) {
    if (caller.tries_only) callers_.finish(caller, now);
    return;
  }
  auto const behind_other_side = requests_.gives_way(queue, now);
  auto const known_busy = behind_other_side || queue.holder != nullptr ||
                          (queue.contender && queue.contender->current == contender::state::waiting);
  if (caller.tries_only && known_busy) {
    callers_.finish(caller, now);
    return;
  }
  if (queue.waiters.empty() && !behind_other_side && grants_.join(caller, now)) return;
  queue.waiters.push_back(caller);
  if (caller.tries_only) callers::make_try(caller);
  if (queue.holder != nullptr) {
    ++stats_.waits;
    callers_.note_waiting(queue, now);
    notifications_.listen_ahead(queue, queue.holder->number(), now);
  } else if (!queue.contender) {
    contenders_.open(queue, now);
    requests_.send(queue, now);
  } else {
    if (queue.contender->current == contender::state::waiting) callers_.note_waiting(queue, now);
    if (queue.contender->current == contender::state::leaving) {
      queue.contender->current = contender::state::asking;
      (void)requests_.replace_contender(queue, now);
    }
    // The request under way may be that of a caller that waits longer for the server.
    auto const may_go_unanswered =
        caller.unlimited() && !queue.contender->answered && caller.patient_until != time_point::max();
    if ((caller.tries_only || may_go_unanswered) && !caller.done)
      loop_.arm(caller.time_up, end_without_reply(caller, now));
  }
}

void queue_membership::leave(waiter& caller, time_point now) noexcept {
  lock_queue_ptr const queue = caller.queue;
  auto const why = caller.failure ? departure::left : departure::timed_out;
  callers_.finish(caller, now);
  if (!queue->contender) return;
  queue->contender->policy.why = why;
  contenders_.let_other_side_ask(*queue, now);
  if (queue->waiters.empty()) {
    contenders_.withdraw(*queue, now);
  } else {
    (void)requests_.replace_contender(*queue, now);
  }
}

/// How long a caller whose time is up waits for a reply all the same.
milliseconds queue_membership::time_for_reply(waiter const& caller) const noexcept {
  auto const& options = client_.options;
  auto const usual = options.connect_timeout + options.reply_timeout;
  // A WAIT, and one before it, take less than reply_timeout each.
  return caller.options->wants_acknowledgement() ? usual + options.reply_timeout : usual;
}

/// When a caller that doesn't wait for the lock, or not for the server, goes without a reply.
time_point queue_membership::end_without_reply(waiter const& caller, time_point now) const noexcept {
  return caller.patient_until > now ? caller.patient_until : now + time_for_reply(caller);
}

void queue_membership::on_time_up(waiter& caller, time_point now) noexcept {
  auto const* const contender = caller.queued() ? caller.queue->contender.get() : nullptr;
  if (caller.unlimited()) {  // only its time for the first reply is limited
    if (contender == nullptr || contender->answered || contender->trouble) return;
    if (contender->current != contender::state::asking) {
      loop_.arm(caller.time_up, end_without_reply(caller, now));
      return;
    }
  }
  auto const waits_for_server =
      contender != nullptr && !contender->answered && caller.patient_until != time_point::max();
  if (waits_for_server && caller.patient_until > now) {
    callers::make_try(caller);
    loop_.arm(caller.time_up, caller.patient_until);
    return;
  }
  if (contender != nullptr && contender->trouble) {
    caller.failure = contender->trouble;
  } else if (contender != nullptr && contender->current == contender::state::asking) {
    // A request is under way. If the server can't be asked, the caller hears of that: the lock isn't busy.
    // Otherwise the caller waits for this reply, for time_for_reply() at most, if it is the first one, or if
    // replicas have to acknowledge.
    caller.failure = after_waiting(backend_.down_because(), now - caller.came_at);
    auto const first_reply = waits_for_server;
    if (!caller.failure && !caller.tries_only && !caller.unlimited() &&
        (first_reply || caller.options->wants_acknowledgement())) {
      callers::make_try(caller);
      caller.patient_until = time_point::min();
      // The request itself may last longer: through an outage, or while the server loads its data.
      loop_.arm(caller.time_up, now + time_for_reply(caller));
      return;
    }
    if (!caller.failure && first_reply) caller.failure = unanswered_request(*caller.queue, client_);
  }
  leave(caller, now);
}

void queue_membership::begin_exit(time_point now) noexcept {
  exiting_ = std::this_thread::get_id();
  queues_.for_each([this, now](lock_queue& queue) {
    queue.waiters.clear();
    queue.tries.clear();
    if (queue.contender) contenders_.withdraw(queue, now);
  });
}

void queue_membership::fail_all(std::shared_ptr<error const> const& reason, time_point now) noexcept {
  queues_.for_each([&](lock_queue& queue) { contenders_.fail_all(queue, reason, now); });
}

}  // namespace holdfast::engine
