/// The part of lease_calls that turns a lease into one of another queue.
#include <new>
#include <optional>
#include <string>
#include <utility>

#include "engine/await_renewal.hpp"
#include "engine/contention/decisions.hpp"
#include "engine/failure.hpp"
#include "engine/lease_calls.hpp"

namespace holdfast::engine {

/// A lease that is turned into one of another queue. To be destroyed under the lock: a queue's reference
/// count isn't atomic.
struct lease_calls::conversion {
  lease_state_ptr old;
  lock_queue_ptr from;
  lock_queue_ptr const& to;
  lease_state_ptr next{};
  std::shared_ptr<error const> failure{};
  reactor::blocked_thread caller{};
};

lease_state_ptr lease_calls::become(lease_state_ptr lease, lock_queue_ptr const& to, call const& script) {
  if (client_.forked()) (void)lease.detach();
  gate_.check_process();
  (void)reactor::may_wait();  // in a callback: those behind it go to another thread, if there is one
  reactor::lock hold{loop_.mutex()};
  auto* const queue = &lease->queue();
  conversion change{.old = std::move(lease), .from = lock_queue_ptr{queue}, .to = to};
  try {
    if (!gate_.closed()) await_renewal(loop_, hold, *change.old);
    if (gate_.closed()) {
      change.failure = client_.shut_down;
      ends_.release(*change.old, boot_clock::now(), {});  // the caller no longer has it
    } else if (change.old->status() == lease_state::state::held) {
      begin_conversion(change, script);
      loop_.wait(hold, change.caller);
      hold.lock();
    } else {
      change.failure = not_possible(*change.from, change.old->cause());
      ends_.release(*change.old, boot_clock::now(), {});  // the server may have it still
    }
  } catch (std::bad_alloc const&) {
    ends_.release(*change.old, boot_clock::now(), {});  // the caller no longer has it
    change.failure = client_.no_memory;
  }
  auto const reason = std::move(change.failure);
  auto next = std::move(change.next);
  if (reason) next.reset();
  change.old.reset();
  change.from.reset();
  loop_.leave(hold);
  if (reason) throw error{*reason};
  return next;
}

/// Why a lease that is over can't be turned into another one.
std::shared_ptr<error const> lease_calls::not_possible(lock_queue const& from,
                                                       loss_cause cause) const noexcept try {
  return std::make_shared<error const>(
      errc::lost,
      "lease of " + from.title() + " can't be turned into another: " +
          (cause == loss_cause::none ? std::string{"it was released"} : std::string{to_string(cause)}));
} catch (std::bad_alloc const&) {
  return client_.no_memory;
}

/// The answer decides at once, not when the caller gets the lock: until then the new lease is to be renewed,
/// and at the end of the client it is to be given back. Throws std::bad_alloc with nothing sent.
void lease_calls::begin_conversion(conversion& change, call const& script) {
  auto& old = *change.old;
  change.next.reset(
      new lease_state{change.to, effective_options_ptr{&old.effective()}, old.number(), old.token()});
  old.renewing = true;  // as it sets the ttl: until then only the end of the lease is looked at
  try {
    conversions_.begin(old, script, [this, &change](answer<ownership>&& result) {
      change.failure = end_conversion(change, result, boot_clock::now());
      for (auto* const each : {change.old.get(), change.next.get()}) each->settle();  // renewals behind it
      loop_.wake(change.caller);
    });
  } catch (std::bad_alloc const&) {
    old.settle();
    throw;
  }
}

/// Null: the new lease is there, and has taken over the listeners of the old one. Otherwise the reason why it
/// isn't; both are over then.
std::shared_ptr<error const> lease_calls::end_conversion(conversion& change, answer<ownership> const& result,
                                                         time_point now) noexcept {
  auto& old = *change.old;
  renewer_.lose_if_over(old, now);
  auto const* const found = result.outcome();
  auto const still_held = old.status() == lease_state::state::held;
  std::shared_ptr<error const> reason;
  try {
    reason = failure_of(result, *change.from, client_);
    if (still_held && found != nullptr && *found == ownership::held) {
      move_to_next(change, result.sent_at, now);
      return nullptr;
    }
  } catch (std::bad_alloc const&) {
    reason = client_.no_memory;
  }
  if (found == nullptr || *found == ownership::held) {
    give_back_or_keep(change, result, now);
  } else if (still_held) {
    ends_.lose(old, *found == ownership::gone ? loss_cause::key_gone : loss_cause::taken_over, now);
  }
  // It may have been lost for want of this very reply.
  if (reason && (old.cause() == loss_cause::none || old.cause() == loss_cause::unreachable)) return reason;
  return not_possible(*change.from, old.cause());
}

/// The server may have either of the leases, perhaps after the old one was lost. Nobody may inherit them.
void lease_calls::give_back_or_keep(conversion& change, answer<ownership> const& result,
                                    time_point now) noexcept {
  auto& old = *change.old;
  auto const still_held = old.status() == lease_state::state::held;
  if (keeps_key(old)) {
    if (still_held) ends_.keep(old, std::nullopt, now, {});
    if (may_be_carried_out(result)) ends_.prolong_kept(old, deadline_of(now, old.options().ttl), now);
    return;
  }
  if (still_held) {
    (void)ends_.finish_here(old, now);
    pending_releases_.send(old, now, {});
  } else if (result.outcome() == nullptr) {
    ends_.release(old, now, {});  // the caller no longer has it
  }
  auto item = pending_releases_.item(old, now);
  item.queue = change.to;
  pending_releases_.send(item, now, {});
  if (still_held && !change.from->contender) ends_.ask_after_release(*change.from, now);
}

/// Throws std::bad_alloc, with nothing done.
void lease_calls::move_to_next(conversion& change, time_point sent_at, time_point now) {
  auto& old = *change.old;
  auto& next = *change.next;
  next.set_deadline(deadline_of(sent_at, old.options().ttl));
  next.renewals_left = old.renewals_left;
  if (old.options().watchdog && next.renewals_left != 0)
    next.renew_at = sent_at + old.effective().renewal_interval;
  next.trace_said = old.trace_said;
  next.is_heir = old.is_heir;
  holders_.open(next, now);
  if (old.thread != 0) holders_.give_to(old.thread, next);
  next.inherit(old);
  if (moments_ != nullptr) moments_->goes_on_as(old, next);
  (void)ends_.finish_here(old, now);
  ++stats_.held_now;
  if (moments_ != nullptr) moments_->turned_into(next, now);
  renewer_.add(next, now);
  if (!change.from->contender) ends_.ask_after_release(*change.from, now);
}

void lease_calls::take_place(lease_state& old, lease_state& next, time_point now) noexcept {
  if (old.status() != lease_state::state::held || next.status() != lease_state::state::held) return;
  lock_queue_ptr const from{&old.queue()};
  // At most so many: the one under way is carried out, and counts for nobody else.
  next.renewals_left = old.renewals_left - (old.renewal_sent && old.renewals_left > 0 ? 1 : 0);
  if (next.renewals_left == 0) next.renew_at = time_point::max();
  next.inherit(old);
  (void)ends_.finish_here(old, now);
  if (!next.renewing) next.settle();  // what waits behind a renewal of the old one, which is over
  renewer_.add(next, now);
  if (!from->contender) ends_.ask_after_release(*from, now);
}

lease_state_ptr lease_calls::replace(lease_state_ptr& lease, lease_state_ptr next) {
  reactor::lock hold{loop_.mutex()};
  auto const now = boot_clock::now();
  lock_queue_ptr from{&lease->queue()};
  take_place(*lease, *next, now);
  auto const replaced = lease->status() == lease_state::state::released;
  std::shared_ptr<error const> reason;
  if (!replaced || next->status() != lease_state::state::held) {
    if (lease->status() == lease_state::state::held) ends_.lose(*lease, next->cause(), now);
    reason = not_possible(*from, replaced ? next->cause() : lease->cause());
    // It is given back, perhaps after it was lost. What was taken away, or was to go, isn't kept in its
    // place.
    if (taken_away(lease->cause())) {
      ends_.release_unkept(*next, now, {});
    } else {
      ends_.release(*next, now, {});
    }
    next.reset();
  }
  lease.reset();
  from.reset();
  loop_.leave(hold);
  if (reason) throw error{*reason};
  return next;
}

}  // namespace holdfast::engine
