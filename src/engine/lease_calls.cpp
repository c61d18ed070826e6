#include "engine/lease_calls.hpp"

#include <holdfast/wait_time.hpp>
#include <new>
#include <optional>
#include <utility>

#include "engine/failure.hpp"

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
release_result lease_calls::finish_lease(lease_state_ptr& lease, Operation operation) noexcept {
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
  return finish_lease(lease, [this](lease_state& held, time_point now, release_handler done) {
    ends_.release(held, now, std::move(done));
  });
}

release_result lease_calls::keep(lease_state_ptr& lease, std::optional<milliseconds> remaining) noexcept {
  if (remaining && remaining->count() <= 0) return release(lease);
  if (remaining) remaining = std::chrono::duration_cast<milliseconds>(to_wait(*remaining));
  return finish_lease(lease, [this, remaining](lease_state& held, time_point now, release_handler done) {
    ends_.keep(held, remaining, now, std::move(done));
  });
}

template <class Operation>
std::shared_ptr<lease_calls::ending> lease_calls::begin(lease_state_ptr& lease,
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
  return begin(lease, [this](lease_state& held, time_point now, release_handler done) {
    ends_.release(held, now, std::move(done));
  });
}

std::shared_ptr<lease_calls::ending> lease_calls::begin_keep(lease_state_ptr& lease) noexcept {
  return begin(lease, [this](lease_state& held, time_point now, release_handler done) {
    ends_.keep(held, std::nullopt, now, std::move(done));
  });
}

release_result lease_calls::await_end(std::shared_ptr<ending> const& begun) noexcept {
  if (client_.forked()) return release_result::lost;
  reactor::lock hold{loop_.mutex()};
  return wait_for_end(hold, begun);
}

void lease_calls::async_release(lease_state_ptr& lease, release_handler done) noexcept {
  if (client_.forked()) {
    (void)lease.detach();
    if (done) done(release_result::lost);
    return;
  }
  struct outcome {
    release_handler done;
    release_result result = release_result::unknown;
  };
  std::shared_ptr<outcome> pending;
  reactor::loop::calls ready;
  try {
    if (done) {
      pending = std::make_shared<outcome>();
      ready.emplace_back([pending] { pending->done(pending->result); });
      pending->done.swap(done);
    }
  } catch (std::bad_alloc const&) {
    pending.reset();
  }
  {
    reactor::lock hold{loop_.mutex()};
    if (pending) {
      ends_.release(*lease, boot_clock::now(),
                    [this, pending, ready = std::move(ready)](release_result result) mutable {
                      pending->result = result;
                      loop_.defer(std::move(ready));
                    });
    } else {
      ends_.release(*lease, boot_clock::now(), {});
    }
    lease.reset();
    loop_.leave(hold);
  }
  if (!done) return;
  try {
    done(release_result::unknown);  // there is no memory to report the outcome
  } catch (...) {
    return;
  }
}

void lease_calls::hand_out(lease_state& lease, effective_options_ptr const& options) noexcept {
  if (client_.forked()) return;
  reactor::lock const hold{loop_.mutex()};
  lease.set_options(options);
}

/// Renewal ends before the script is sent: from then on the old lease may not exist. The new one takes over
/// its listeners.
lease_state_ptr lease_calls::become(lease_state_ptr lease, lock_queue_ptr const& to, call const& script) {
  gate_.check_process();
  reactor::lock hold{loop_.mutex()};
  // Both are destroyed under the lock: a queue's reference count isn't atomic.
  lease_state_ptr old{std::move(lease)};
  gate_.check_open();
  lock_queue_ptr from{&old->queue()};
  auto const lost_error = [&from](loss_cause cause) {
    return error{errc::lost, "lease of " + from->title() + " can't be turned into another: " +
                                 (cause == loss_cause::none ? std::string{"it was released"}
                                                            : std::string{to_string(cause)})};
  };
  if (old->status() != lease_state::state::held) throw error{lost_error(old->cause())};
  auto const fail_with = [&](std::shared_ptr<error const> const& reason) {
    old.reset();
    from.reset();
    loop_.leave(hold);
    throw error{*reason};
  };
  auto const give_back_as = [&](lock_queue_ptr const& queue, time_point now) {
    auto item = pending_releases_.item(*old, now);
    item.queue = queue;
    pending_releases_.send(item, now, {});
  };
  lease_state_ptr next;
  std::optional<answer<ownership>> result;
  reactor::blocked_thread thread;
  renewer::remove(*old);
  try {
    next.reset(new lease_state{to, effective_options_ptr{&old->effective()}, old->number(), old->token()});
    backend_.convert(script,
                     [&](answer<ownership>&& received) {
                       result = std::move(received);
                       loop_.wake(thread);
                     },
                     {.while_down = net::retry_policy::endless, .give_up = old->deadline()});
  } catch (std::bad_alloc const&) {
    ends_.release(*old, boot_clock::now(), {});  // the caller no longer has it
    next.reset();
    fail_with(client_.no_memory);
  }
  loop_.wait(hold, thread);
  hold.lock();
  auto const now = boot_clock::now();
  auto const* const found = result->outcome();
  auto const still_held = old->status() == lease_state::state::held;
  next->set_deadline(deadline_of(result->sent_at, old->options().ttl));
  if (old->options().watchdog) next->renew_at = result->sent_at + old->effective().every;
  next->renewals_left = old->renewals_left;
  std::shared_ptr<error const> reason;
  try {
    reason = failure_of(*result, *from, client_);
    if (still_held && found != nullptr && *found == ownership::mine) {
      holders_.open(*next, now);
      next->inherit(*old);
      (void)ends_.finish_here(*old, now);
      ++stats_.held_now;
      renewer_.add(*next, now);
      if (!from->contender) ends_.ask_after_release(*from, now);
      old.reset();
      from.reset();
      loop_.leave(hold);
      return next;
    }
  } catch (std::bad_alloc const&) {
    reason = client_.no_memory;
  }
  if (still_held && found != nullptr && *found != ownership::mine) {
    ends_.lose(*old, *found == ownership::gone ? loss_cause::key_gone : loss_cause::taken_over, now);
  } else if (still_held) {
    // The outcome is unknown, so nobody may inherit either of them.
    (void)ends_.finish_here(*old, now);
    pending_releases_.send(*old, now, {});
    give_back_as(to, now);
    if (!from->contender) ends_.ask_after_release(*from, now);
  } else if (found == nullptr || *found == ownership::mine) {
    give_back_as(to, now);  // lost while the request was under way
  }
  if (!reason || old->cause() != loss_cause::none) {
    try {
      reason = std::make_shared<error const>(lost_error(old->cause()));
    } catch (std::bad_alloc const&) {
      reason = client_.no_memory;
    }
  }
  next.reset();
  fail_with(reason);
  return {};
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

void lease_calls::on_limit_near(lease_state& lease, milliseconds before, move_only_function<void()> f) {
  if (client_.forked() || !f) return;
  {
    reactor::lock hold{loop_.mutex()};
    if (lease.status() != lease_state::state::held || lease.limit() == time_point::max()) return;
    auto const when = lease.limit() - to_wait(before);
    if (auto const now = boot_clock::now(); when > now) {
      loop_.defer(lease.set_warning(when, std::move(f)));
      renewer_.add(lease, now);
      loop_.leave(hold);
      return;
    }
  }
  f();
}

void lease_calls::on_lost(lease_state& lease, move_only_function<void(loss_cause)> f) {
  if (client_.forked()) return;
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
