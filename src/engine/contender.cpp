// A line's candidate on the wire: what it asks, when it asks again, and how it leaves.

#include <algorithm>
#include <utility>

#include "engine/core.hpp"
#include "engine/failure.hpp"
#include "script/names.hpp"

namespace holdfast::engine {
namespace {

/// Errors that pass by themselves: how long to leave the server alone.
constexpr std::chrono::milliseconds trouble_floor{20};

/// Behind the end of the holder's ttl: Redis counts in whole milliseconds, and those further back ask later,
/// so that one of them finds it free instead of all at once.
constexpr std::chrono::milliseconds expiry_slack{2};

}  // namespace

wake core::wake_of(lock_options const& of) const noexcept {
  return of.wake == wake::automatic ? options_.wake : of.wake;
}

/// How callers of this lock are told, as the first of them wants it.
wake core::wake_of(lock_queue const& at) const noexcept {
  return wake_of(at.waiters.front().options->options);
}

/// It is told by messages, as far as the server allows them.
bool core::by_message(lock_queue const& at) const noexcept {
  return wake_of(at) != wake::poll && !subscriptions_of(at).refused();
}

/// Null: nothing speaks against messages.
std::shared_ptr<error const> const& core::why_unheard(lock_queue const& at) const noexcept {
  return at.protocol().channels == nullptr ? no_inbox_ : no_broadcast_;
}

/// The channels through which it is told.
broadcast const& core::subscriptions_of(lock_queue const& at) const noexcept {
  return at.protocol().channels != nullptr ? broadcast_ : lock_inboxes_;
}

broadcast& core::subscriptions_of(lock_queue const& at) noexcept {
  return const_cast<broadcast&>(std::as_const(*this).subscriptions_of(at));
}

/// Those of a bid with that owner id.
std::vector<std::string> core::channels_of(lock_queue const& at, std::string_view owner) const {
  if (at.protocol().channels != nullptr) return at.protocol().channels(at.name(), owner);
  if (at.protocol().several == nullptr) return {names::inbox(uuid_, at.name())};
  std::vector<std::string> all;
  for (auto const name : at.protocol().several->all(at.name())) all.push_back(names::inbox(uuid_, name));
  return all;
}

/// For callers that wait for a lease of this process: where the order is strict, its release gets the next
/// one in line behind callers elsewhere, and that one should be reachable from the start.
void core::listen_ahead(lock_queue& at) {
  if (at.protocol().order != order::strict || at.protocol().channels != nullptr || !by_message(at)) return;
  (void)lock_inboxes_.listen(at.holder->number(), channels_of(at, {}));  // until the lease is over
}

/// A bid for the first caller of the line. The timer and the map point back at the line, which is pinned by
/// those that the bid is for.
contender& core::open_contender(lock_queue& at) {
  auto const& options = at.waiters.front().options->options;
  auto const number = ++last_number_;
  auto try_again = [this, &at] {
    ++stats_.rechecks;
    send_acquire(at);
  };
  auto mine = std::make_unique<contender>(
      number, owner_id(number), std::move(try_again),
      backoff{std::min(options.poll_floor, options_.recheck), std::min(options.poll_cap, options_.recheck)});
  if (auto& ears = subscriptions_of(at); !ears.idle() && by_message(at))
    mine->listening = ears.join(number, channels_of(at, mine->owner));
  try {
    bids_.emplace(number, &at);
  } catch (...) {
    subscriptions_of(at).leave(number, broadcast::afterwards::linger);
    throw;
  }
  at.contender = std::move(mine);
  return *at.contender;
}

/// A bid that asks at once. When there is no memory for it, it is begun a little later.
void core::begin_contending(lock_queue& at, bool answered) noexcept {
  try {
    open_contender(at).answered = answered;
  } catch (std::bad_alloc const&) {
    mend_soon();
    return;
  }
  send_acquire(at);
}

/// Nothing was sent for the bid with that number, for want of memory.
void core::on_unsent(lock_queue& at, std::uint64_t number) noexcept {
  if (is_contender(at, number)) at.contender->current = contender::state::waiting;
  ask_again_soon(at, number);
}

/// The bid with that number is left as something failed for want of memory, with no request under way.
void core::ask_again_soon(lock_queue& at, std::uint64_t number) noexcept {
  if (!is_contender(at, number)) {
    mend_soon();  // another one may have to be begun
  } else if (at.contender->current != contender::state::asking) {
    at.contender->current = contender::state::waiting;
    at.contender->trouble = no_memory_;
    finish_tries(at, no_memory_);
    if (at.waiters.empty()) {
      withdraw(at);
    } else {
      loop_.arm(at.contender->retry, boot_clock::now() + memory_pause);
    }
  }
}

/// It is over here, whatever is left of it in the server.
void core::end_contender(lock_queue& at) noexcept {
  auto const number = at.contender->number;
  bids_.erase(number);
  at.contender.reset();
  if (at.protocol().channels == nullptr) {
    lock_inboxes_.leave(number, broadcast::afterwards::linger);
    return;
  }
  // Where the order is strict a channel belongs to one place in the queue.
  broadcast_.leave(number, at.protocol().order == order::strict ? broadcast::afterwards::forget
                                                                : broadcast::afterwards::linger);
}

/// Where the order is strict nobody inherits a place: if the bid may have one that was somebody else's, the
/// first caller of the line makes a new bid. That one gets in line before the old one leaves, so that a grant
/// which the old one has to give back comes to whoever is the first then.
bool core::renew_contender(lock_queue& at) noexcept {
  auto const& old = *at.contender;
  if (at.protocol().order == order::barging || !old.joined || old.since == at.waiters.front().since)
    return false;
  auto const number = old.number;
  auto const terms = old.policy;
  auto const answered = old.answered;
  auto const under_way = old.current != contender::state::waiting;
  end_contender(at);
  begin_contending(at, answered);
  if (!under_way) abandon(at, number, terms);  // otherwise it is an orphan, and its answer decides
  return true;
}

/// An answer to a bid that is over. A message brought the lock first, or the caller left and another made a
/// bid of its own. Unless the lock is in use, or kept, the request may have left something: taken it for
/// nobody, also when it was overtaken by the release (they may trade places when the server has lost its
/// scripts), or got in line.
void core::drop_orphan(lock_queue& at, std::uint64_t number) noexcept {
  auto const late = outrun_.extract(number);
  auto const kept_until = late ? late.mapped() : time_point{};
  if (kept_until == time_point{}) {
    if (!in_use(at, number)) abandon(at, number, terms_of({}));
    return;
  }
  // Overtaken by the last ttl, in the same way, it has given the key its usual one.
  if (kept_until != time_point::max() && boot_clock::now() < kept_until)
    set_last_ttl(at, number, kept_until, kept_until);
}

bool core::in_use(lock_queue const& at, std::uint64_t number) const noexcept {
  if (at.protocol().sharing == sharing::exclusive)
    return at.holder != nullptr && at.holder->number() == number;
  auto const known = shared_holders_.find(&at);
  return known != shared_holders_.end() && known->second.contains(number);
}

acquire_request core::next_request(lock_queue& at) {
  auto& mine = *at.contender;
  auto const& first = at.waiters.front();
  auto const& options = first.options->options;
  mine.ttl = options.ttl;
  mine.amount = first.amount;
  mine.requested_join = by_message(at) && !first.once;
  mine.policy = terms_of(options);
  mine.since = first.since;
  return {.owner = mine.owner,
          .ttl = mine.ttl,
          .tokens = options.handoff_limit + 1,
          .amount = mine.amount,
          .join = mine.requested_join,
          .listening = mine.listening,
          .ticket = mine.ticket,
          .waited = std::chrono::duration_cast<std::chrono::microseconds>(boot_clock::now() - first.since),
          .newest = mine.counter,
          .policy = mine.policy};
}

void core::send_acquire(lock_queue& at) noexcept {
  auto& mine = *at.contender;
  auto const number = mine.number;
  mine.current = contender::state::asking;
  mine.woken = false;
  mine.acknowledged = false;
  mine.retry.disarm();
  try {
    try_send_acquire(at);
  } catch (std::bad_alloc const&) {
    on_unsent(at, number);
  }
}

void core::try_send_acquire(lock_queue& at) {
  auto& mine = *at.contender;
  auto const how = next_request(at);
  mine.joined = mine.joined || (how.join && at.protocol().queues);
  auto const& first = at.waiters.front();
  auto const while_down = mine.answered || (first.steadfast && !first.once) ? net::retry_policy::endless
                          : first.once                                      ? net::retry_policy::little
                                                                            : net::retry_policy::steady;
  mine.endless = while_down == net::retry_policy::endless;
  if (at.waiters.front().options->acknowledged()) {
    ask_acknowledged(at, how, while_down);
    return;
  }
  servers_->acquire(at.protocol(), at.name(), how,
                    [this, pin = lock_queue_ptr{&at}, number = mine.number](net::response&& answer) {
                      on_acquire_reply(*pin, number, answer);
                    },
                    {.while_down = while_down});
}

void core::on_acquire_reply(lock_queue& at, std::uint64_t number, net::response const& how) noexcept {
  if (!is_contender(at, number)) {
    drop_orphan(at, number);
    return;
  }
  lock_queue_ptr const pin{&at};
  at.contender->current = contender::state::waiting;
  try {
    if (how.failure || how.reply.is_error()) {
      on_trouble(at, how);
      return;
    }
    auto& mine = *at.contender;
    mine.answered = true;
    mine.trouble.reset();
    on_verdict(at, at.protocol().read_acquire(how.reply), how.sent_at);
  } catch (std::bad_alloc const&) {
    ask_again_soon(at, number);
  }
}

void core::on_trouble(lock_queue& at, net::response const& how) {
  auto& mine = *at.contender;
  mine.current = contender::state::waiting;
  if (how.failure) {
    // Whether the request was carried out is unknown: giving the bid up makes sure that nothing of it stays.
    mine.joined = mine.answered || how.sent;
    lock_queue_ptr const pin{&at};
    if (!mine.endless && fail_impatient(at, how.failure)) {
      send_acquire(at);  // the one for whom it was asked had less patience than others
    } else {
      fail_all(at, how.failure);
    }
    return;
  }
  mine.joined = mine.answered && mine.joined;
  auto const why = explain(how.reply, at, url());
  if (!passes(how.reply)) {
    fail_all(at, why);
    return;
  }
  lock_queue_ptr const pin{&at};
  finish_tries(at, why);
  if (at.waiters.empty()) {
    withdraw(at);
    return;
  }
  mine.trouble = why;
  loop_.arm(mine.retry, boot_clock::now() + trouble_floor + mine.pause.next(random_));
}

/// What was asked for is no more what the first caller wants: back with it.
void core::ask_anew(lock_queue& at) noexcept {
  auto const number = at.contender->number;
  auto const terms = at.contender->policy;
  end_contender(at);
  abandon(at, number, terms);
  begin_contending(at, true);
}

/// Until a message, the end of the holder's ttl, the next re-check.
void core::sleep(lock_queue& at, busy const& how) {
  auto& mine = *at.contender;
  mine.current = contender::state::waiting;
  auto const now = boot_clock::now();
  std::chrono::nanoseconds pause = options_.recheck;
  if (by_message(at)) {
    if (!mine.listening) {
      mine.listening = subscriptions_of(at).listen(mine.number, channels_of(at, mine.owner));
      if (mine.listening) {  // they were opened for somebody else, perhaps after this ask
        send_acquire(at);
        return;
      }
    }
    if (how.pttl.count() >= 0) {
      auto const place = std::max<std::int64_t>(how.ahead, 0) + 1;
      pause = std::min<std::chrono::nanoseconds>(pause, how.pttl + expiry_slack * place);
    }
  } else {
    pause = mine.pause.next(random_);
    if (how.pttl.count() >= 0) pause = std::min<std::chrono::nanoseconds>(pause, how.pttl + expiry_slack);
  }
  // A message may have been lost, and the lock be free or even ours: nobody goes away without having looked.
  auto const last_look = at.waiters.front().last_look;
  loop_.arm(mine.retry, last_look > now ? std::min(now + pause, last_look) : now + pause);
}

/// Nobody here wants the lock any more: leaves nothing behind, and passes on a wake-up that others may be
/// waiting for.
void core::withdraw(lock_queue& at) noexcept {
  auto& mine = *at.contender;
  if (mine.current != contender::state::waiting) {
    mine.current = contender::state::leaving;  // the answer to the request under way decides
    return;
  }
  auto const number = mine.number;
  auto const traces = mine.joined;
  auto const terms = mine.policy;
  end_contender(at);
  if (traces) abandon(at, number, terms);
}

}  // namespace holdfast::engine
