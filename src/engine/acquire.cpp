// THE waiting loop: how a caller gets the lock, for every kind of lock.
//
// Callers of one name stand in line inside the client; the line has at most one bid on the wire (bid.cpp).
// Asking and being told are two sources of the same news, so every step may find that the other was faster.

#include <utility>

#include "engine/core.hpp"

namespace holdfast::engine {
namespace {

/// Grants in a row whose ttl was over when they came: once is a frozen process, so many are a ttl that can't
/// work.
constexpr int too_late = 5;

}  // namespace

waiter::waiter(line_ptr at, terms_ptr terms, std::function<void()> when_time_is_up)
    : place{std::move(at)}, how{std::move(terms)}, time_up{std::move(when_time_is_up)} {}

waiter::~waiter() = default;

void core::start(waiter& who) {
  auto& at = *who.place;
  who.since = boot_clock::now();
  ++stats_.waiting_now;
  if (exiting_elsewhere()) {
    if (who.once) finish(who);
    return;
  }
  auto const known_busy = at.holder != nullptr || (at.on_wire && at.on_wire->now == bid::state::waiting);
  if (who.once && known_busy) {
    finish(who);
    return;
  }
  if (at.waiters.empty() && join(who)) return;
  at.waiters.push_back(who);
  if (who.once) only_try(who);
  if (at.holder != nullptr) {
    ++stats_.waits;
    listen_ahead(at);
  } else if (!at.on_wire) {
    open_bid(at);
    ask_for(at);
  } else {
    if (at.on_wire->now == bid::state::leaving) {
      at.on_wire->now = bid::state::asking;
      (void)renew_bid(at);
    }
    // The request under way may be somebody's who waits through outages.
    if (who.once && !who.done)
      loop_.arm(who.time_up, who.since + options_.connect_timeout + options_.reply_timeout);
  }
}

/// Lets a caller go with whatever is in place. It isn't in the line any more afterwards.
void core::finish(waiter& who) {
  if (!who.lease && !who.failure) note_busy(who);
  auto& at = *who.place;
  if (who.in_line()) at.waiters.erase(waiter_list::s_iterator_to(who));
  if (who.among_tries()) {
    who.try_hook::unlink();
    if (at.tries->empty()) at.tries.reset();
  }
  who.time_up.disarm();
  who.done = true;
  --stats_.waiting_now;
  if (who.lease) {
    ++stats_.acquired;
  } else if (!who.failure && !who.once) {
    ++stats_.timed_out;
  }
  who.place.reset();
  who.finished();
}

/// The caller goes without the lock: its time is up, or it was cancelled.
void core::leave(waiter& who) {
  line_ptr const at = who.place;
  finish(who);
  if (!at->on_wire) return;
  if (at->waiters.empty()) {
    give_up_bid(*at);
  } else {
    (void)renew_bid(*at);
  }
}

void core::time_up(waiter& who) {
  auto const* const mine = who.in_line() ? who.place->on_wire.get() : nullptr;
  if (mine != nullptr && mine->trouble) {
    who.failure = mine->trouble;
  } else if (mine != nullptr && mine->now == bid::state::asking) {
    // A server that couldn't be asked is no busy lock. One that was, and has yet to give its first answer,
    // decides, unless it may take as long as an outage; and where replicas have to acknowledge, whether they
    // do decides each time.
    who.failure = servers_->down_because();
    auto const first_answer = !mine->answered && !who.steadfast;
    if (!who.failure && !who.once && (first_answer || who.how->acknowledged())) {
      only_try(who);
      // Once it has answered, or where others wait through outages from the start: not this one.
      if (mine->endless)
        loop_.arm(who.time_up, boot_clock::now() + options_.reply_timeout + options_.connect_timeout);
      return;
    }
  }
  leave(who);
}

/// It is in line, and doesn't wait beyond the next answer.
void core::only_try(waiter& who) {
  who.once = true;
  auto& tries = who.place->tries;
  if (!tries) tries = std::make_unique<try_list>();
  tries->push_back(who);
}

/// Those that only try have their answer: it's somebody else's. Those that wait are not looked at: a process
/// may have a million of them.
void core::finish_tries(line& at, std::shared_ptr<error const> const& why) {
  while (at.tries) {
    auto& who = at.tries->front();
    who.failure = why;
    finish(who);  // the last one takes the list with it
  }
}

/// Those who don't wait through outages from the start. True: others are left.
bool core::fail_impatient(line& at, std::shared_ptr<error const> const& why) {
  for (auto next = at.waiters.begin(); next != at.waiters.end();) {
    auto& who = *next++;
    if (who.steadfast && !who.once) continue;
    who.failure = why;
    finish(who);
  }
  return !at.waiters.empty();
}

void core::fail_all(line& at, std::shared_ptr<error const> const& why) {
  line_ptr const pin{&at};
  while (!at.waiters.empty()) {
    auto& first = at.waiters.front();
    first.failure = why;
    finish(first);
  }
  if (at.on_wire) give_up_bid(at);
}

void core::on_verdict(line& at, verdict const& what, time_point sent_at) {
  if (auto const* const yes = std::get_if<granted>(&what)) {
    on_granted(at, *yes, sent_at, at.on_wire->ttl);
  } else {
    on_busy(at, std::get<busy>(what), sent_at);
  }
}

void core::on_granted(line& at, granted const& what, time_point sent_at, milliseconds ttl) {
  line_ptr const pin{&at};
  auto& mine = *at.on_wire;
  if (at.waiters.empty()) {
    mine.joined = true;  // there is something to give back
    give_up_bid(at);
    return;
  }
  auto& first = at.waiters.front();
  auto const now = boot_clock::now();
  if (!at.how().leased) {
    if (mine.amount == first.amount) {
      take_for_good(at, what.token, now);
    } else {
      ask_anew(at);
    }
    return;
  }
  if (first.how->acknowledged() && !mine.acknowledged) {
    ask_for(at);  // it was asked for, or passed on, to somebody who left, or who needs no replicas
    return;
  }
  auto const deadline = deadline_of(sent_at, ttl);
  if (now >= deadline && ++mine.late >= too_late) {
    mine.joined = true;
    fail_all(at, std::make_shared<error const>(
                     errc::unreachable, url() + ": the server's answers for " + at.title() +
                                            " take longer than its ttl (" + std::to_string(ttl.count()) +
                                            " ms): use a longer one"));
    return;
  }
  auto const by_message = mine.now == bid::state::asking;  // while a request is under way
  if (now >= deadline || (ttl != first.how->options.ttl && !first.how->options.watchdog)) {
    // Too late, or not for so long as this caller wants: as its owner we can ask again.
    if (by_message) {
      mine.woken = true;
    } else {
      ask_for(at);
    }
    return;
  }
  if (by_message) outrun_.emplace(mine.number, time_point{});
  held_ptr const lease{new held{pin, first.how, mine.number, what.token}};
  lease->set_deadline(deadline);
  lease->tokens_left = what.count - 1;
  lease->provisional = ttl != first.how->options.ttl;
  if (first.how->options.watchdog) {
    lease->renew_at = std::min(sent_at + lease->how().every, now + (deadline - now) / 2);
  }
  end_bid(at);
  at.since = now;
  at.handoffs = 0;
  if (at.how().sharing == sharing::one) {
    give(at, lease, now);
    finish_tries(at, nullptr);
  } else {
    crowds_[&at].open(*lease, now);
    give(first, lease, now);
    serve_others(at);
  }
}

/// Nobody holds it: the caller has what it came for, and goes. Through a gate all go.
void core::take_for_good(line& at, std::int64_t token, time_point now) {
  auto const number = at.on_wire->number;
  end_bid(at);
  do {
    auto& first = at.waiters.front();
    first.lease = held_ptr{new held{line_ptr{&at}, first.how, number, token}};
    first.lease->set_released();
    finish(first);
  } while (at.how().sharing == sharing::gate && !at.waiters.empty());
  at.since = now;
  serve_others(at);
}

/// Where several may have it, the next caller asks as soon as the one before it has got it.
void core::serve_others(line& at) {
  while (!at.waiters.empty() && join(at.waiters.front())) {
  }
  if (at.waiters.empty() || at.on_wire) return;
  open_bid(at).answered = true;
  ask_for(at);
}

/// A caller that finds an acquisition of this process to share.
bool core::join(waiter& who) {
  auto& at = *who.place;
  if (at.how().sharing != sharing::crew) return false;
  auto const known = crowds_.find(&at);
  if (known == crowds_.end()) return false;
  auto const now = boot_clock::now();
  auto const lease = known->second.join(at, who.how, now);
  if (!lease) return false;
  ++stats_.handed_over;
  give(who, lease, now);
  return true;
}

/// The lock is this process's, and its first caller gets it.
void core::give(line& at, held_ptr const& lease, time_point now) {
  at.holder = lease.get();
  give(at.waiters.front(), lease, now);
}

void core::give(waiter& who, held_ptr const& lease, time_point now) {
  auto const& options = lease->options();
  lease->renewals_left = options.max_renewals > 0 ? options.max_renewals : -1;
  if (options.max_hold.count() > 0) lease->set_limit(now + options.max_hold);
  ++stats_.held_now;
  renewer_.add(*lease);
  presence_.touch();
  who.lease = lease;
  finish(who);
}

void core::on_busy(line& at, busy const& how, time_point sent_at) {
  line_ptr const pin{&at};
  auto& mine = *at.on_wire;
  auto const asked_to_wait = how.ahead >= 0;
  mine.last = {how, boot_clock::now()};
  mine.now = bid::state::waiting;
  if (clear_ghost(at, how.holder)) return;
  finish_tries(at, nullptr);
  auto const insists = !at.waiters.empty() && why_unheard(at) && wake_of(at) == wake::inbox;
  if (at.waiters.empty() || insists) {
    fail_all(at, why_unheard(at));
    return;
  }
  if (renew_bid(at)) return;
  if (mine.ticket.empty() && mine.asked_at == time_point{}) ++stats_.waits;
  presence_.touch();
  mine.asked_at = sent_at;
  mine.counter = how.counter;
  if (asked_to_wait) mine.ticket = std::to_string(how.ticket);
  if (mine.woken || (by_message(at) && !mine.asked_to_join)) {
    ask_for(at);
    return;
  }
  sleep(at, how);
}

}  // namespace holdfast::engine
