// A renewal that a thread asks for.

#include <algorithm>
#include <new>
#include <string>
#include <utility>

#include "engine/failure.hpp"
#include "engine/lease_calls.hpp"
#include "engine/release/pauses.hpp"

namespace holdfast::engine {
namespace {

/// No answer has come by the deadline.
std::shared_ptr<error const> unanswered_renewal(lock_queue const& queue, client_constants const& client,
                                                lock_backend const& backend) noexcept {
  if (auto down = backend.down_because()) return down;
  try {
    return std::make_shared<error const>(
        errc::unreachable, client.url + ": the server hasn't answered the renewal of " + queue.title() +
                               " by the deadline of the lease");
  } catch (std::bad_alloc const&) {
    return client.no_memory;
  }
}

}  // namespace

/// Under the client's lock.
struct lease_calls::renewal {
  explicit renewal(lease_state& of) noexcept : lease{&of} {}

  lease_state_ptr lease;  ///< until it is over
  callback<void()> finished{};
  renewal_handler done{};  ///< of who doesn't wait
  reactor::timer bell{std::function<void()>{}};
  std::shared_ptr<error const> failure{};
  bool over = false;
};

void lease_calls::begin_renewal(renewal_ptr const& request) {
  if (request->lease->status() != lease_state::state::held) return finish_renewal(*request, nullptr);
  request->bell.set([this, raw = request.get()] {
    auto const& lease = *raw->lease;
    // An earlier renewal, behind which this one waited, may have moved the deadline.
    if (lease.status() == lease_state::state::held && boot_clock::now() < lease.deadline()) {
      loop_.arm(raw->bell, lease.deadline());
    } else {
      finish_renewal(*raw, unanswered_renewal(lease.queue(), client_, backend_));
    }
  });
  loop_.arm(request->bell, request->lease->deadline());
  ask_for_renewal(request);
}

void lease_calls::ask_for_renewal(renewal_ptr const& request) noexcept try {
  renewer_.renew_now(*request->lease, [this, request, queue = lock_queue_ptr{&request->lease->queue()}](
                                          answer<renewals> const& result, time_point now) {
    if (ask_again_later(request, result, now)) return;
    try {
      finish_renewal(*request, failure_of(result, *queue, client_));
    } catch (std::bad_alloc const&) {
      finish_renewal(*request, client_.no_memory);
    }
  });
} catch (std::bad_alloc const&) {
  finish_renewal(*request, client_.no_memory);
}

/// Masters that vote don't keep a request through an outage, as a connection does; and a server that isn't
/// ready will be.
bool lease_calls::ask_again_later(renewal_ptr const& request, answer<renewals> const& result,
                                  time_point now) noexcept {
  auto const* const failure = result.failure();
  auto const* const refusal = result.refusal();
  auto const may_pass = (failure != nullptr && failure->reason->code() == errc::unreachable) ||
                        (refusal != nullptr && is_transient(refusal->text));
  if (request->over || !may_pass) return false;
  auto const& lease = *request->lease;
  if (lease.status() != lease_state::state::held || now >= lease.deadline()) return false;
  try {
    auto const pause =
        std::clamp<std::chrono::nanoseconds>((lease.deadline() - now) / 8, passing_pause, refused_pause);
    delayed_.add(now + pause, [this, request] {
      if (request->over) return;
      if (request->lease->status() == lease_state::state::held) {
        ask_for_renewal(request);
      } else {
        finish_renewal(*request, nullptr);
      }
    });
  } catch (std::bad_alloc const&) {
    return false;
  }
  return true;
}

void lease_calls::finish_renewal(renewal& request, std::shared_ptr<error const> failure) noexcept {
  if (std::exchange(request.over, true)) return;
  request.bell.disarm();
  auto const& lease = *request.lease;
  // It may have been lost for want of this very reply.
  auto const lost_unasked = failure && lease.cause() == loss_cause::unreachable;
  if (lease.status() != lease_state::state::held && !lost_unasked) {
    try {
      failure = std::make_shared<error const>(
          errc::lost, "lease of " + lease.queue().title() + " can't be renewed: " +
                          (lease.cause() == loss_cause::none ? std::string{"it was released"}
                                                             : std::string{to_string(lease.cause())}));
    } catch (std::bad_alloc const&) {
      failure = client_.no_memory;
    }
  }
  request.failure = std::move(failure);
  request.lease.reset();
  request.finished();
}

void lease_calls::renew(lease_state& lease) {
  gate_.check_process();
  (void)reactor::may_wait();  // in a callback: those behind it go to another thread, if there is one
  reactor::lock hold{loop_.mutex()};
  gate_.check_open();
  auto const request = std::make_shared<renewal>(lease);
  reactor::blocked_thread thread;
  request->finished = [this, &thread] { loop_.wake(thread); };
  begin_renewal(request);
  loop_.wait(hold, thread);
  if (request->failure) throw error{*request->failure};
}

void lease_calls::async_renew(lease_state& lease, renewal_handler done) {
  gate_.check_process();
  reactor::lock hold{loop_.mutex()};
  gate_.prepare();
  auto const request = std::make_shared<renewal>(lease);
  reactor::loop::calls ready;
  ready.emplace_back([request] { std::exchange(request->done, {})(request->failure); });
  request->finished = [this, ready = std::move(ready)]() mutable {
    loop_.add_interest(-1);
    loop_.deferred().add(std::move(ready));
  };
  request->done = std::move(done);  // not before: ended by an exception it would end with the lock held
  loop_.add_interest(1);
  begin_renewal(request);
  loop_.leave(hold);
}

}  // namespace holdfast::engine
