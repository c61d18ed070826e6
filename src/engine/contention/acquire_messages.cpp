#include "engine/contention/acquire_messages.hpp"

#include <algorithm>
#include <utility>

#include "engine/contention/decisions.hpp"

namespace holdfast::engine {

void acquire_messages::on_message(std::string const& channel, turn_message const& message, time_point now) {
  auto* const queue = queues_.contending(message.number);
  if (queue == nullptr) {
    if (!message.for_it_alone && notifications_.is_inbox(channel, message.name))
      ghosts_.answer_for(message.number, message.name, now);
    return;
  }
  auto const own = notifications_.channels_of(*queue, queue->contender->owner);
  if (std::ranges::find(own, channel) == own.end()) return;
  if (message.grant) {
    on_grant(*queue, *message.grant, now);
  } else {
    wake_up(*queue, now);
  }
}

void acquire_messages::on_woken(std::uint64_t number, time_point now) {
  if (auto* const queue = queues_.contending(number)) wake_up(*queue, now);
}

void acquire_messages::on_open(std::uint64_t number, time_point now) {
  auto* const queue = queues_.contending(number);
  if (queue == nullptr) return;
  if (std::exchange(queue->contender->listening, true)) callers_.note_not_certain(*queue);
  wake_up(*queue, now);
}

void acquire_messages::wake_up(lock_queue& queue, time_point now) noexcept {
  if (queue.contender->current == contender::state::waiting) {
    requests_.send(queue, now);
  } else {
    queue.contender->woken = true;
  }
}

void acquire_messages::on_grant(lock_queue& queue, granted const& grant, time_point now) {
  auto const& contender = *queue.contender;
  if (contender.current == contender::state::leaving) return;  // the request under way finds the lock ours
  if (!believes(queue, grant, trusted_, now)) {
    wake_up(queue, now);
    return;
  }
  ++stats_.granted;
  auto by_message = grant;
  by_message.by_message = true;
  grants_.on_granted(queue, by_message, contender.busy_sent_at, ttl_by_message(contender), now);
}

}  // namespace holdfast::engine
