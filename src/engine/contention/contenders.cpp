#include "engine/contention/contenders.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::engine {

contenders::contenders(reactor::loop& loop, client_constants const& client, client_stats& counts,
                       lock_queues& queues, callers& waiting, notifications& wake, pending_releases& releases,
                       events handlers)
    : loop_{loop},
      client_{client},
      stats_{counts},
      queues_{queues},
      callers_{waiting},
      notifications_{wake},
      pending_releases_{releases},
      events_{std::move(handlers)},
      mending_{[this] { events_.mend(); }} {}

/// The timer and `contenders_` point back at the queue, which is pinned by the callers that the contender is
/// for.
contender& contenders::open(lock_queue& queue, time_point now) {
  auto const& first = queue.waiters.front();
  auto const& options = first.options->options;
  auto const recheck = client_.options.recheck;
  auto const number = first.number != 0 ? first.number : queues_.next_number();
  auto try_again = [this, &queue] {
    ++stats_.rechecks;
    events_.retry(queue);
  };
  auto opened = std::make_unique<contender>(
      number, client_.owner_id(number), std::move(try_again),
      backoff{std::min(options.poll_floor, recheck), std::min(options.poll_cap, recheck)});
  opened->listening = notifications_.listen_if_open(queue, number, opened->owner, now);
  queues_.add(queue, std::move(opened));
  return *queue.contender;
}

void contenders::end(lock_queue& queue, time_point now) noexcept {
  auto const number = queue.contender->number;
  queues_.remove_contender(queue);
  notifications_.leave(queue, number, now);
  let_other_side_ask(queue, now);
}

/// From its timer, since this may be in the middle of a step of the other queue.
void contenders::let_other_side_ask(lock_queue const& queue, time_point now) noexcept {
  auto const* const side = queue.lock_recipe().other_side;
  auto const* const other = side == nullptr ? nullptr : queues_.find(*side, queue.name());
  if (other == nullptr || !other->contender) return;
  auto& back = *other->contender;
  if (back.current == contender::state::waiting && back.back_until != time_point{})
    loop_.arm(back.retry, now);
}

void contenders::withdraw(lock_queue& queue, time_point now) noexcept {
  auto& contender = *queue.contender;
  if (contender.current != contender::state::waiting) {
    contender.current = contender::state::leaving;  // the reply to the request under way decides
    return;
  }
  auto const number = contender.number;
  // What isn't leased would be taken for nobody, and for ever, by a copy that comes late. What was to take
  // the place of a lease would end that one.
  auto const copy_does_harm = !queue.lock_recipe().leased || contender.in_place_of != 0;
  auto const may_be_taken = copy_does_harm && contender.policy.copied;
  auto const traces = contender.joined || contender.taken || may_be_taken;
  if (contender.unconfirmed) contender.note_told();
  auto const policy = contender.policy;
  end(queue, now);
  if (traces) pending_releases_.abandon(queue, number, policy, now);
}

void contenders::fail_all(lock_queue& queue, std::shared_ptr<error const> const& reason,
                          time_point now) noexcept {
  lock_queue_ptr const pin{&queue};
  callers_.fail_all(queue, reason, now);
  if (queue.contender) withdraw(queue, now);
}

void contenders::on_unsent(lock_queue& queue, std::uint64_t number, time_point now) noexcept {
  if (is_contender(queue, number)) queue.contender->current = contender::state::waiting;
  ask_again_soon(queue, number, now);
}

void contenders::ask_again_soon(lock_queue& queue, std::uint64_t number, time_point now) noexcept {
  if (!is_contender(queue, number)) {
    mend_soon(now);  // another contender may have to be begun
  } else if (queue.contender->current != contender::state::asking) {
    queue.contender->current = contender::state::waiting;
    queue.contender->trouble = client_.no_memory;
    callers_.finish_tries(queue, client_.no_memory, now);
    if (queue.waiters.empty()) {
      withdraw(queue, now);
    } else {
      loop_.arm(queue.contender->retry, now + memory_pause);
    }
  }
}

void contenders::mend_soon(time_point now) noexcept {
  if (!mending_.armed()) loop_.arm(mending_, now + memory_pause);
}

}  // namespace holdfast::engine
