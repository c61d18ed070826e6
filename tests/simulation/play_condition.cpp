/// The part of a caller that waits on the condition of its lock, and notifies others. As the class has it.
#include <utility>

#include "script/names.hpp"
#include "scripts/condition.hpp"
#include "simulation/play.hpp"
#include "sync/idempotency_marks.hpp"
#include "wire/plain/condition.hpp"

namespace holdfast::simulation {

using namespace std::chrono_literals;

void actor::use_condition() {
  if (host_.dead()) return;
  if (world_.once_in(3)) {
    mark_ = host_.new_mark();
    host_.when_undisturbed([this] { notify(); });
  } else {
    host_.when_undisturbed([this] { lay_down(); });
  }
}

/// One attempt: what becomes of it without an answer is nobody's to say.
void actor::notify() {
  if (host_.dead()) return;
  auto const& name = habits_.wanted.names.front();
  auto const queue = names::queue(name);
  auto const waiting = names::condition(name);
  auto const counting = names::condition_until(name);
  auto const mark = names::done_prefix(name) + host_.core().constants().uuid + ":r" + std::to_string(mark_);
  auto const all = world_.once_in(3);
  auto const sent_at = world_.now();
  try {
    auto const script = scripts::condition::notify{.lock = {name},
                                                   .queue = {queue},
                                                   .waiting = {waiting},
                                                   .counting = {counting},
                                                   .done = {mark},
                                                   .answered = {},
                                                   .most = all ? 1000 : 1,
                                                   .grant_ms = engine::grant_ttl.count(),
                                                   .publish = engine::word_of(engine::publishing::counted),
                                                   .done_ms = sync::idempotency_marks::kept_ms}();
    auto const reply = host_.core().requests().ask(script, {.while_down = net::retry_policy::steady}).reply;
    if (!reply.is_error()) judge_.conditions().on_notified(reply.integer, all, sent_at);
  } catch (error const&) {
    // The client has been shut down, or the server was away.
  }
  give_back();
}

void actor::lay_down() {
  if (host_.dead()) return;
  auto& core = host_.core();
  auto const& name = habits_.wanted.names.front();
  auto const owner = core.constants().owner_id(lease_->number());
  judge_.on_release(lease_, owner);
  core.unpin(seat_);
  try {
    seat_ = core.pin(recipes::plain::condition, recipes::plain::seat_of_waiter(name, lease_->number()));
    core.lay_downs().lay_down(lease_, recipes::plain::begin_to_wait({.name = name, .owner = owner},
                                                                    core.policy_now(lease_->options())));
  } catch (error const& failure) {
    world_.trace([&] { return owner + " can't wait: " + failure.what(); });
    judge_.conditions().on_failed_begin();
    if (host_.dead()) return;
    if (lease_->status() == engine::lease_state::state::held) {
      give_back();
      return;
    }
    if (seat_) core.lay_downs().abandon_wait(*lease_, *seat_);
    go_without();
    return;
  }
  judge_.conditions().on_begin(this);
  wait_for_notification();
}

void actor::wait_for_notification() {
  auto& core = host_.core();
  stop_ = std::stop_source{};
  if (chance(habits_.cancels)) {
    world_.after(world_.between(nanoseconds{0}, habits_.longest_wait),
                 [stop = stop_]() mutable { stop.request_stop(); });
  }
  // There may be nobody to notify it.
  std::optional<std::chrono::nanoseconds> const wait =
      chance(habits_.timed) ? world_.between(1ms, habits_.longest_wait) : nanoseconds{20s};
  waiting_ = true;
  try {
    core.locks().async_acquire(
        seat_, options_, wait, stop_.get_token(),
        [this](engine::lease_state_ptr notified, std::shared_ptr<error const> const& failure) {
          on_wait_ended(std::move(notified), failure);
        },
        engine::lock_calls::particulars{.in_outage = engine::outages::waited_out,
                                        .number = lease_->number()});
  } catch (error const&) {  // the client has been shut down
    waiting_ = false;
    judge_.conditions().on_end(this, condition_judge::end::other);
    go_without();
  }
}

void actor::on_wait_ended(engine::lease_state_ptr notified, std::shared_ptr<error const> const& failure) {
  world_.trace([&] {
    return (lease_ ? host_.core().constants().owner_id(lease_->number()) : "a wait of one that is over") +
           (notified ? std::string{" is notified"}
                     : std::string{" isn't notified: "} + (failure ? failure->what() : "its time is up"));
  });
  if (!std::exchange(waiting_, false)) judge_.fail("a wait ended twice");
  auto& judge = judge_.conditions();
  if (host_.exiting()) {
    judge.on_end(this, condition_judge::end::other);
    // If its time was up it would ask, and that takes it out. A process may be over before that.
    if (lease_) judge_.excuse(host_.core().constants().owner_id(lease_->number()));
    return;
  }
  if (notified) {
    judge.on_end(this, condition_judge::end::woken);
    host_.core().leases().forget(notified);
    take_up();
  } else if (!failure) {
    host_.when_undisturbed([this] { ask_whether_notified(); });
  } else {
    judge.on_end(this, condition_judge::end::other);
    host_.core().lay_downs().abandon_wait(*lease_, *seat_);
    if (failure->code() == errc::cancelled) {
      take_up();
    } else {
      go_without();
    }
  }
}

void actor::ask_whether_notified() {
  using end = condition_judge::end;
  if (host_.dead()) return;
  auto& core = host_.core();
  auto const owner = core.constants().owner_id(lease_->number());
  auto how = end::other;
  try {
    auto const script = recipes::plain::leave({.name = habits_.wanted.names.front(), .owner = owner},
                                              recipes::plain::leaving::asks, core.publishing_now());
    auto const reply = core.requests().ask(script, {.while_down = net::retry_policy::steady}).reply;
    if (!reply.is_error()) how = reply.integer == 0 ? end::timed_out : end::woken;
  } catch (error const&) {
    // The client has been shut down, or the server was away.
  }
  judge_.conditions().on_end(this, how);
  if (host_.dead()) return;
  if (how == end::other) core.lay_downs().abandon_wait(*lease_, *seat_);
  take_up();
}

void actor::take_up() {
  host_.core().unpin(seat_);
  waiting_ = true;
  since_ = world_.now();
  stop_ = std::stop_source{};
  judge_.on_wait(habits_.wanted, amount_);
  try {
    host_.core().locks().async_acquire(
        queue_, options_, std::nullopt, stop_.get_token(),
        [this](engine::lease_state_ptr lease, std::shared_ptr<error const> const& failure) {
          on_taken_up(std::move(lease), failure);
        });
  } catch (error const&) {  // the client has been shut down
    waiting_ = false;
    judge_.on_answer(habits_.wanted, amount_);
    go_without();
  }
}

void actor::on_taken_up(engine::lease_state_ptr lease, std::shared_ptr<error const> const& failure) {
  if (!std::exchange(waiting_, false)) judge_.fail("a caller was answered twice");
  judge_.on_answer(habits_.wanted, amount_);
  if (host_.exiting()) {
    if (lease) judge_.fail("a process that ends has given a lock to one of its threads");
    return;
  }
  if (!lease) {
    if (failure && failure->code() == errc::closed) rounds_left_ = 1;
    go_without();
    return;
  }
  host_.core().lay_downs().take_up(*lease_, *lease);
  host_.core().leases().forget(lease_);
  lease_ = std::move(lease);
  judge_.on_granted(habits_.wanted, lease_, host_.core().constants().owner_id(lease_->number()), since_,
                    amount_);
  world_.after(world_.between(nanoseconds{0}, habits_.longest_hold), [this] { give_back(); });
}

/// The lease can't be had again.
void actor::go_without() {
  host_.core().unpin(seat_);
  host_.core().lay_downs().miss(*lease_, loss_cause::unreachable);
  host_.core().leases().forget(lease_);
  holding_ = false;
  next();
}

}  // namespace holdfast::simulation
