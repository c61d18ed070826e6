/// The part of lease_calls that turns a lease into one of another queue.
#include <new>
#include <optional>
#include <string>
#include <utility>

#include "engine/await_renewal.hpp"
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

  [[nodiscard]] error not_possible() const {
    return {errc::lost, "lease of " + from->title() + " can't be turned into another: " +
                            (old->cause() == loss_cause::none ? std::string{"it was released"}
                                                              : std::string{to_string(old->cause())})};
  }
};

lease_state_ptr lease_calls::become(lease_state_ptr lease, lock_queue_ptr const& to, call const& script) {
  gate_.check_process();
  reactor::lock hold{loop_.mutex()};
  auto* const queue = &lease->queue();
  conversion change{.old = std::move(lease), .from = lock_queue_ptr{queue}, .to = to};
  gate_.check_open();
  try {
    await_renewal(loop_, hold, *change.old);
    if (change.old->status() == lease_state::state::held) {
      send_conversion(change, script);
      loop_.wait(hold, change.caller);
      hold.lock();
    } else {
      change.failure = std::make_shared<error const>(change.not_possible());
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

/// The answer decides at once, not when the caller gets the lock: until then the new lease is to be renewed,
/// and at the end of the client it is to be given back. Throws std::bad_alloc with nothing sent.
void lease_calls::send_conversion(conversion& change, call const& script) {
  auto& old = *change.old;
  change.next.reset(
      new lease_state{change.to, effective_options_ptr{&old.effective()}, old.number(), old.token()});
  old.renewing = true;  // as it sets the ttl: until then only the end of the lease is looked at
  try {
    convert(old, script, boot_clock::now(), [this, &change](answer<ownership>&& result) {
      change.failure = end_conversion(change, result, boot_clock::now());
      for (auto* const each : {change.old.get(), change.next.get()}) each->settle();  // renewals behind it
      loop_.wake(change.caller);
    });
  } catch (std::bad_alloc const&) {
    old.settle();
    throw;
  }
}

/// Throws std::bad_alloc with nothing sent.
answer<ownership> lease_calls::request_conversion(reactor::lock& hold, lease_state& old, call const& script) {
  std::optional<answer<ownership>> result;
  reactor::blocked_thread thread;
  convert(old, script, boot_clock::now(), [&](answer<ownership>&& received) {
    result = std::move(received);
    loop_.wake(thread);
  });
  loop_.wait(hold, thread);
  hold.lock();
  return std::move(*result);
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
  auto const was_changed = found == nullptr || *found == ownership::held;  // or may have been
  if (still_held && !was_changed) {
    ends_.lose(old, *found == ownership::gone ? loss_cause::key_gone : loss_cause::taken_over, now);
  } else if (still_held) {
    // The outcome is unknown, so nobody may inherit either of them.
    (void)ends_.finish_here(old, now);
    pending_releases_.send(old, now, {});
  }
  if (!still_held && found == nullptr) ends_.release(old, now, {});  // the caller no longer has it
  // What has reached its limit stays in the server if it is to be kept.
  auto const stays = old.options().keep && old.cause() == loss_cause::limit_reached;
  if (was_changed && !stays) {  // perhaps after the lease was lost
    auto item = pending_releases_.item(old, now);
    item.queue = change.to;
    pending_releases_.send(item, now, {});
  }
  if (still_held && was_changed && !change.from->contender) ends_.ask_after_release(*change.from, now);
  // It may have been lost for want of this very reply.
  if (reason && (old.cause() == loss_cause::none || old.cause() == loss_cause::unreachable)) return reason;
  try {
    return std::make_shared<error const>(change.not_possible());
  } catch (std::bad_alloc const&) {
    return client_.no_memory;
  }
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
  next.renewals_left = old.renewals_left;
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
  std::optional<error> reason;
  if (!replaced || next->status() != lease_state::state::held) {
    if (lease->status() == lease_state::state::held) ends_.lose(*lease, next->cause(), now);
    auto const cause = replaced ? next->cause() : lease->cause();
    ends_.release(*next, now, {});  // it is given back, perhaps after it was lost
    next.reset();
    reason.emplace(errc::lost, "lease of " + from->title() + " can't be turned into another: " +
                                   (cause == loss_cause::none ? std::string{"it was released"}
                                                              : std::string{to_string(cause)}));
  }
  lease.reset();
  from.reset();
  loop_.leave(hold);
  if (reason) throw error{std::move(*reason)};
  return next;
}

}  // namespace holdfast::engine
