// How a lease ends: given back, handed on, or lost.

#include <utility>

#include "engine/core.hpp"
#include "engine/failure.hpp"
#include "script/runner.hpp"

namespace holdfast::engine {

handover core::terms_of(lock_options const& options) noexcept {
  return {.starvation = options.starvation_limit};
}

void core::release(held& what, release_handler done) {
  held_ptr const pin{&what};
  auto& at = what.place();
  if (what.now() != held::state::held) {
    // A lease that reached a limit may still be ours on the server: others needn't wait for its ttl.
    if (what.cause() == loss_cause::limit_reached && boot_clock::now() < what.deadline()) {
      send_release(at, what.number(), what.deadline(), [done = std::move(done)](release_result) {
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
    send_release(at, what.number(), what.deadline(), std::move(done));
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
  if (at.waiters.empty() || from.tokens_left == 0) return false;
  auto& next = at.waiters.front();
  auto const& options = next.how->options;
  auto const now = boot_clock::now();
  if (at.handoffs >= options.handoff_limit || now - at.since >= options.handoff_time) return false;
  if (!options.watchdog || !from.options().watchdog || options.ttl != from.options().ttl) return false;
  if (from.deadline() - now < options.ttl / 2) return false;
  held_ptr const heir{new held{&at, next.how, from.number(), from.token() + 1}};
  heir->set_deadline(from.deadline());
  heir->renew_at = from.renew_at;
  heir->renewing = from.renewing;
  heir->tokens_left = from.tokens_left - 1;
  heir->renewals_left = options.max_renewals > 0 ? options.max_renewals : -1;
  if (options.max_hold.count() > 0) heir->set_limit(now + options.max_hold);
  if (from.renewing) from.set_heir(heir);
  at.holder = heir.get();
  ++at.handoffs;
  ++stats_.handed_over;
  ++stats_.held_now;
  renewer_.add(*heir);
  next.lease = heir;
  finish(next);
  return true;
}

void core::send_release(line& at, std::uint64_t number, time_point deadline, release_handler done) {
  auto const owner = owner_id(number);
  auto options = lock_options{};
  scripting::run(connection_, at.how().release({.name = at.name(), .owner = owner}, terms_of(options)),
                 [this, pin = line_ptr{&at}, number, deadline, done = std::move(done)](net::answer&& how) {
                   on_released(pin, number, deadline, done, how);
                 },
                 {.while_down = net::patience::endless, .give_up = deadline});
}

void core::on_released(line_ptr at, std::uint64_t number, time_point deadline, release_handler const& done,
                       net::answer const& how) {
  if (how.reply.is_error() && passes(how.reply) && boot_clock::now() < deadline && connection_.up()) {
    send_release(*at, number, deadline, done);
    return;
  }
  auto result = release_result::unknown;
  if (how.reply.is_integer()) {
    auto const before = at->how().read_release(how.reply);
    // Sent twice, and not ours the second time: the first one did it.
    result = before == found::mine || how.resent ? release_result::released : release_result::lost;
  }
  if (result == release_result::released) ++stats_.released;
  if (result == release_result::unknown) {
    log(log_level::warning, "release of \"" + at->name() + "\" is not confirmed: " +
                                (how.failure ? how.failure->what() : how.reply.text) +
                                "; the lock is free at the end of its ttl at the latest");
  }
  if (done) done(result);
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
  scripting::run(connection_,
                 at.how().pass({.name = at.name(), .owner = owner}, terms_of(from.options()), next),
                 [this, pin = line_ptr{&at}, number, done = std::move(done)](net::answer&& how) {
                   auto const mine_still = pin->on_wire && pin->on_wire->number == number;
                   if (how.failure || how.reply.is_error()) {
                     if (mine_still) on_trouble(*pin, how);
                     if (done) done(release_result::unknown);
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
                   } else if (auto const* const yes = std::get_if<granted>(&result.next.front())) {
                     on_granted(*pin, yes->token, how.sent_at, pin->on_wire->ttl);
                   } else {
                     on_busy(*pin, std::get<busy>(result.next.front()), how.sent_at);
                   }
                 },
                 {.while_down = net::patience::endless});
}

void core::abandon(std::string_view name, recipe const& how, std::uint64_t number) {
  auto const owner = owner_id(number);
  scripting::run(
      connection_, how.abandon({.name = name, .owner = owner}, terms_of({})), {},
      {.while_down = net::patience::endless, .give_up = boot_clock::now() + std::chrono::minutes{1}});
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
