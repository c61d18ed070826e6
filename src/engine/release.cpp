// How a lease ends: given back, handed on, or lost.

#include <algorithm>
#include <new>
#include <utility>

#include "engine/core.hpp"
#include "engine/failure.hpp"

namespace holdfast::engine {
namespace {

/// What must be left of a lease that is handed over before its first renewal.
constexpr std::chrono::milliseconds shortest_handover{500};

/// A waiter asks again in each client_options::recheck: so many may be missed before it counts as dead.
constexpr int signs_of_life = 10;

}  // namespace

release_policy core::terms_of(lock_options const& options) const noexcept {
  return {.starvation = options.starvation_limit,
          .credit = signs_of_life * options_.recheck,
          .quiet = wake_of(options) == wake::poll,
          .publish = how_to_publish()};
}

/// Until a cluster's nodes are known it tells in every way that may be heard.
publishing core::how_to_publish() const noexcept {
  if (!clustered()) return publishing::counted;
  return servers_->sharded() ? publishing::sharded : publishing::uncounted;
}

/// A lease that was lost may still be ours on the server: at a limit, or when we were asked to let go; and of
/// several names perhaps only one is gone. Others needn't wait for its ttl.
bool core::still_to_release(lease_state const& what) noexcept {
  auto const cause = what.cause();
  auto const of_one_name = cause == loss_cause::taken_over || cause == loss_cause::key_gone;
  auto const ended =
      cause == loss_cause::limit_reached || (of_one_name && what.queue().protocol().several != nullptr);
  auto const ours = cause == loss_cause::forced || (ended && !what.options().keep);
  return ours && boot_clock::now() < what.deadline();
}

void core::release(lease_state& what, release_handler done) noexcept {
  lease_state_ptr const pin{&what};
  auto& at = what.queue();
  if (what.drop_handle()) {
    if (done)
      done(what.status() == lease_state::state::held ? release_result::released : release_result::lost);
    return;
  }
  if (what.status() != lease_state::state::held) {
    if (still_to_release(what)) {
      giving_back back{what, terms_of(what.options())};
      back.lost = true;
      send_release(back, std::move(done));
    } else if (done) {
      done(release_result::lost);
    }
    return;
  }
  if (what.options().keep) {
    keep(what, std::nullopt, std::move(done));
    return;
  }
  auto const last = finish_here(what);
  if (!last || hand_over(at, what)) {
    if (done) done(release_result::released);
  } else if (!at.waiters.empty() && !at.contender && at.protocol().pass != nullptr && by_message(at) &&
             !at.waiters.front().options->acknowledged()) {
    pass(at, what, std::move(done));
  } else {
    // Where the order is strict the next one has to be in line by the time the release looks who is the
    // first.
    auto const ask_first =
        !at.waiters.empty() && !at.contender && by_message(at) && at.protocol().order == order::strict;
    if (ask_first) begin_contending(at);
    send_release({what, terms_of(what.options())}, std::move(done));
    if (!at.contender) ask_after_release(at);
  }
}

/// The next caller of this process, behind a release that wakes those of others.
void core::ask_after_release(lock_queue& at) noexcept {
  if (at.waiters.empty()) return;
  if (by_message(at) && at.protocol().channels == nullptr) {
    begin_contending(at);
    return;
  }
  // They come when they have heard of it, or when their pause is over: leave them a chance.
  try {
    open_contender(at);
    sleep(at, {.pttl = milliseconds{at.protocol().channels == nullptr ? 0 : 1}});
  } catch (std::bad_alloc const&) {
    on_unsent(at, at.contender ? at.contender->number : 0);
  }
}

/// It isn't held here any more. Renewal ends before anything is sent. False: others of this process still
/// have a share in its acquisition.
bool core::finish_here(lease_state& what) noexcept {
  what.set_released();
  loop_.defer(what.drop_listeners());
  return leave_here(what);
}

bool core::leave_here(lease_state& what) noexcept {
  renewer::remove(what);
  --stats_.held_now;
  auto& at = what.queue();
  if (at.protocol().sharing == sharing::exclusive) {
    if (at.holder == &what) at.holder = nullptr;
    if (at.protocol().order == order::strict)
      lock_inboxes_.leave(what.number(), broadcast::afterwards::linger);
    return true;
  }
  auto const known = shared_holders_.find(&at);
  auto const last = known->second.leave(what);
  if (known->second.empty()) shared_holders_.erase(known);
  return last;
}

/// To the next caller in this process, without a request: not too often in a row, so that others get their
/// turn, and only if it wants the lock on the same terms.
bool core::hand_over(lock_queue& at, lease_state& from) noexcept try {
  if (at.waiters.empty() || from.tokens_left <= 0 || at.protocol().sharing != sharing::exclusive)
    return false;
  auto& next = at.waiters.front();
  auto const& options = next.options->options;
  auto const now = boot_clock::now();
  if (std::cmp_greater_equal(at.handoffs, options.handoff_limit) || now - at.since >= options.handoff_time)
    return false;
  if (!options.watchdog || !from.options().watchdog || options.ttl != from.options().ttl) return false;
  if (options.replicas > from.options().replicas || (options.fsynced && !from.options().fsynced))
    return false;
  // A lease granted by message starts out short; any other that is short has a renewal that isn't answered.
  auto const left = from.deadline() - now;
  if (left < options.ttl / 2 &&
      (from.renewing || left < std::min<std::chrono::nanoseconds>(options.ttl / 2, shortest_handover))) {
    return false;
  }
  auto const token = from.token() == 0 ? 0 : from.token() + 1;  // a kind without tokens
  lease_state_ptr const heir{new lease_state{&at, next.options, from.number(), token}};
  heir->set_deadline(from.deadline());
  heir->renew_at = from.renew_at;
  heir->renewing = from.renewing;
  heir->provisional = from.provisional;
  heir->tokens_left = from.tokens_left - 1;
  set_limits(*heir, now);
  if (from.renewing) from.set_heir(heir);
  ++at.handoffs;
  ++stats_.handed_over;
  give(at, heir);
  return true;
} catch (std::bad_alloc const&) {
  return false;  // back to the server
}

struct core::passing {
  passing(giving_back const& of, std::uint64_t number_of_next, release_handler then)
      : before{of}, next{number_of_next}, done{std::move(then)} {}

  giving_back before;
  std::uint64_t next;
  release_handler done;
};

/// Back to the server, with the next caller of this process in line behind those who wait elsewhere: one
/// request.
void core::pass(lock_queue& at, lease_state const& from, release_handler done) noexcept {
  std::shared_ptr<passing> mine;
  std::uint64_t number = 0;
  giving_back const before{from, terms_of(from.options())};
  try {
    auto& next_bid = open_contender(at);
    number = next_bid.number;
    next_bid.joined = true;
    next_bid.answered = true;
    mine = std::make_shared<passing>(before, number, std::move(done));
    auto const next = next_request(at);
    auto const owner = owner_id(from.number());
    servers_->run(at.protocol().pass({.name = at.name(), .owner = owner}, before.policy, next),
                  [this, mine](net::response&& how) { on_passed(*mine, how); },
                  {.while_down = net::retry_policy::endless});
  } catch (std::bad_alloc const&) {
    send_release(before, mine ? std::move(mine->done) : std::move(done));
    on_unsent(at, number);
  }
}

void core::on_passed(passing& what, net::response const& how) noexcept {
  auto& at = *what.before.queue;
  lock_queue_ptr const pin{&at};
  auto const wanted = is_contender(at, what.next);
  if (wanted) at.contender->current = contender::state::waiting;
  if (!wanted) drop_orphan(at, what.next);
  auto const tell = [&what](release_result result) {
    if (what.done) std::exchange(what.done, {})(result);
  };
  try {
    if (how.failure || how.reply.is_error()) {
      if (how.reply.is_error()) {
        send_release(what.before, std::move(what.done));
      } else {
        tell(release_result::unknown);
      }
      if (wanted) on_trouble(at, how);
      return;
    }
    auto const result = at.protocol().read_pass(how.reply);
    auto const ours =
        result.before == ownership::mine || how.resent || departed_.take_cleared(what.before.number);
    if (ours) note_released(what.before);
    tell(ours ? release_result::released : release_result::lost);
    if (!wanted) return;
    if (!result.next.empty()) {
      on_verdict(at, result.next.front(), how.sent_at);
    } else if (at.waiters.empty()) {
      withdraw(at);
    } else {
      send_acquire(at);
    }
  } catch (std::bad_alloc const&) {
    tell(release_result::unknown);
    if (wanted) ask_again_soon(at, what.next);
  }
}

/// What the server has taken from one lease it has taken from all that share its acquisition.
void core::lose(lease_state& what, loss_cause cause) noexcept {
  lease_state_ptr const pin{&what};
  lock_queue_ptr const at{&what.queue()};
  auto const was_holder = at->protocol().sharing != sharing::exclusive || at->holder == &what;
  auto const by_server =
      cause == loss_cause::taken_over || cause == loss_cause::key_gone || cause == loss_cause::forced;
  lose_alone(what, cause);
  if (auto const known = shared_holders_.find(at.get()); by_server && known != shared_holders_.end()) {
    known->second.for_each_of(what.number(), [this, cause](lease_state& one) {
      lease_state_ptr const last{&one};
      lose_alone(one, cause);
    });
  }
  if (was_holder && !at->waiters.empty() && !at->contender) begin_contending(*at);
}

void core::lose_alone(lease_state& what, loss_cause cause) noexcept {
  (void)leave_here(what);
  ++stats_.lost;
  loop_.defer(what.lose(cause));
  if (what.options().keep || still_to_release(what)) note_left_key(what, milliseconds{0});
  if (what.options().keep) {
    if (cause == loss_cause::limit_reached) {
      leave_key(what, std::nullopt, {});
    } else {
      stay_behind_answer(what.number(), time_point::max());
    }
  }
  log(log_level::warning, [&] {
    auto why = "lease of " + what.queue().title() + " lost: " + std::string{to_string(cause)};
    if (auto const down = servers_->down_because(); cause == loss_cause::unreachable && down) {
      why += std::string{": "} + down->what();
    }
    return why;
  });
}

}  // namespace holdfast::engine
