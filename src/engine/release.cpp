// How a lease ends: given back, handed over, or lost.

#include <algorithm>
#include <new>
#include <utility>

#include "engine/core.hpp"
#include "engine/failure.hpp"

namespace holdfast::engine {
namespace {

/// The least remaining time of a lease that is handed over before its first renewal.
constexpr std::chrono::milliseconds shortest_handover{500};

}  // namespace

/// A lease that was lost may still be ours on the server: at a limit, or when its release was requested; and
/// of several names perhaps only one is gone. Then others needn't wait for its ttl.
bool core::still_to_release(lease_state const& lease) noexcept {
  auto const cause = lease.cause();
  auto const of_one_name = cause == loss_cause::taken_over || cause == loss_cause::key_gone;
  auto const ended =
      cause == loss_cause::limit_reached || (of_one_name && lease.queue().protocol().several != nullptr);
  auto const ours = cause == loss_cause::forced || (ended && !lease.options().keep);
  return ours && boot_clock::now() < lease.deadline();
}

void core::release(lease_state& lease, release_handler done) noexcept {
  lease_state_ptr const pin{&lease};
  auto& queue = lease.queue();
  if (lease.drop_handle()) {
    if (done)
      done(lease.status() == lease_state::state::held ? release_result::released : release_result::lost);
    return;
  }
  if (lease.status() != lease_state::state::held) {
    if (still_to_release(lease)) {
      auto item = pending_releases_.item(lease);
      item.lost = true;
      pending_releases_.send(item, std::move(done));
    } else if (done) {
      done(release_result::lost);
    }
    return;
  }
  if (lease.options().keep) {
    keep(lease, std::nullopt, std::move(done));
    return;
  }
  auto const last = finish_here(lease);
  if (!last || hand_over(queue, lease)) {
    if (done) done(release_result::released);
  } else if (!queue.waiters.empty() && !queue.contender && queue.protocol().pass != nullptr &&
             notifications_.by_message(queue) && !queue.waiters.front().options->acknowledged()) {
    pass(queue, lease, std::move(done));
  } else {
    // Where the order is strict the next caller has to be in the server's queue by the time the release looks
    // for the first waiter.
    auto const ask_first = !queue.waiters.empty() && !queue.contender && notifications_.by_message(queue) &&
                           queue.protocol().order == order::strict;
    if (ask_first) begin_contending(queue);
    pending_releases_.send(lease, std::move(done));
    if (!queue.contender) ask_after_release(queue);
  }
}

/// Ends the lease without giving the lock back. For all others, in this process too, it is busy until its ttl
/// is over.
void core::keep(lease_state& lease, std::optional<milliseconds> remaining, release_handler done) noexcept {
  lease_state_ptr const pin{&lease};
  lock_queue_ptr const queue{&lease.queue()};
  if (lease.drop_handle()) {  // the last handle decides
    if (done) done(lease.status() == lease_state::state::held ? release_result::kept : release_result::lost);
    return;
  }
  if (lease.status() != lease_state::state::held) {
    if (done) done(release_result::lost);
    return;
  }
  (void)finish_here(lease);
  kept_keys_.note(lease, remaining.value_or(milliseconds{0}));
  kept_keys_.leave(lease, remaining, std::move(done));
  if (!queue->waiters.empty() && !queue->contender) begin_contending(*queue);
}

/// The next caller of this process asks, behind a release that wakes callers of other processes.
void core::ask_after_release(lock_queue& queue) noexcept {
  if (queue.waiters.empty()) return;
  if (notifications_.by_message(queue) && queue.protocol().channels == nullptr) {
    begin_contending(queue);
    return;
  }
  // The others come when they have heard of the release, or when their pause is over: leave them a chance.
  try {
    open_contender(queue);
    sleep(queue, {.pttl = milliseconds{queue.protocol().channels == nullptr ? 0 : 1}});
  } catch (std::bad_alloc const&) {
    on_unsent(queue, queue.contender ? queue.contender->number : 0);
  }
}

/// The lease isn't held here any more. Renewal ends before anything is sent. False: other leases of this
/// process still share its acquisition.
bool core::finish_here(lease_state& lease) noexcept {
  lease.set_released();
  loop_.defer(lease.drop_listeners());
  return leave_here(lease);
}

bool core::leave_here(lease_state& lease) noexcept {
  renewer::remove(lease);
  --stats_.held_now;
  auto& queue = lease.queue();
  if (queue.protocol().sharing == sharing::exclusive)
    notifications_.end_listening_ahead(queue, lease.number());
  return holders_.leave(lease);
}

/// To the next caller in this process, without a request: not too often in a row, so that others get their
/// turn, and only if it wants the lock on the same terms.
bool core::hand_over(lock_queue& queue, lease_state& from) noexcept try {
  if (queue.waiters.empty() || from.tokens_left <= 0 || queue.protocol().sharing != sharing::exclusive)
    return false;
  auto& next = queue.waiters.front();
  auto const& options = next.options->options;
  auto const now = boot_clock::now();
  if (std::cmp_greater_equal(queue.handoffs, options.handoff_limit) ||
      now - queue.since >= options.handoff_time)
    return false;
  if (!options.watchdog || !from.options().watchdog || options.ttl != from.options().ttl) return false;
  if (options.replicas > from.options().replicas || (options.fsynced && !from.options().fsynced))
    return false;
  // A lease granted by message starts out short; any other short lease has a renewal without a reply.
  auto const remaining = from.deadline() - now;
  if (remaining < options.ttl / 2 &&
      (from.renewing || remaining < std::min<std::chrono::nanoseconds>(options.ttl / 2, shortest_handover))) {
    return false;
  }
  auto const token = from.token() == 0 ? 0 : from.token() + 1;  // a kind without tokens
  lease_state_ptr const heir{new lease_state{&queue, next.options, from.number(), token}};
  heir->set_deadline(from.deadline());
  heir->renew_at = from.renew_at;
  heir->renewing = from.renewing;
  heir->provisional = from.provisional;
  heir->tokens_left = from.tokens_left - 1;
  set_limits(*heir, now);
  if (from.renewing) from.set_heir(heir);
  ++queue.handoffs;
  ++stats_.handed_over;
  give(queue, heir);
  return true;
} catch (std::bad_alloc const&) {
  return false;  // back to the server
}

struct core::passing {
  passing(returned_lock const& item, std::uint64_t number_of_next, release_handler then)
      : before{item}, next{number_of_next}, done{std::move(then)} {}

  returned_lock before;
  std::uint64_t next;
  release_handler done;
};

/// Gives the lock back to the server and puts the next caller of this process into the server's queue behind
/// callers elsewhere, in one request.
void core::pass(lock_queue& queue, lease_state const& from, release_handler done) noexcept {
  std::shared_ptr<passing> pending;
  std::uint64_t number = 0;
  auto const before = pending_releases_.item(from);
  try {
    auto& contender = open_contender(queue);
    number = contender.number;
    contender.joined = true;
    contender.answered = true;
    pending = std::make_shared<passing>(before, number, std::move(done));
    auto const next = next_request(queue);
    auto const owner = client_.owner_id(from.number());
    backend_->run(queue.protocol().pass({.name = queue.name(), .owner = owner}, before.policy, next),
                  [this, pending](net::response&& response) { on_passed(*pending, response); },
                  {.while_down = net::retry_policy::endless});
  } catch (std::bad_alloc const&) {
    pending_releases_.send(before, pending ? std::move(pending->done) : std::move(done));
    on_unsent(queue, number);
  }
}

void core::on_passed(passing& pending, net::response const& response) noexcept {
  auto& queue = *pending.before.queue;
  lock_queue_ptr const pin{&queue};
  auto const wanted = is_contender(queue, pending.next);
  if (wanted) queue.contender->current = contender::state::waiting;
  if (!wanted) drop_orphan(queue, pending.next);
  auto const report = [&pending](release_result result) {
    if (pending.done) std::exchange(pending.done, {})(result);
  };
  try {
    if (response.failure || response.reply.is_error()) {
      if (response.reply.is_error()) {
        pending_releases_.send(pending.before, std::move(pending.done));
      } else {
        report(release_result::unknown);
      }
      if (wanted) on_trouble(queue, response);
      return;
    }
    auto const result = queue.protocol().read_pass(response.reply);
    auto const ours =
        result.before == ownership::mine || response.resent || departed_.take_cleared(pending.before.number);
    if (ours) pending_releases_.note_released(pending.before);
    report(ours ? release_result::released : release_result::lost);
    if (!wanted) return;
    if (!result.next.empty()) {
      on_verdict(queue, result.next.front(), response.sent_at);
    } else if (queue.waiters.empty()) {
      withdraw(queue);
    } else {
      send_acquire(queue);
    }
  } catch (std::bad_alloc const&) {
    report(release_result::unknown);
    if (wanted) ask_again_soon(queue, pending.next);
  }
}

/// A lease that the server has taken away is lost for all leases that share its acquisition.
void core::lose(lease_state& lease, loss_cause cause) noexcept {
  lease_state_ptr const pin{&lease};
  lock_queue_ptr const queue{&lease.queue()};
  auto const was_holder = queue->protocol().sharing != sharing::exclusive || queue->holder == &lease;
  auto const by_server =
      cause == loss_cause::taken_over || cause == loss_cause::key_gone || cause == loss_cause::forced;
  lose_alone(lease, cause);
  if (by_server) {
    holders_.for_each_sharer(*queue, lease.number(), [this, cause](lease_state& sharer) {
      lease_state_ptr const last{&sharer};
      lose_alone(sharer, cause);
    });
  }
  if (was_holder && !queue->waiters.empty() && !queue->contender) begin_contending(*queue);
}

void core::lose_alone(lease_state& lease, loss_cause cause) noexcept {
  (void)leave_here(lease);
  ++stats_.lost;
  loop_.defer(lease.lose(cause));
  if (lease.options().keep || still_to_release(lease)) kept_keys_.note(lease, milliseconds{0});
  if (lease.options().keep) {
    if (cause == loss_cause::limit_reached) {
      kept_keys_.leave(lease, std::nullopt, {});
    } else {
      late_responses_.keep(lease.number(), time_point::max());
    }
  }
  log_(log_level::warning, [&] {
    auto message = "lease of " + lease.queue().title() + " lost: " + std::string{to_string(cause)};
    if (auto const down = backend_->down_because(); cause == loss_cause::unreachable && down) {
      message += std::string{": "} + down->what();
    }
    return message;
  });
}

}  // namespace holdfast::engine
