#include "engine/contention/acquisitions.hpp"

#include <new>

namespace holdfast::engine {

void acquisitions::start(waiter& caller) noexcept {
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

void acquisitions::queue(waiter& caller) {
  auto& queue = *caller.queue;
  if (exiting_elsewhere()) {
    if (caller.once) callers_.finish(caller);
    return;
  }
  auto const known_busy =
      queue.holder != nullptr || (queue.contender && queue.contender->current == contender::state::waiting);
  if (caller.once && known_busy) {
    callers_.finish(caller);
    return;
  }
  if (queue.waiters.empty() && grants_.join(caller)) return;
  queue.waiters.push_back(caller);
  if (caller.once) callers::only_try(caller);
  if (queue.holder != nullptr) {
    ++stats_.waits;
    notifications_.listen_ahead(queue, queue.holder->number());
  } else if (!queue.contender) {
    contenders_.open(queue);
    requests_.send(queue);
  } else {
    if (queue.contender->current == contender::state::leaving) {
      queue.contender->current = contender::state::asking;
      (void)requests_.replace_contender(queue);
    }
    // The request under way may be that of a caller that waits through outages.
    if (caller.once && !caller.done)
      loop_.arm(caller.time_up,
                caller.since + client_.options.connect_timeout + client_.options.reply_timeout);
  }
}

void acquisitions::leave(waiter& caller) noexcept {
  lock_queue_ptr const queue = caller.queue;
  callers_.finish(caller);
  if (!queue->contender) return;
  if (queue->waiters.empty()) {
    contenders_.withdraw(*queue);
  } else {
    (void)requests_.replace_contender(*queue);
  }
}

void acquisitions::on_time_up(waiter& caller) noexcept {
  auto const* const contender = caller.queued() ? caller.queue->contender.get() : nullptr;
  if (contender != nullptr && contender->trouble) {
    caller.failure = contender->trouble;
  } else if (contender != nullptr && contender->current == contender::state::asking) {
    // A server that couldn't be asked is no busy lock. Where the first reply is due it decides, unless it may
    // take as long as an outage. Where replicas have to acknowledge, each reply decides.
    caller.failure = backend_.down_because();
    auto const first_reply = !contender->answered && !caller.steadfast;
    if (!caller.failure && !caller.once && (first_reply || caller.options->acknowledged())) {
      callers::only_try(caller);
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

void acquisitions::set_aside() noexcept {
  exiting_ = std::this_thread::get_id();
  queues_.for_each([this](lock_queue& queue) {
    queue.waiters.clear();
    queue.tries.clear();
    if (queue.contender) contenders_.withdraw(queue);
  });
}

void acquisitions::fail_all(std::shared_ptr<error const> const& reason) noexcept {
  queues_.for_each([&](lock_queue& queue) { contenders_.fail_all(queue, reason); });
}

}  // namespace holdfast::engine
