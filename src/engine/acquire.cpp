// THE waiting loop: how a caller gets the lock, for every kind of lock.
//
// Callers of one name stand in line inside the client; the line has at most one bid on the wire. Asking and
// being told are two sources of the same news, so every step may find that the other was faster.

#include <utility>

#include "engine/core.hpp"
#include "engine/failure.hpp"
#include "script/runner.hpp"

namespace holdfast::engine {
namespace {

/// Errors that pass by themselves: how long to leave the server alone.
constexpr std::chrono::milliseconds trouble_floor{20};

/// Grants in a row whose ttl was over when they came: once is a frozen process, so many are a ttl that can't
/// work.
constexpr int too_late = 5;

/// Behind the end of the holder's ttl: Redis counts in whole milliseconds, and those further back ask later,
/// so that one of them finds it free instead of all at once.
constexpr std::chrono::milliseconds expiry_slack{2};

}  // namespace

waiter::waiter(line_ptr at, terms_ptr terms, std::function<void()> when_time_is_up)
    : place{std::move(at)}, how{std::move(terms)}, time_up{std::move(when_time_is_up)} {}

waiter::~waiter() = default;

/// How callers of this lock are told, as the first of them wants it.
wake core::wake_of(line const& at) const noexcept {
  auto const own = at.waiters.front().how->options.wake;
  return own == wake::automatic ? options_.wake : own;
}

/// It is told by messages, as far as the server allows them.
bool core::by_message(line const& at) const noexcept {
  return wake_of(at) != wake::poll &&
         !(at.how().channels == nullptr ? inbox_.refused() : broadcast_.refused());
}

/// Null: nothing speaks against messages.
std::shared_ptr<error const> const& core::why_unheard(line const& at) const noexcept {
  return at.how().channels == nullptr ? no_inbox_ : no_broadcast_;
}

void core::start(waiter& who) {
  auto& at = *who.place;
  who.since = boot_clock::now();
  ++stats_.waiting_now;
  auto const known_busy = at.holder != nullptr || (at.on_wire && at.on_wire->now == bid::state::waiting);
  if (who.once && known_busy) {
    finish(who);
    return;
  }
  if (at.waiters.empty() && join(who)) return;
  at.waiters.push_back(who);
  if (at.holder != nullptr) {
    ++stats_.waits;
    // The release gets it in line behind callers elsewhere, where it should be reachable from the start.
    if (at.how().order == order::strict && by_message(at) && at.how().channels == nullptr) {
      inbox_.open();
    }
  } else if (!at.on_wire) {
    open_bid(at);
    ask_for(at);
  } else if (at.on_wire->now == bid::state::leaving) {
    at.on_wire->now = bid::state::asking;
    (void)renew_bid(at);
  }
}

/// Lets a caller go with whatever is in place. It isn't in the line any more afterwards.
void core::finish(waiter& who) {
  if (!who.lease && !who.failure) note_busy(who);
  if (who.is_linked()) who.place->waiters.erase(waiter_list::s_iterator_to(who));
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
  auto const* const mine = who.place->on_wire.get();
  if (mine != nullptr && mine->trouble) {
    who.failure = mine->trouble;
  } else if (mine != nullptr && mine->now == bid::state::asking) {
    // A server that couldn't be asked is no busy lock. One that was, and has yet to give its first answer,
    // decides.
    who.failure = connection_.down_because();
    if (!who.failure && !mine->answered) {
      who.once = true;
      return;
    }
  }
  leave(who);
}

/// Those that only try have their answer: it's somebody else's.
void core::finish_tries(line& at, std::shared_ptr<error const> const& why) {
  for (auto next = at.waiters.begin(); next != at.waiters.end();) {
    auto& who = *next++;
    if (!who.once) continue;
    who.failure = why;
    finish(who);
  }
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

/// A bid for the first caller of the line. The timer and the map point back at the line, which is pinned by
/// those that the bid is for.
bid& core::open_bid(line& at) {
  auto const& options = at.waiters.front().how->options;
  auto const number = ++last_number_;
  auto try_again = [this, &at] {
    ++stats_.rechecks;
    ask_for(at);
  };
  at.on_wire = std::make_unique<bid>(
      number, owner_id(number), std::move(try_again),
      backoff{std::min(options.poll_floor, options_.recheck), std::min(options.poll_cap, options_.recheck)});
  bids_.emplace(number, &at);
  if (at.how().channels != nullptr && !broadcast_.idle() && by_message(at)) {
    at.on_wire->listening = broadcast_.join(number, at.how().channels(at.name(), at.on_wire->owner));
  }
  return *at.on_wire;
}

/// It is over here, whatever is left of it in the server.
void core::end_bid(line& at) {
  auto const number = at.on_wire->number;
  bids_.erase(number);
  at.on_wire.reset();
  if (at.how().channels == nullptr) return;
  // Where the order is strict a channel belongs to one place in the queue.
  broadcast_.leave(number, at.how().order == order::strict ? broadcast::afterwards::forget
                                                           : broadcast::afterwards::linger);
}

/// Where the order is strict nobody inherits a place: if the bid may have one that was somebody else's, the
/// first caller of the line makes a new bid. That one gets in line before the old one leaves, so that a grant
/// which the old one has to give back comes to whoever is the first then.
bool core::renew_bid(line& at) {
  auto const& old = *at.on_wire;
  if (at.how().order == order::barging || !old.joined || old.since == at.waiters.front().since) return false;
  auto const number = old.number;
  auto const terms = old.terms;
  auto const answered = old.answered;
  auto const under_way = old.now != bid::state::waiting;
  end_bid(at);
  open_bid(at).answered = answered;
  ask_for(at);
  if (!under_way) abandon(at, number, terms);  // otherwise it is an orphan, and its answer decides
  return true;
}

/// An answer to a bid that is over. A message brought the lock first, or the caller left and another made a
/// bid of its own. Unless the lock is in use, the request may have left something: taken it for nobody, also
/// when it was overtaken by the release (they may trade places when the server has lost its scripts), or got
/// in line.
void core::drop_orphan(line const& at, std::uint64_t number) {
  if (!in_use(at, number)) abandon(at, number, {});
}

bool core::in_use(line const& at, std::uint64_t number) const noexcept {
  if (at.how().sharing == sharing::one) return at.holder != nullptr && at.holder->number() == number;
  auto const known = crowds_.find(&at);
  return known != crowds_.end() && known->second.contains(number);
}

ask core::next_ask(line& at) {
  auto& mine = *at.on_wire;
  auto const& first = at.waiters.front();
  auto const& options = first.how->options;
  mine.ttl = options.ttl;
  mine.amount = first.amount;
  mine.asked_to_join = by_message(at) && !first.once;
  mine.terms = terms_of(options);
  mine.since = first.since;
  return {.owner = mine.owner,
          .ttl = mine.ttl,
          .tokens = options.handoff_limit + 1,
          .amount = mine.amount,
          .join = mine.asked_to_join,
          .listening = mine.listening,
          .ticket = mine.ticket,
          .waited = std::chrono::duration_cast<std::chrono::microseconds>(boot_clock::now() - first.since),
          .terms = mine.terms};
}

void core::ask_for(line& at) {
  auto& mine = *at.on_wire;
  mine.now = bid::state::asking;
  mine.woken = false;
  mine.retry.disarm();
  auto const how = next_ask(at);
  mine.joined = mine.joined || (how.join && at.how().queues);
  auto const while_down = mine.answered             ? net::patience::endless
                          : at.waiters.front().once ? net::patience::little
                                                    : net::patience::steady;
  auto const what = at.how().acquire(at.name(), how);
  if (at.waiters.front().how->options.replicas > 0) {
    ask_with_replicas(at, what, while_down);
    return;
  }
  scripting::run(connection_, what,
                 [this, pin = line_ptr{&at}, number = mine.number](net::answer&& answer) {
                   on_asked(*pin, number, std::move(answer));
                 },
                 {.while_down = while_down});
}

void core::on_asked(line& at, std::uint64_t number, net::answer&& how) {
  if (!at.on_wire || at.on_wire->number != number) {
    drop_orphan(at, number);
    return;
  }
  if (how.failure || how.reply.is_error()) {
    on_trouble(at, how);
    return;
  }
  auto& mine = *at.on_wire;
  mine.answered = true;
  mine.trouble.reset();
  on_verdict(at, at.how().read_acquire(how.reply), how.sent_at);
}

void core::on_verdict(line& at, verdict const& what, time_point sent_at) {
  if (auto const* const yes = std::get_if<granted>(&what)) {
    on_granted(at, *yes, sent_at, at.on_wire->ttl);
  } else {
    on_busy(at, std::get<busy>(what), sent_at);
  }
}

void core::on_trouble(line& at, net::answer const& how) {
  auto& mine = *at.on_wire;
  mine.now = bid::state::waiting;
  if (how.failure) {
    // Whether the request was carried out is unknown: giving the bid up makes sure that nothing of it stays.
    mine.joined = mine.answered || how.sent;
    fail_all(at, how.failure);
    return;
  }
  mine.joined = mine.answered && mine.joined;
  auto const why = explain(how.reply, at, url());
  if (!passes(how.reply)) {
    fail_all(at, why);
    return;
  }
  line_ptr const pin{&at};
  finish_tries(at, why);
  if (at.waiters.empty()) {
    give_up_bid(at);
    return;
  }
  mine.trouble = why;
  loop_.arm(mine.retry, boot_clock::now() + trouble_floor + mine.pause.next(random_));
}

void core::on_granted(line& at, granted const& what, time_point sent_at, milliseconds ttl) {
  line_ptr const pin{&at};
  auto& mine = *at.on_wire;
  if (at.waiters.empty()) {
    mine.now = bid::state::waiting;
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
  auto const deadline = deadline_of(sent_at, ttl);
  if (now >= deadline && ++mine.late >= too_late) {
    mine.now = bid::state::waiting;
    mine.joined = true;
    fail_all(at, std::make_shared<error const>(
                     errc::unreachable, url() + ": the server's answers for " + at.title() +
                                            " take longer than its ttl (" + std::to_string(ttl.count()) +
                                            " ms): use a longer one"));
    return;
  }
  if (now >= deadline || (ttl != first.how->options.ttl && !first.how->options.watchdog)) {
    ask_for(at);  // too late, or not for so long as this caller wants: as its owner we can ask again
    return;
  }
  held_ptr const lease{new held{pin, first.how, mine.number, what.token}};
  lease->set_deadline(deadline);
  lease->tokens_left = what.count - 1;
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

/// What was asked for is no more what the first caller wants: back with it.
void core::ask_anew(line& at) {
  auto const number = at.on_wire->number;
  auto const terms = at.on_wire->terms;
  end_bid(at);
  abandon(at, number, terms);
  open_bid(at).answered = true;
  ask_for(at);
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

/// Until a message, the end of the holder's ttl, the next re-check.
void core::sleep(line& at, busy const& how) {
  auto& mine = *at.on_wire;
  mine.now = bid::state::waiting;
  auto const now = boot_clock::now();
  std::chrono::nanoseconds pause = options_.recheck;
  if (by_message(at)) {
    if (at.how().channels == nullptr) {
      inbox_.open();
    } else if (!mine.listening) {
      mine.listening = broadcast_.listen(mine.number, at.how().channels(at.name(), mine.owner));
      if (mine.listening) {  // they were opened for somebody else, perhaps after this ask
        ask_for(at);
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
void core::give_up_bid(line& at) {
  auto& mine = *at.on_wire;
  if (mine.now != bid::state::waiting) {
    mine.now = bid::state::leaving;  // the answer to the request under way decides
    return;
  }
  auto const number = mine.number;
  auto const traces = mine.joined;
  auto const terms = mine.terms;
  end_bid(at);
  if (traces) abandon(at, number, terms);
}

}  // namespace holdfast::engine
