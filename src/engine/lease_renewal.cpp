// A renewal that a thread asks for.

#include <new>
#include <string>
#include <utility>

#include "engine/failure.hpp"
#include "engine/lease_calls.hpp"

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

void lease_calls::renew(lease_state& lease) {
  gate_.check_process();
  reactor::lock hold{loop_.mutex()};
  gate_.check_open();
  struct outcome {
    reactor::blocked_thread thread;
    std::shared_ptr<error const> failure;
    bool over = false;
  };
  auto const pending = std::make_shared<outcome>();
  auto const finish_with = [this, pending](std::shared_ptr<error const> failure) {
    if (std::exchange(pending->over, true)) return;
    pending->failure = std::move(failure);
    loop_.wake(pending->thread);
  };
  reactor::timer bell{[&] {
    // An earlier renewal, behind which this one waited, may have moved the deadline.
    if (lease.status() == lease_state::state::held && boot_clock::now() < lease.deadline()) {
      loop_.arm(bell, lease.deadline());
      return;
    }
    finish_with(unanswered_renewal(lease.queue(), client_, backend_));
  }};
  if (lease.status() == lease_state::state::held) {
    loop_.arm(bell, lease.deadline());
    renewer_.renew_now(lease, [this, finish_with, queue = lock_queue_ptr{&lease.queue()}](
                                  answer<renewals> const& result, time_point /*now*/) {
      try {
        finish_with(failure_of(result, *queue, client_));
      } catch (std::bad_alloc const&) {
        finish_with(client_.no_memory);
      }
    });
    loop_.wait(hold, pending->thread);
    hold.lock();
    bell.disarm();
  }
  auto const lost = lease.status() != lease_state::state::held;
  hold.unlock();
  // It may have been lost for want of this very reply.
  auto const lost_unasked = pending->failure && lease.cause() == loss_cause::unreachable;
  if (lost && !lost_unasked) {
    throw error{errc::lost, "lease of " + lease.queue().title() + " can't be renewed: " +
                                (lease.cause() == loss_cause::none ? std::string{"it was released"}
                                                                   : std::string{to_string(lease.cause())})};
  }
  if (pending->failure) throw error{*pending->failure};
}

}  // namespace holdfast::engine
