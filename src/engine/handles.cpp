// Where those that have a lease meet the engine: each function takes the client's lock, says what it wants,
// and waits or leaves.

#include <holdfast/wait_time.hpp>
#include <new>
#include <optional>
#include <utility>

#include "engine/core.hpp"
#include "engine/failure.hpp"

namespace holdfast::engine {

struct core::ending {
  explicit ending(reactor::loop& loop) : on{loop} {}

  void come_to(release_result how) noexcept {
    if (std::exchange(over, true)) return;
    result = how;
    on.wake(caller);
  }

  reactor::loop& on;
  reactor::blocked_thread caller;
  reactor::timer bell{[this] { come_to(release_result::unknown); }};
  release_result result = release_result::unknown;
  bool over = false;
};

/// Finishes a lease by `how`, which is given what to do with the outcome. Null: there is no memory to wait
/// for it.
template <class How>
std::shared_ptr<core::ending> core::begin_ending(lease_state_ptr& what, How how) noexcept {
  std::shared_ptr<ending> mine;
  try {
    mine = std::make_shared<ending>(loop_);
  } catch (std::bad_alloc const&) {
    how(*what, {});
    what.reset();
    return nullptr;
  }
  how(*what, [mine](release_result result) { mine->come_to(result); });
  what.reset();
  return mine;
}

/// Waits for the outcome, within a bound.
release_result core::wait_for_end(reactor::lock& hold, std::shared_ptr<ending> const& begun) noexcept {
  if (!begun || begun->over) {  // handed on: nothing to wait for
    loop_.leave(hold);
    return begun ? begun->result : release_result::unknown;
  }
  // A reply that doesn't come is noticed after one time-out, and asked for again within the other.
  loop_.arm(begun->bell, boot_clock::now() + options_.reply_timeout + options_.connect_timeout);
  loop_.wait(hold, begun->caller);
  hold.lock();
  begun->bell.disarm();
  return begun->result;
}

template <class How>
release_result core::finish_lease(lease_state_ptr& what, How how) noexcept {
  if (forked()) {
    (void)what.detach();
    return release_result::lost;
  }
  reactor::lock hold{loop_.mutex()};
  return wait_for_end(hold, begin_ending(what, std::move(how)));
}

void core::forget(lease_state_ptr& what) noexcept {
  if (forked()) {
    (void)what.detach();
    return;
  }
  reactor::lock const hold{loop_.mutex()};
  what.reset();
}

release_result core::release(lease_state_ptr& what) noexcept {
  return finish_lease(what,
                      [this](lease_state& mine, release_handler done) { release(mine, std::move(done)); });
}

release_result core::keep(lease_state_ptr& what, std::optional<milliseconds> left) noexcept {
  if (left && left->count() <= 0) return release(what);
  if (left) left = std::chrono::duration_cast<milliseconds>(to_wait(*left));
  return finish_lease(
      what, [this, left](lease_state& mine, release_handler done) { keep(mine, left, std::move(done)); });
}

std::shared_ptr<core::ending> core::begin_release(lease_state_ptr& what) noexcept {
  if (forked()) {
    (void)what.detach();
    return nullptr;
  }
  reactor::lock hold{loop_.mutex()};
  auto begun =
      begin_ending(what, [this](lease_state& mine, release_handler done) { release(mine, std::move(done)); });
  loop_.leave(hold);
  return begun;
}

release_result core::end_release(std::shared_ptr<ending> const& begun) noexcept {
  if (forked()) return release_result::lost;
  reactor::lock hold{loop_.mutex()};
  return wait_for_end(hold, begun);
}

void core::async_release(lease_state_ptr& what, release_handler done) noexcept {
  if (forked()) {
    (void)what.detach();
    if (done) done(release_result::lost);
    return;
  }
  struct outcome {
    release_handler done;
    release_result result = release_result::unknown;
  };
  std::shared_ptr<outcome> mine;
  reactor::loop::calls ready;
  try {
    if (done) {
      mine = std::make_shared<outcome>();
      ready.emplace_back([mine] { mine->done(mine->result); });
      mine->done.swap(done);
    }
  } catch (std::bad_alloc const&) {
    mine.reset();
  }
  {
    reactor::lock hold{loop_.mutex()};
    if (mine) {
      release(*what, [this, mine, ready = std::move(ready)](release_result result) mutable {
        mine->result = result;
        loop_.defer(std::move(ready));
      });
    } else {
      release(*what, {});
    }
    what.reset();
    loop_.leave(hold);
  }
  if (!done) return;
  try {
    done(release_result::unknown);  // there is no memory to tell what comes of it
  } catch (...) {
    return;
  }
}

void core::renew(lease_state& what) {
  if (forked()) check_usable();
  reactor::lock hold{loop_.mutex()};
  check_usable();
  struct outcome {
    reactor::blocked_thread caller;
    std::shared_ptr<error const> failure;
    bool over = false;
  };
  auto const mine = std::make_shared<outcome>();
  auto const finish_with = [this, mine](std::shared_ptr<error const> failure) {
    if (std::exchange(mine->over, true)) return;
    mine->failure = std::move(failure);
    loop_.wake(mine->caller);
  };
  reactor::timer bell{[this, finish_with] { finish_with(servers_->down_because()); }};
  if (what.status() == lease_state::state::held) {
    loop_.arm(bell, what.deadline());
    renewer_.renew_now(
        what, [this, finish_with, at = lock_queue_ptr{&what.queue()}](net::response const& how) {
          try {
            finish_with(how.failure || !how.reply.is_error() ? how.failure : explain(how.reply, *at, url()));
          } catch (std::bad_alloc const&) {
            finish_with(no_memory_);
          }
        });
    loop_.wait(hold, mine->caller);
    hold.lock();
    bell.disarm();
  }
  auto const lost = what.status() != lease_state::state::held;
  hold.unlock();
  if (lost) {
    throw error{errc::lost, "lease of " + what.queue().title() + " can't be renewed: " +
                                (what.cause() == loss_cause::none ? std::string{"it was released"}
                                                                  : std::string{to_string(what.cause())})};
  }
  if (mine->failure) throw error{*mine->failure};
}

/// Renewal ends before the script is sent: from then on the lease of old is none. Its listeners go over.
lease_state_ptr core::become(lease_state_ptr what, lock_queue_ptr const& to, call const& script) {
  if (forked()) check_usable();
  reactor::lock hold{loop_.mutex()};
  // Both die under the lock: a line's count isn't atomic.
  lease_state_ptr old{std::move(what)};
  check_usable();
  lock_queue_ptr from{&old->queue()};
  auto const lost_error = [&from](loss_cause cause) {
    return error{errc::lost, "lease of " + from->title() + " can't be turned into another: " +
                                 (cause == loss_cause::none ? std::string{"it was released"}
                                                            : std::string{to_string(cause)})};
  };
  if (old->status() != lease_state::state::held) throw error{lost_error(old->cause())};
  auto const go = [&](std::shared_ptr<error const> const& why) {
    old.reset();
    from.reset();
    loop_.leave(hold);
    throw error{*why};
  };
  lease_state_ptr next;
  std::optional<net::response> answer;
  reactor::blocked_thread caller;
  renewer::remove(*old);
  try {
    next.reset(new lease_state{to, effective_options_ptr{&old->effective()}, old->number(), old->token()});
    servers_->run(script,
                  [&](net::response&& how) {
                    answer = std::move(how);
                    loop_.wake(caller);
                  },
                  {.while_down = net::retry_policy::endless, .give_up = old->deadline()});
  } catch (std::bad_alloc const&) {
    release(*old, {});  // it isn't the caller's any more
    next.reset();
    go(no_memory_);
  }
  loop_.wait(hold, caller);
  hold.lock();
  auto const understood = !answer->failure && answer->reply.is_integer();
  auto const state = understood ? from->protocol().read_release(answer->reply) : ownership::mine;
  auto const still_held = old->status() == lease_state::state::held;
  next->set_deadline(deadline_of(answer->sent_at, old->options().ttl));
  if (old->options().watchdog) next->renew_at = answer->sent_at + old->effective().every;
  next->renewals_left = old->renewals_left;
  auto why = answer->failure;
  try {
    if (understood && still_held && state == ownership::mine) {
      join_holders(*to, *next, boot_clock::now());
      next->inherit(*old);
      (void)finish_here(*old);
      ++stats_.held_now;
      renewer_.add(*next);
      if (!from->contender) ask_after_release(*from);
      old.reset();
      from.reset();
      loop_.leave(hold);
      return next;
    }
    if (!understood && !answer->failure) why = explain(answer->reply, *from, url());
  } catch (std::bad_alloc const&) {
    why = no_memory_;
  }
  if (still_held && state != ownership::mine) {
    lose(*old, state == ownership::gone ? loss_cause::key_gone : loss_cause::taken_over);
  } else if (still_held) {
    release(*old, {});  // whether it was turned is unknown: both ends of it go
    release_as(*to, *old);
  }
  if (!why || old->cause() != loss_cause::none) {
    try {
      why = std::make_shared<error const>(lost_error(old->cause()));
    } catch (std::bad_alloc const&) {
      why = no_memory_;
    }
  }
  next.reset();
  go(why);
  return {};
}

lease_state_ptr core::reenter(lock_queue_ptr const& at, lease_state* what) {
  if (forked()) check_usable();
  reactor::lock const hold{loop_.mutex()};
  check_usable();
  if (what == nullptr || (&what->queue() == at.get() && !what->valid())) {
    throw error{errc::lost, "the lock \"" + at->name() +
                                "\" can't be entered again: the lease to do it by is " +
                                (what == nullptr ? "empty" : "not held any more")};
  }
  if (&what->queue() != at.get()) {
    throw error{std::errc::invalid_argument, "the lock \"" + at->name() +
                                                 "\" can't be entered by a lease of \"" +
                                                 what->queue().name() + "\", or of another client"};
  }
  what->add_handle();
  return lease_state_ptr{what};
}

}  // namespace holdfast::engine
