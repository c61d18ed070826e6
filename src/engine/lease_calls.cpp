#include "engine/lease_calls.hpp"

#include <holdfast/wait_time.hpp>
#include <new>
#include <optional>
#include <utility>

namespace holdfast::engine {

struct lease_calls::ending {
  ending(reactor::loop& client_loop, time_point now) : loop{client_loop}, begun_at{now} {}

  void finish(release_result outcome) noexcept {
    if (std::exchange(over, true)) return;
    result = outcome;
    loop.wake(thread);
  }

  reactor::loop& loop;
  time_point begun_at;
  reactor::blocked_thread thread;
  reactor::timer bell{[this] { finish(release_result::unknown); }};
  release_result result = release_result::unknown;
  bool over = false;
};

/// Finishes a lease by `operation`, which gets the handler of the outcome. Null: there is no memory to wait
/// for it.
template <class Operation>
std::shared_ptr<lease_calls::ending> lease_calls::begin_ending(lease_state_ptr& lease, time_point now,
                                                               Operation operation) noexcept {
  std::shared_ptr<ending> begun;
  try {
    begun = std::make_shared<ending>(loop_, now);
  } catch (std::bad_alloc const&) {
    operation(*lease, now, {});
    lease.reset();
    return nullptr;
  }
  operation(*lease, now, [begun](release_result result) { begun->finish(result); });
  lease.reset();
  return begun;
}

/// Waits for the outcome, for a bounded time after it was begun: several that were begun together are over
/// together.
release_result lease_calls::wait_for_end(reactor::lock& hold, std::shared_ptr<ending> const& begun) noexcept {
  if (!begun || begun->over) {  // handed over: nothing to wait for
    loop_.leave(hold);
    return begun ? begun->result : release_result::unknown;
  }
  // A missing reply is noticed after one time-out, and the request repeated within the other.
  loop_.arm(begun->bell, begun->begun_at + client_.options.reply_timeout + client_.options.connect_timeout);
  loop_.wait(hold, begun->thread);
  hold.lock();
  begun->bell.disarm();
  return begun->result;
}

template <class Operation>
release_result lease_calls::end_and_wait(lease_state_ptr& lease, Operation operation) noexcept {
  if (client_.forked()) {
    (void)lease.detach();
    return release_result::lost;
  }
  reactor::lock hold{loop_.mutex()};
  return wait_for_end(hold, begin_ending(lease, boot_clock::now(), std::move(operation)));
}

void lease_calls::forget(lease_state_ptr& lease) noexcept {
  if (client_.forked()) {
    (void)lease.detach();
    return;
  }
  reactor::lock const hold{loop_.mutex()};
  lease.reset();
}

release_result lease_calls::release(lease_state_ptr& lease) noexcept {
  return end_and_wait(lease, [this](lease_state& held, time_point now, release_handler done) {
    ends_.release(held, now, std::move(done));
  });
}

release_result lease_calls::keep(lease_state_ptr& lease, std::optional<milliseconds> remaining) noexcept {
  // There a key ends with the lease of its client, not by a time of its own.
  auto const nothing = client_.deployment.etcd || (remaining && remaining->count() <= 0);
  if (nothing) return release(lease);
  if (remaining) remaining = std::chrono::duration_cast<milliseconds>(to_wait(*remaining));
  return end_and_wait(lease, [this, remaining](lease_state& held, time_point now, release_handler done) {
    ends_.keep(held, remaining, now, std::move(done));
  });
}

template <class Operation>
std::shared_ptr<lease_calls::ending> lease_calls::lock_and_begin_ending(lease_state_ptr& lease,
                                                                        Operation operation) noexcept {
  if (client_.forked()) {
    (void)lease.detach();
    return nullptr;
  }
  reactor::lock hold{loop_.mutex()};
  auto begun = begin_ending(lease, boot_clock::now(), std::move(operation));
  loop_.leave(hold);
  return begun;
}

std::shared_ptr<lease_calls::ending> lease_calls::begin_release(lease_state_ptr& lease) noexcept {
  return lock_and_begin_ending(lease, [this](lease_state& held, time_point now, release_handler done) {
    ends_.release(held, now, std::move(done));
  });
}

std::shared_ptr<lease_calls::ending> lease_calls::begin_keep(lease_state_ptr& lease) noexcept {
  return lock_and_begin_ending(lease, [this](lease_state& held, time_point now, release_handler done) {
    ends_.keep(held, std::nullopt, now, std::move(done));
  });
}

release_result lease_calls::await_end(std::shared_ptr<ending> const& begun) noexcept {
  if (client_.forked()) return release_result::lost;
  reactor::lock hold{loop_.mutex()};
  return wait_for_end(hold, begun);
}

void lease_calls::async_release(lease_state_ptr& lease,
                                move_only_function<void(release_result)> done) noexcept {
  auto said_here = release_result::unknown;  // if there is no memory to report the outcome
  if (client_.forked()) {
    (void)lease.detach();
    said_here = release_result::lost;
  } else {
    reactor::lock hold{loop_.mutex()};
    release_handler report;
    try {
      if (done) {
        loop_.deferred().promise();
        report = [this, done = std::exchange(done, {})](release_result result) mutable {
          loop_.deferred().add_promised([done = std::move(done), result]() mutable { done(result); });
        };
      }
    } catch (std::bad_alloc const&) {
      // The outcome stays unknown.
    }
    ends_.release(*lease, boot_clock::now(), std::move(report));
    lease.reset();
    loop_.leave(hold);
  }
  if (!done) return;
  try {
    done(said_here);
  } catch (...) {
    return;
  }
}

void lease_calls::hand_out(lease_state& lease, effective_options_ptr const& options) noexcept {
  if (client_.forked()) return;
  reactor::lock const hold{loop_.mutex()};
  lease.set_options(options);
}

void lease_calls::note_lost(lease_state& lease) noexcept {
  if (client_.forked()) return;
  reactor::lock hold{loop_.mutex()};
  if (lease.status() == lease_state::state::held) ends_.lose(lease, loss_cause::key_gone, boot_clock::now());
  loop_.leave(hold);
}

lease_state_ptr lease_calls::reenter(lock_queue_ptr const& queue, lease_state* lease) {
  gate_.check_process();
  reactor::lock const hold{loop_.mutex()};
  gate_.check_open();
  if (lease == nullptr || (&lease->queue() == queue.get() && !lease->valid())) {
    throw error{errc::lost, "the lock \"" + queue->name() +
                                "\" can't be entered again: the lease to do it by is " +
                                (lease == nullptr ? "empty" : "not held any more")};
  }
  if (&lease->queue() != queue.get()) {
    throw error{std::errc::invalid_argument, "the lock \"" + queue->name() +
                                                 "\" can't be entered by a lease of \"" +
                                                 lease->queue().name() + "\", or of another client"};
  }
  lease->add_handle();
  return lease_state_ptr{lease};
}

std::stop_token lease_calls::stop_token(lease_state& lease) {
  if (client_.forked()) return {};
  reactor::lock const hold{loop_.mutex()};
  return lease.stop_token();
}

void lease_calls::on_unsaid(lease_state& lease, callback<void()> f) {
  if (client_.forked()) return;
  reactor::lock const hold{loop_.mutex()};
  lease.set_unsaid(std::move(f));
}

std::optional<recorded_lease> lease_calls::recorded(lease_state const& lease) noexcept {
  if (moments_ == nullptr || client_.forked()) return std::nullopt;
  reactor::lock hold{loop_.mutex()};
  auto const found = moments_->recorded(lease);
  loop_.leave(hold);
  return found;
}

void lease_calls::on_limit_near(lease_state& lease, milliseconds before, move_only_function<void()> f) {
  if (client_.forked() || !f) return;
  {
    reactor::lock hold{loop_.mutex()};
    if (lease.status() != lease_state::state::held || lease.times().limit == time_point::max()) return;
    auto const when = lease.times().limit - to_wait(before);
    if (auto const now = boot_clock::now(); when > now) {
      loop_.deferred().add(lease.set_warning(when, std::move(f)));
      renewer_.add(lease, now);
      loop_.leave(hold);
      return;
    }
  }
  f();
}

void lease_calls::on_lost(lease_state& lease, move_only_function<void(loss_cause)> f) {
  if (client_.forked() || !f) return;
  {
    reactor::lock const hold{loop_.mutex()};
    if (lease.status() != lease_state::state::lost) {
      if (lease.status() == lease_state::state::held) lease.add_listener(std::move(f));
      return;
    }
  }
  f(lease.cause());
}

}  // namespace holdfast::engine
