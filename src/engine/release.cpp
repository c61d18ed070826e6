// How a lease ends: given back, handed on, or lost.

#include <utility>

#include "engine/core.hpp"
#include "engine/failure.hpp"
#include "script/runner.hpp"

namespace holdfast::engine {
namespace {

/// Before a refused release is sent again.
constexpr std::chrono::milliseconds release_pause{25};
constexpr std::chrono::milliseconds refused_release_pause{500};

/// What must be left of a lease that is handed over before its first renewal.
constexpr std::chrono::milliseconds shortest_handover{500};

/// How long a request that cleans up stays worth sending: the queue of a lock nobody asks for is gone by
/// then.
constexpr std::chrono::minutes traces_last{1};

}  // namespace

handover core::terms_of(lock_options const& options) noexcept {
  return {.starvation = options.starvation_limit};
}

void core::release(held& what, release_handler done) {
  held_ptr const pin{&what};
  auto& at = what.place();
  if (what.now() != held::state::held) {
    // A lease that reached a limit may still be ours on the server: others needn't wait for its ttl.
    if (what.cause() == loss_cause::limit_reached && boot_clock::now() < what.deadline()) {
      send_release(at, what.number(), terms_of(what.options()), what.deadline(),
                   [done = std::move(done)](release_result) mutable {
                     if (done) done(release_result::lost);
                   });
    } else if (done) {
      done(release_result::lost);
    }
    return;
  }
  renewer::remove(what);  // before the release leaves
  what.set_released();
  at.holder = nullptr;
  --stats_.held_now;
  if (hand_over(at, what)) {
    if (done) done(release_result::released);
  } else if (!at.waiters.empty() && by_inbox()) {
    pass(at, what, std::move(done));
  } else {
    send_release(at, what.number(), terms_of(what.options()), what.deadline(), std::move(done));
    // Without messages the others come when their pause is over: leave them a chance.
    if (!at.waiters.empty()) {
      open_bid(at);
      sleep(at, {});
    }
  }
}

/// To the next caller in this process, without a request: not too often in a row, so that others get their
/// turn, and only if it wants the lock on the same terms.
bool core::hand_over(line& at, held& from) {
  if (at.waiters.empty() || from.tokens_left <= 0) return false;
  auto& next = at.waiters.front();
  auto const& options = next.how->options;
  auto const now = boot_clock::now();
  if (std::cmp_greater_equal(at.handoffs, options.handoff_limit) || now - at.since >= options.handoff_time)
    return false;
  if (!options.watchdog || !from.options().watchdog || options.ttl != from.options().ttl) return false;
  // A lease granted by message starts out short; any other that is short has a renewal that isn't answered.
  auto const left = from.deadline() - now;
  if (left < options.ttl / 2 &&
      (from.renewing || left < std::min<std::chrono::nanoseconds>(options.ttl / 2, shortest_handover))) {
    return false;
  }
  held_ptr const heir{new held{&at, next.how, from.number(), from.token() + 1}};
  heir->set_deadline(from.deadline());
  heir->renew_at = from.renew_at;
  heir->renewing = from.renewing;
  heir->tokens_left = from.tokens_left - 1;
  if (from.renewing) from.set_heir(heir);
  ++at.handoffs;
  ++stats_.handed_over;
  give(at, heir, now);
  return true;
}

void core::send_release(line& at, std::uint64_t number, handover how, time_point deadline,
                        release_handler done) {
  auto const owner = owner_id(number);
  scripting::run(connection_, at.how().release({.name = at.name(), .owner = owner}, how),
                 [this, again = release_again{&at, number, how, deadline}, done = std::move(done)](
                     net::answer&& answer) mutable { on_released(again, std::move(done), answer); },
                 {.while_down = net::patience::endless, .give_up = deadline});
}

void core::on_released(release_again const& what, release_handler done, net::answer const& answer) {
  auto& at = *what.place;
  if (answer.reply.is_integer()) {
    // Sent twice, and not ours the second time: the first one did it.
    auto const mine = at.how().read_release(answer.reply) == found::mine || answer.resent;
    if (mine) ++stats_.released;
    if (done) done(mine ? release_result::released : release_result::lost);
    return;
  }
  auto const now = boot_clock::now();
  if (answer.failure || now >= what.deadline) {
    log(log_level::warning, "release of \"" + at.name() + "\" is not confirmed: " +
                                (answer.failure ? answer.failure->what() : answer.reply.text) +
                                "; the lock is free at the end of its ttl at the latest");
    if (done) done(release_result::unknown);
    return;
  }
  // The server is there and refuses: an error that passes is waited out, of any other the caller hears now;
  // both are tried again until the lease is over anyway.
  auto pause = release_pause;
  if (!passes(answer.reply)) {
    pause = refused_release_pause;
    log(log_level::warning, explain(answer.reply, at.name(), url())->what());
    if (done) std::exchange(done, {})(release_result::unknown);
  }
  later(std::min(now + pause, what.deadline), [this, what, done = std::move(done)]() mutable {
    send_release(*what.place, what.number, what.how, what.deadline, std::move(done));
  });
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
  auto const terms = terms_of(from.options());
  scripting::run(connection_, at.how().pass({.name = at.name(), .owner = owner}, terms, next),
                 [this, pin = line_ptr{&at}, number, from_number = from.number(), terms,
                  deadline = from.deadline(), done = std::move(done)](net::answer&& how) mutable {
                   auto const mine_still = pin->on_wire && pin->on_wire->number == number;
                   if (how.failure || how.reply.is_error()) {
                     if (how.reply.is_error()) {
                       send_release(*pin, from_number, terms, deadline, std::move(done));
                     } else if (done) {
                       done(release_result::unknown);
                     }
                     if (mine_still) on_trouble(*pin, how);
                     return;
                   }
                   auto const result = pin->how().read_pass(how.reply);
                   auto const ours = result.before == found::mine || how.resent;
                   if (ours) ++stats_.released;
                   if (done) done(ours ? release_result::released : release_result::lost);
                   if (!mine_still) return;
                   if (result.next.empty()) {
                     if (pin->waiters.empty()) {
                       pin->on_wire->now = bid::state::waiting;
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

void core::abandon(line const& at, std::uint64_t number, handover how) {
  auto const owner = owner_id(number);
  scripting::run(connection_, at.how().abandon({.name = at.name(), .owner = owner}, how), {},
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

void core::lose(held& what, loss_cause cause) {
  held_ptr const pin{&what};
  line_ptr const at{&what.place()};
  renewer::remove(what);
  --stats_.held_now;
  ++stats_.lost;
  if (auto tell = what.lose(cause)) loop_.defer(std::move(tell));
  auto why = "lease of \"" + at->name() + "\" lost: " + std::string{to_string(cause)};
  if (cause == loss_cause::unreachable && connection_.down_because()) {
    why += std::string{": "} + connection_.down_because()->what();
  }
  log(log_level::warning, std::move(why));
  if (at->holder != &what) return;
  at->holder = nullptr;
  if (at->waiters.empty()) return;
  open_bid(*at);
  ask_for(*at);
}

}  // namespace holdfast::engine
