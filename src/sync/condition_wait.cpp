#include "sync/condition_wait.hpp"

#include "engine/failure.hpp"
#include "wire/plain/condition.hpp"

namespace holdfast::sync {

namespace plain = recipes::plain;
using engine::lease_state;

condition_wait::condition_wait(engine::core& engine, std::string const& name, lease_state& held)
    : core_{engine},
      name_{name},
      lease_{held},
      seat_{engine.shared_from_this(), plain::condition, plain::seat_of_waiter(name, held.number())},
      lock_{engine.shared_from_this(), held.queue().lock_recipe(), name} {}

condition_wait::~condition_wait() {
  if (waits_ && lease_.status() != lease_state::state::held)
    core_.lay_downs().abandon_wait(lease_, *seat_.queue());
  if (laid_down_) core_.lay_downs().miss(lease_, cause_);
}

call condition_wait::beginning() {
  auto const owner = core_.constants().owner_id(lease_.number());
  auto script = plain::begin_to_wait({.name = name_, .owner = owner}, core_.policy_now(lease_.options()));
  waits_ = true;
  return script;
}

/// Nothing has to acknowledge the wait.
engine::effective_options_ptr condition_wait::seat_options() const {
  holdfast::lock_options options{};
  options.ttl = lease_.options().ttl;
  options.wake = lease_.options().wake;
  options.poll_floor = lease_.options().poll_floor;
  options.poll_cap = lease_.options().poll_cap;
  return core_.effective(options);
}

engine::lock_calls::particulars condition_wait::seat_particulars() const {
  return {.in_outage = engine::outages::waited_out, .number = lease_.number()};
}

void condition_wait::was_notified(engine::lease_state_ptr& notified) noexcept {
  waits_ = false;
  core_.leases().forget(notified);
}

bool condition_wait::goes_on_after(error const& failure) noexcept {
  missed(failure);
  if (failure.code() != errc::cancelled && !engine::is_outage(failure)) return false;
  core_.lay_downs().abandon_wait(lease_, *seat_.queue());
  waits_ = false;
  return true;
}

call condition_wait::leaving() {
  auto const owner = core_.constants().owner_id(lease_.number());
  return plain::leave({.name = name_, .owner = owner}, plain::leaving::asks, core_.publishing_now());
}

std::cv_status condition_wait::has_left(resp::reply const* const reply) noexcept {
  waits_ = reply == nullptr || reply->is_error();  // it is taken out when the server is back
  return !waits_ && reply->integer == 0 ? std::cv_status::timeout : std::cv_status::no_timeout;
}

engine::effective_options_ptr condition_wait::lock_options() const {
  return engine::effective_options_ptr{&lease_.effective()};
}

engine::lock_calls::particulars condition_wait::lock_particulars() {
  return {.in_outage = engine::outages::waited_out};
}

void condition_wait::missed(error const& failure) noexcept {
  cause_ = failure.code() == errc::closed ? loss_cause::closed : loss_cause::unreachable;
}

void condition_wait::take_up(lease_state& next) {
  core_.lay_downs().take_up(lease_, next);
  laid_down_ = false;
}

}  // namespace holdfast::sync
