#include "engine/contention/lease_ends.hpp"

#include <algorithm>
#include <new>
#include <string>
#include <utility>

#include "engine/contention/decisions.hpp"
#include "engine/failure.hpp"

namespace holdfast::engine {

void lease_ends::release(lease_state& lease, time_point now, release_handler done) noexcept {
  if (lease.options().keep && lease.status() == lease_state::state::held && !lease.has_more_handles()) {
    keep(lease, std::nullopt, now, std::move(done));
  } else {
    release_unkept(lease, now, std::move(done));
  }
}

void lease_ends::release_unkept(lease_state& lease, time_point now, release_handler done) noexcept {
  lease_state_ptr const pin{&lease};
  auto& queue = lease.queue();
  if (!lease.drop_handle()) {
    if (done)
      done(lease.status() == lease_state::state::held ? release_result::released : release_result::lost);
    return;
  }
  if (lease.status() != lease_state::state::held) {
    release_lost(lease, now, std::move(done));
    return;
  }
  auto const last = finish_here(lease, now);
  if (!last || grants_.hand_over(queue, lease, now)) {
    if (done) done(release_result::released);
  } else {
    give_back(queue, lease, now, std::move(done));
  }
}

void lease_ends::release_lost(lease_state const& lease, time_point now, release_handler done) noexcept {
  if (is_last_of_forced(lease) && still_to_release(lease, now)) {
    auto item = pending_releases_.item(lease, now);
    item.lost = true;
    pending_releases_.send(item, now, std::move(done));
  } else if (done) {
    done(release_result::lost);
  }
}

void lease_ends::give_back(lock_queue& queue, lease_state const& lease, time_point now,
                           release_handler done) noexcept {
  if (!queue.waiters.empty() && !queue.contender) {
    queue.note_busy(now);
    auto const by_message = notifications_.by_message(queue);
    if (may_pass(queue, by_message) && !requests_.gives_way(queue, queue.waiters.front().came_at)) {
      pass(queue, lease, now, std::move(done));
      return;
    }
    queue_next_up(queue, now);
  }
  auto item = pending_releases_.item(lease, now);
  if (!queue.waiters.empty()) queue.uncontended = 0;
  item.policy.fast = fast_path_.worth_fast_release(queue, lease, now);
  pending_releases_.send(item, now, std::move(done));
  if (!queue.contender) ask_after_release(queue, now);
}

void lease_ends::keep(lease_state& lease, std::optional<milliseconds> remaining, time_point now,
                      release_handler done) noexcept {
  lease_state_ptr const pin{&lease};
  lock_queue_ptr const queue{&lease.queue()};
  if (!lease.drop_handle()) {  // the last handle decides
    if (done)
      done(lease.status() == lease_state::state::held ? release_result::released : release_result::lost);
    return;
  }
  if (lease.status() != lease_state::state::held) {
    if (lease.cause() == loss_cause::forced) {
      release_lost(lease, now, std::move(done));  // what is taken away isn't kept
    } else if (done) {
      done(release_result::lost);
    }
    return;
  }
  if (moments_ != nullptr)
    moments_->kept(
        lease, remaining ? now + *remaining : lease.deadline() + drift_allowance(lease.options().ttl), now);
  if (!finish_here(lease, now)) {
    // Others of this process share the acquisition, and need its ttl: nothing is kept for this lease.
    if (done) done(release_result::released);
    return;
  }
  kept_keys_.note(lease, remaining.value_or(milliseconds{0}), true, now);
  kept_keys_.leave(lease, remaining, now, std::move(done));
  if (!queue->waiters.empty() && !queue->contender) requests_.begin(*queue, now);
}

void lease_ends::prolong_kept(lease_state& lease, time_point deadline, time_point now) noexcept {
  lease.set_deadline(std::max(lease.deadline(), deadline));
  kept_keys_.note(lease, milliseconds{0}, true, now);
}

void lease_ends::ask_after_release(lock_queue& queue, time_point now) noexcept {
  if (queue.waiters.empty()) return;
  if (notifications_.by_message(queue) && queue.lock_recipe().channels == nullptr) {
    requests_.begin(queue, now);
    return;
  }
  // Callers elsewhere ask when they have heard of the release, or when their pause is over: let them.
  try {
    contenders_.open(queue, now);
    requests_.wait_for_wake_up(queue, {.pttl = milliseconds{queue.lock_recipe().channels == nullptr ? 0 : 1}},
                               now);
  } catch (std::bad_alloc const&) {
    contenders_.on_unsent(queue, queue.contender ? queue.contender->number : 0, now);
  }
}

bool lease_ends::finish_here(lease_state& lease, time_point now) noexcept {
  if (moments_ != nullptr) moments_->released(lease, now);
  lease.set_released();
  loop_.deferred().add(lease.drop_listeners());
  return leave_here(lease, now);
}

void lease_ends::lay_down(lease_state& lease, time_point now) noexcept {
  if (moments_ != nullptr) moments_->released(lease, now);
  lease.set_released();
  (void)leave_here(lease, now);
}

void lease_ends::queue_next_up(lock_queue& queue, time_point now) noexcept {
  if (queue.waiters.empty() || queue.contender || queue.lock_recipe().order != order::strict) return;
  if (notifications_.by_message(queue)) requests_.begin(queue, now);
}

bool lease_ends::leave_here(lease_state& lease, time_point now) noexcept {
  renewer::remove(lease);
  --stats_.held_now;
  auto const& queue = lease.queue();
  if (queue.lock_recipe().sharing == sharing::exclusive)
    notifications_.end_listening_ahead(queue, lease.number(), now);
  return holders_.leave(lease);
}

struct lease_ends::passing {
  passing(returned_lock const& item, std::uint64_t number_of_next, release_handler then)
      : before{item}, next{number_of_next}, done{std::move(then)} {}

  void report(release_result result) {
    if (done) std::exchange(done, {})(result);
  }

  returned_lock before;
  std::uint64_t next;
  release_handler done;
};

/// Gives the lock back to the server and puts the next caller of this process into the server's queue behind
/// callers elsewhere, in one request.
void lease_ends::pass(lock_queue& queue, lease_state const& from, time_point now,
                      release_handler done) noexcept {
  std::shared_ptr<passing> pending;
  std::uint64_t number = 0;
  auto const before = pending_releases_.item(from, now);
  try {
    auto& contender = contenders_.open(queue, now);
    number = contender.number;
    contender.joined = true;
    contender.contended = true;
    contender.answered = true;
    auto const patience = patience_of(contender, queue.waiters.front(), client_.options.patience, now);
    contender.bounded = before.deadline < patience.give_up;
    auto const give_up = std::min(before.deadline, patience.give_up);
    pending = std::make_shared<passing>(before, number, std::move(done));
    auto const next = requests_.next(queue, now);
    auto const owner = client_.owner_id(from.number());
    backend_.pass(
        queue.lock_recipe(), {.name = queue.name(), .owner = owner}, before.policy, next,
        [this, pending](answer<passed>&& result) { on_passed(*pending, result, boot_clock::now()); },
        {.while_down = patience.while_down, .give_up = give_up});
  } catch (std::bad_alloc const&) {
    pending_releases_.send(before, now, pending ? std::move(pending->done) : std::move(done));
    contenders_.on_unsent(queue, number, now);
  }
}

void lease_ends::on_passed(passing& pending, answer<passed> const& result, time_point now) noexcept {
  auto& queue = *pending.before.queue;
  lock_queue_ptr const pin{&queue};
  auto const wanted = is_contender(queue, pending.next);
  if (wanted) {
    queue.contender->current = contender::state::waiting;
  } else {
    requests_.drop_orphan(queue, pending.next, result.resent, now);
  }
  try {
    if (auto const* const found = result.outcome()) {
      on_passed(queue, pending, *found, result.sent_at, now);
    } else if (auto const* const refusal = result.refusal()) {
      pending.before.copied = refusal->resent;
      pending_releases_.send(pending.before, now, std::move(pending.done));
      if (wanted) replies_.on_refused(queue, *refusal, now);
    } else {
      auto const& failure = *result.failure();
      // The backend on etcd sees to the key by itself.
      if (!client_.deployment.etcd && is_outage(*failure.reason) && now < pending.before.deadline) {
        pending.before.copied = failure.sent;
        pending_releases_.send(pending.before, now, std::move(pending.done));
      } else {
        pending.report(release_result::unknown);
      }
      if (wanted) replies_.on_failed(queue, failure, now);
    }
  } catch (std::bad_alloc const&) {
    pending.report(release_result::unknown);
    if (wanted) contenders_.ask_again_soon(queue, pending.next, now);
  }
}

void lease_ends::on_passed(lock_queue& queue, passing& pending, passed const& found, time_point sent_at,
                           time_point now) {
  auto const was_held = found.before == ownership::held || departed_.take_cleared(pending.before.number);
  if (was_held) pending_releases_.note_released(pending.before);
  pending.report(was_held ? release_result::released : release_result::lost);
  if (!is_contender(queue, pending.next)) return;
  if (found.next) {
    replies_.on_verdict(queue, *found.next, sent_at, now);
  } else if (queue.waiters.empty()) {
    contenders_.withdraw(queue, now);
  } else {
    requests_.send(queue, now);
  }
}

void lease_ends::lose(lease_state& lease, loss_cause cause, time_point now) noexcept {
  lease_state_ptr const pin{&lease};
  lock_queue_ptr const queue{&lease.queue()};
  auto const was_holder = queue->lock_recipe().sharing != sharing::exclusive || queue->holder == &lease;
  if (cause == loss_cause::forced) count_forced(lease);
  lose_alone(lease, cause, now);
  if (taken_away(cause)) {
    holders_.for_each_sharer(*queue, lease.number(), [this, cause, now](lease_state& sharer) {
      lease_state_ptr const last{&sharer};
      lose_alone(sharer, cause, now);
    });
  }
  if (was_holder && !queue->waiters.empty() && !queue->contender) requests_.begin(*queue, now);
}

/// Where several share it, the others are at work still when the first one lets go.
void lease_ends::count_forced(lease_state const& lease) noexcept try {
  std::size_t sharers = 0;
  holders_.for_each_sharer(lease.queue(), lease.number(), [&sharers](lease_state&) { ++sharers; });
  if (sharers > 1) forced_[lease.number()] = sharers;
} catch (std::bad_alloc const&) {
  return;  // the first one gives it back
}

bool lease_ends::is_last_of_forced(lease_state const& lease) noexcept {
  auto const known = forced_.find(lease.number());
  if (known == forced_.end() || lease.cause() != loss_cause::forced) return true;
  if (--known->second != 0) return false;
  forced_.erase(known);
  return true;
}

void lease_ends::take_back(lease_state const& lease, time_point now) noexcept {
  if (now >= lease.deadline()) {
    release_unheld(lease, now);
    return;
  }
  try {
    // The end of the client calls it early.
    delayed_.add(lease.deadline(), [this, pin = boost::intrusive_ptr<lease_state const>{&lease}] {
      auto const called = boot_clock::now();
      if (called >= pin->deadline()) release_unheld(*pin, called);
    });
  } catch (std::bad_alloc const&) {
    return;  // it ends with its ttl
  }
}

void lease_ends::release_unheld(lease_state const& lease, time_point now) noexcept {
  if (lease.options().keep || holders_.has(lease.queue(), lease.number()) ||
      departed_.has_kept_key(lease.number(), now))
    return;
  auto item = pending_releases_.item(lease, now);
  item.lost = true;
  pending_releases_.send(item, now, {});
}

void lease_ends::lose_alone(lease_state& lease, loss_cause cause, time_point now) noexcept {
  if (moments_ != nullptr) moments_->lost(lease, cause, now);
  (void)leave_here(lease, now);
  ++stats_.lost;
  loop_.deferred().add(lease.lose(cause));
  auto const keeps = lease.options().keep && cause != loss_cause::forced;
  if (keeps || still_to_release(lease, now)) kept_keys_.note(lease, milliseconds{0}, keeps, now);
  if (!taken_away(cause) && pending_releases_.may_outlive(lease)) take_back(lease, now);
  if (keeps) {
    if (cause == loss_cause::limit_reached) {
      kept_keys_.leave(lease, std::nullopt, now, {});
    } else {
      late_responses_.key_stays_until(lease.number(), time_point::max());
    }
  }
  log_(log_level::warning, [&] {
    auto message = "lease of " + lease.queue().title() + " lost: " + std::string{to_string(cause)};
    if (auto const down = backend_.down_because(); cause == loss_cause::unreachable && down) {
      message += std::string{": "} + down->what();
    }
    return message;
  });
}

}  // namespace holdfast::engine
