// How a lease ends: given back, handed on, or lost.

#include <algorithm>
#include <utility>

#include "engine/core.hpp"
#include "engine/failure.hpp"

namespace holdfast::engine {
namespace {

/// Before a refused release is sent again.
constexpr std::chrono::milliseconds release_pause{25};
constexpr std::chrono::milliseconds refused_release_pause{500};

/// What must be left of a lease that is handed over before its first renewal.
constexpr std::chrono::milliseconds shortest_handover{500};

/// A waiter asks again in each client_options::recheck: so many may be missed before it counts as dead.
constexpr int signs_of_life = 10;

/// Fewer leases than that are given back one by one: those who wait for them hear of it in one round trip.
constexpr std::size_t worth_a_batch = 16;

/// How long a request that cleans up stays worth sending: the queue of a lock nobody asks for is gone by
/// then.
constexpr std::chrono::minutes traces_last{1};

}  // namespace

handover core::terms_of(lock_options const& options) const noexcept {
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
bool core::still_to_release(held const& what) noexcept {
  auto const cause = what.cause();
  auto const of_one_name = cause == loss_cause::taken_over || cause == loss_cause::key_gone;
  auto const ended =
      cause == loss_cause::limit_reached || (of_one_name && what.place().how().several != nullptr);
  auto const ours = cause == loss_cause::forced || (ended && !what.options().keep);
  return ours && boot_clock::now() < what.deadline();
}

void core::release(held& what, release_handler done) {
  held_ptr const pin{&what};
  auto& at = what.place();
  if (what.drop_handle()) {
    if (done) done(what.now() == held::state::held ? release_result::released : release_result::lost);
    return;
  }
  if (what.now() != held::state::held) {
    if (still_to_release(what)) {
      send_release({what, terms_of(what.options())}, [done = std::move(done)](release_result) mutable {
        if (done) done(release_result::lost);
      });
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
  } else if (!at.waiters.empty() && !at.on_wire && at.how().pass != nullptr && by_message(at) &&
             !at.waiters.front().how->acknowledged()) {
    pass(at, what, std::move(done));
  } else {
    // Where the order is strict the next one has to be in line by the time the release looks who is the
    // first.
    auto const ask_first =
        !at.waiters.empty() && !at.on_wire && by_message(at) && at.how().order == order::strict;
    if (ask_first) {
      open_bid(at);
      ask_for(at);
    }
    send_release({what, terms_of(what.options())}, std::move(done));
    if (!at.on_wire) ask_after_release(at);
  }
}

/// The next caller of this process, behind a release that wakes those of others.
void core::ask_after_release(line& at) {
  if (at.waiters.empty()) return;
  open_bid(at);
  if (by_message(at) && at.how().channels == nullptr) {
    ask_for(at);
  } else {
    // They come when they have heard of it, or when their pause is over: leave them a chance.
    sleep(at, {.pttl = milliseconds{at.how().channels == nullptr ? 0 : 1}});
  }
}

/// It isn't held here any more. Renewal ends before anything is sent. False: others of this process still
/// have a share in its acquisition.
bool core::finish_here(held& what) {
  what.set_released();
  return leave_here(what);
}

bool core::leave_here(held& what) {
  renewer::remove(what);
  --stats_.held_now;
  auto& at = what.place();
  if (at.how().sharing == sharing::one) {
    if (at.holder == &what) at.holder = nullptr;
    if (at.how().order == order::strict) lock_inboxes_.leave(what.number(), broadcast::afterwards::linger);
    return true;
  }
  auto const known = crowds_.find(&at);
  auto const last = known->second.leave(what);
  if (known->second.empty()) crowds_.erase(known);
  return last;
}

/// Without giving the lock back. To others, those of this process too, it is busy until its ttl is over.
void core::keep(held& what, std::optional<milliseconds> left, release_handler done) {
  held_ptr const pin{&what};
  line_ptr const at{&what.place()};
  if (what.drop_handle()) {  // the last one decides
    if (done) done(what.now() == held::state::held ? release_result::kept : release_result::lost);
    return;
  }
  if (what.now() != held::state::held) {
    if (done) done(release_result::lost);
    return;
  }
  (void)finish_here(what);
  note_left_key(what, left.value_or(milliseconds{0}));
  leave_key(what, left, std::move(done));
  if (at->waiters.empty() || at->on_wire) return;
  open_bid(*at);
  ask_for(*at);
}

/// To its ttl, or to one of `left`.
void core::leave_key(held& what, std::optional<milliseconds> left, release_handler done) {
  if (!left && what.provisional) left = what.options().ttl;
  auto const until = left ? boot_clock::now() + *left : time_point::max();
  if (auto const late = outrun_.find(what.number()); late != outrun_.end()) late->second = until;
  presence_.stay_until(left ? until : what.deadline());
  if (left) {
    what.when_settled([this, pin = held_ptr{&what}, until, done = std::move(done)]() mutable {
      set_last_ttl(*pin, until, std::move(done));
    });
  } else if (done) {
    done(release_result::kept);
  }
}

/// A renewal that is the last one, and may be shorter than what is left.
void core::set_last_ttl(held& what, time_point until, release_handler done) {
  auto const left = std::max(std::chrono::ceil<milliseconds>(until - boot_clock::now()), milliseconds{1});
  auto const owner = owner_id(what.number());
  owned const mine{.name = what.place().name(), .owner = owner};
  auto const& how = what.place().how();
  servers_->set_ttl(
      how, left, mine,
      [this, at = line_ptr{&what.place()}, done = std::move(done)](net::answer&& answer) mutable {
        auto result = release_result::unknown;
        if (!answer.failure && answer.reply.is_array()) {
          result = at->how().read_renew(answer.reply).empty() ? release_result::kept : release_result::lost;
        } else {
          log(log_level::warning, "the last ttl of " + at->title() + " is not confirmed: " +
                                      (answer.failure ? answer.failure->what() : answer.reply.text) +
                                      "; it keeps the one it has");
        }
        if (done) done(result);
      },
      {.while_down = net::patience::endless, .give_up = what.deadline()});
}

/// To the next caller in this process, without a request: not too often in a row, so that others get their
/// turn, and only if it wants the lock on the same terms.
bool core::hand_over(line& at, held& from) {
  if (at.waiters.empty() || from.tokens_left <= 0 || at.how().sharing != sharing::one) return false;
  auto& next = at.waiters.front();
  auto const& options = next.how->options;
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
  held_ptr const heir{new held{&at, next.how, from.number(), token}};
  heir->set_deadline(from.deadline());
  heir->renew_at = from.renew_at;
  heir->renewing = from.renewing;
  heir->provisional = from.provisional;
  heir->tokens_left = from.tokens_left - 1;
  if (from.renewing) from.set_heir(heir);
  ++at.handoffs;
  ++stats_.handed_over;
  give(at, heir, now);
  return true;
}

core::giving_back::giving_back(held const& what, handover terms)
    : place{&what.place()}, number{what.number()}, how{terms}, deadline{what.deadline()} {}

void core::send_release(giving_back const& what, release_handler done) {
  auto& at = *what.place;
  auto const owner = owner_id(what.number);
  at.releasing = what.number;
  ++releasing_;
  servers_->release(at.how(), {.name = at.name(), .owner = owner}, what.how,
                    [this, what, done = std::move(done)](net::answer&& answer) mutable {
                      on_released(what, std::move(done), answer);
                    },
                    {.while_down = net::patience::endless, .give_up = what.deadline});
}

void core::on_released(giving_back const& what, release_handler done, net::answer const& answer) {
  auto& at = *what.place;
  if (at.releasing == what.number) at.releasing = 0;
  --releasing_;
  if (answer.reply.is_integer()) {
    // Sent twice, and not ours the second time: the first one did it; or what cleared a ghost away.
    auto const mine = at.how().read_release(answer.reply) == found::mine || answer.resent ||
                      departed_.take_cleared(what.number);
    if (mine) note_released(what);
    if (done) done(mine ? release_result::released : release_result::lost);
    return;
  }
  auto const now = boot_clock::now();
  if (answer.failure || now >= what.deadline) {
    if (!told_unreleased_) {
      log(log_level::warning, "release of " + at.title() + " is not confirmed: " +
                                  (answer.failure ? answer.failure->what() : answer.reply.text) +
                                  "; the lock is free at the end of its ttl at the latest");
    }
    if (done) done(release_result::unknown);
    return;
  }
  // The server is there and refuses: an error that passes is waited out, of any other the caller hears now;
  // both are tried again until the lease is over anyway.
  auto pause = release_pause;
  if (!passes(answer.reply)) {
    pause = refused_release_pause;
    log(log_level::warning, explain(answer.reply, at, url())->what());
    if (done) std::exchange(done, {})(release_result::unknown);
  }
  ++releasing_;
  later(std::min(now + pause, what.deadline), [this, what, done = std::move(done)]() mutable {
    --releasing_;
    send_release(what, std::move(done));
  });
}

/// At the end of the client, which may have very many; they are lost already. One by one, but in the same
/// write, those that somebody waits for.
void core::release_together(batches::leases those) {
  auto const one_by_one = [this](batches::leases const& leases) {
    for (auto const& one : leases) send_release({*one, terms_of(one->options())}, {});
  };
  if (those.size() < worth_a_batch) {
    one_by_one(those);
    return;
  }
  std::vector<std::string> owners;
  std::vector<owned> list;
  owners.reserve(those.size());
  list.reserve(those.size());
  auto give_up = time_point::min();
  for (auto const& one : those) {
    owners.push_back(owner_id(one->number()));
    list.push_back({.name = one->place().name(), .owner = owners.back()});
    give_up = std::max(give_up, one->deadline());
  }
  releasing_ += those.size();
  auto const& how = those.front()->place().how();
  servers_->run(how.release_unwanted(list),
                [this, one_by_one, read = how.read_wanted, those = std::move(those)](net::answer&& answer) {
                  if (answer.failure) return;  // the client has ended meanwhile
                  releasing_ -= those.size();
                  if (!answer.reply.is_array()) {
                    one_by_one(those);
                    return;
                  }
                  batches::leases wanted;
                  for (auto const place : read(answer.reply)) {
                    if (place < those.size()) wanted.push_back(those[place]);
                  }
                  stats_.released += those.size() - wanted.size();
                  one_by_one(wanted);
                },
                {.while_down = net::patience::endless, .give_up = give_up, .divisible = true});
}

void core::note_released(giving_back const& what) {
  ++stats_.released;
  departed_.note_release(what.place->how(), what.place->name(), what.number, what.how, what.deadline);
}

/// Back to the server, with the next caller of this process in line behind those who wait elsewhere: one
/// request.
void core::pass(line& at, held const& from, release_handler done) {
  auto& mine = open_bid(at);
  auto const number = mine.number;
  mine.joined = true;
  mine.answered = true;
  auto const next = next_ask(at);
  auto const owner = owner_id(from.number());
  servers_->run(at.how().pass({.name = at.name(), .owner = owner}, terms_of(from.options()), next),
                [this, pin = line_ptr{&at}, number, before = giving_back{from, terms_of(from.options())},
                 done = std::move(done)](net::answer&& how) mutable {
                  auto const mine_still = pin->on_wire && pin->on_wire->number == number;
                  if (!mine_still) drop_orphan(*pin, number);
                  if (how.failure || how.reply.is_error()) {
                    if (how.reply.is_error()) {
                      send_release(before, std::move(done));
                    } else if (done) {
                      done(release_result::unknown);
                    }
                    if (mine_still) on_trouble(*pin, how);
                    return;
                  }
                  auto const result = pin->how().read_pass(how.reply);
                  auto const ours =
                      result.before == found::mine || how.resent || departed_.take_cleared(before.number);
                  if (ours) note_released(before);
                  if (done) done(ours ? release_result::released : release_result::lost);
                  if (!mine_still) return;
                  pin->on_wire->now = bid::state::waiting;
                  if (result.next.empty()) {
                    if (pin->waiters.empty()) {
                      give_up_bid(*pin);
                    } else {
                      ask_for(*pin);
                    }
                  } else {
                    on_verdict(*pin, result.next.front(), how.sent_at);
                  }
                },
                {.while_down = net::patience::endless});
}

/// As whom the server may know it by now.
void core::release_as(line& at, held const& what) {
  giving_back back{what, terms_of(what.options())};
  back.place = line_ptr{&at};
  send_release(back, {});
}

void core::abandon(line const& at, std::uint64_t number, handover how) {
  if (at.how().abandon == nullptr) return;
  auto const owner = owner_id(number);
  servers_->abandon(at.how(), {.name = at.name(), .owner = owner}, how,
                    {.while_down = net::patience::endless, .give_up = boot_clock::now() + traces_last});
}

/// Once, at `when`.
void core::later(time_point when, callback<void()> f) {
  auto const place = delayed_.emplace(delayed_.end());
  place->what = std::move(f);
  place->bell.set([this, place] {
    auto now = std::move(place->what);
    delayed_.erase(place);
    now();
  });
  loop_.arm(place->bell, when);
}

/// What the server has taken from one lease it has taken from all that share its acquisition.
void core::lose(held& what, loss_cause cause) {
  held_ptr const pin{&what};
  line_ptr const at{&what.place()};
  auto const was_holder = at->how().sharing != sharing::one || at->holder == &what;
  std::vector<held_ptr> sharers;
  auto const by_server =
      cause == loss_cause::taken_over || cause == loss_cause::key_gone || cause == loss_cause::forced;
  if (auto const known = crowds_.find(at.get()); by_server && known != crowds_.end())
    sharers = known->second.of(what.number(), &what);
  lose_alone(what, cause);
  for (auto const& one : sharers) lose_alone(*one, cause);
  if (!was_holder || at->waiters.empty() || at->on_wire) return;
  open_bid(*at);
  ask_for(*at);
}

void core::lose_alone(held& what, loss_cause cause) {
  (void)leave_here(what);
  ++stats_.lost;
  if (auto tell = what.lose(cause)) loop_.defer(std::move(tell));
  if (what.options().keep || still_to_release(what)) note_left_key(what, milliseconds{0});
  auto why = "lease of " + what.place().title() + " lost: " + std::string{to_string(cause)};
  if (auto const down = servers_->down_because(); cause == loss_cause::unreachable && down) {
    why += std::string{": "} + down->what();
  }
  log(log_level::warning, std::move(why));
}

}  // namespace holdfast::engine
