#include "engine/lay_down_calls.hpp"

#include <new>
#include <string>
#include <utility>

#include "engine/contention/decisions.hpp"
#include "engine/failure.hpp"

namespace holdfast::engine {
namespace {

std::string cannot_lay_down(lease_state const& lease) {
  return "a lease of " + lease.queue().title() + " can't be given back to wait: ";
}

error not_held(lease_state const& lease) {
  auto const cause = lease.cause();
  return {errc::lost, cannot_lay_down(lease) + (cause == loss_cause::none ? std::string{"it was released"}
                                                                          : std::string{to_string(cause)})};
}

error entered_again(lease_state const& lease) {
  return {std::errc::resource_deadlock_would_occur,
          cannot_lay_down(lease) + "the lock was entered again, and the other leases hold it as well"};
}

}  // namespace

/// Under the client's lock. The lease lives until it is finished.
struct lay_down_calls::laying_down {
  laying_down(lease_state& of, call request, laid_down_handler then = {})
      : lease{of}, script{std::move(request)}, done{std::move(then)} {}

  lease_state& lease;
  call script;
  laid_down_handler done;  ///< of who doesn't wait
  callback<void()> finished{};
  std::shared_ptr<error const> reason{};
};

void lay_down_calls::lay_down(lease_state_ptr const& lease, call const& script) {
  gate_.check_process();
  if (!reactor::may_wait()) {
    throw error{std::errc::resource_deadlock_would_occur,
                cannot_lay_down(*lease) + "no thread is left for the callbacks behind this one"};
  }
  auto const request = std::make_shared<laying_down>(*lease, script);
  reactor::lock hold{loop_.mutex()};
  gate_.prepare_acquisition();
  reactor::blocked_thread caller;
  request->finished = [this, &caller] { loop_.wake(caller); };
  lease->when_settled([this, request] { on_settled(request); });
  loop_.wait(hold, caller);
  if (request->reason) throw error{*request->reason};
}

/// Null: it was laid down. Otherwise the reason why it wasn't.
std::shared_ptr<error const> lay_down_calls::end_laying_down(lease_state& lease,
                                                             answer<ownership> const& result,
                                                             time_point now) noexcept {
  auto const* const found = result.outcome();
  auto const* const refusal = result.refusal();
  auto& queue = lease.queue();
  lease.renewing = false;
  renewer_.lose_if_over(lease, now);
  if (lease.status() == lease_state::state::held) {
    if (found != nullptr && *found == ownership::held) {
      pending_releases_.note_released(pending_releases_.item(lease, now));
      ends_.lay_down(lease, now);
      if (!queue.contender) ends_.ask_after_release(queue, now);
      return nullptr;
    }
    if (refusal != nullptr && !refusal->resent) {
      go_on_with(lease, now);
    } else {
      ends_.lose(lease,
                 found == nullptr            ? loss_cause::unreachable
                 : *found == ownership::gone ? loss_cause::key_gone
                                             : loss_cause::taken_over,
                 now);
      // If no copy has given it back nobody else will: its holder has lost it.
      if (found == nullptr && !keeps_key(lease)) pending_releases_.send(lease, now, {});
    }
  }
  // A refusal would say that it is still held.
  auto const says_why = result.failure() != nullptr || lease.status() == lease_state::state::held;
  try {
    if (auto reason = failure_of(result, queue, client_); reason && says_why) return reason;
    return std::make_shared<error const>(not_held(lease));
  } catch (std::bad_alloc const&) {
    return client_.no_memory;
  }
}

void lay_down_calls::async_lay_down(lease_state& lease, call script, laid_down_handler done) {
  gate_.check_process();
  auto const request = std::make_shared<laying_down>(lease, std::move(script), std::move(done));
  reactor::lock hold{loop_.mutex()};
  gate_.prepare_acquisition();
  reactor::loop::calls ready;
  ready.emplace_back([request] { request->done(request->reason); });
  request->finished = [this, ready = std::move(ready)]() mutable {
    loop_.add_interest(-1);
    loop_.deferred().add(std::move(ready));
  };
  loop_.add_interest(1);
  try {
    lease.when_settled([this, request] { on_settled(request); });
  } catch (std::bad_alloc const&) {
    loop_.add_interest(-1);
    request->finished = {};  // it refers to the request
    throw;
  }
  loop_.leave(hold);
}

/// No renewal is under way: see await_renewal().
void lay_down_calls::on_settled(laying_down_ptr const& request) noexcept {
  auto& lease = request->lease;
  try {
    if (lease.status() != lease_state::state::held)
      return finish(*request, std::make_shared<error const>(not_held(lease)));
    if (lease.has_more_handles())
      return finish(*request, std::make_shared<error const>(entered_again(lease)));
    ends_.queue_next_up(lease.queue(), boot_clock::now());
    lease.renewing = true;  // it isn't renewed: until then only its end is looked at
    lease.renewal_sent = false;
    conversions_.begin(lease, std::move(request->script), [this, request](answer<ownership>&& result) {
      auto reason = end_laying_down(request->lease, result, boot_clock::now());
      request->lease.settle();
      finish(*request, std::move(reason));
    });
  } catch (std::bad_alloc const&) {
    lease.settle();
    if (lease.status() == lease_state::state::held) go_on_with(lease, boot_clock::now());
    finish(*request, client_.no_memory);
  }
}

void lay_down_calls::finish(laying_down& request, std::shared_ptr<error const> reason) noexcept {
  request.reason = std::move(reason);
  request.finished();
}

/// It wasn't laid down.
void lay_down_calls::go_on_with(lease_state& lease, time_point now) noexcept {
  if (moments_ != nullptr) moments_->resumed(lease, now);
  renewer_.add(lease, now);
}

void lay_down_calls::take_up(lease_state& laid_down, lease_state& next) {
  reactor::lock hold{loop_.mutex()};
  if (next.status() == lease_state::state::held) {
    next.take_listeners(laid_down);
    renewer_.add(next, boot_clock::now());
  } else {
    loop_.deferred().add(laid_down.lose(next.cause()));
  }
  loop_.leave(hold);
}

void lay_down_calls::abandon_wait(lease_state const& laid_down, lock_queue& seat) noexcept {
  if (client_.forked()) return;
  reactor::lock hold{loop_.mutex()};
  auto const now = boot_clock::now();
  pending_releases_.abandon(seat, laid_down.number(), pending_releases_.item(laid_down, now).policy, now);
  loop_.leave(hold);
}

void lay_down_calls::miss(lease_state& laid_down, loss_cause cause) noexcept {
  if (client_.forked()) return;
  reactor::lock hold{loop_.mutex()};
  loop_.deferred().add(laid_down.lose(cause));
  loop_.leave(hold);
}

}  // namespace holdfast::engine
