// The end of a client: what it holds is given back, and the server's confirmations are awaited.

#include <algorithm>
#include <new>
#include <string>
#include <utility>

#include "engine/core.hpp"
#include "resp/command.hpp"

namespace holdfast::engine {
namespace {

/// The longest wait for confirmations of releases at the end of a client, or of the process.
constexpr std::chrono::seconds confirmation_wait{1};

/// Between two looks whether all holders have given their locks back. Leases end in many ways, and a client
/// is shut down once.
constexpr std::chrono::milliseconds look_for_holders{5};

}  // namespace

/// Waits until all requests sent before are answered; not longer than `until`, and not at all without a
/// connection.
void core::drain(reactor::lock& hold, time_point until) noexcept {
  auto const sends_more_soon = [this] { return !owed_.empty() || conversions_.any_in_pause(); };
  while (sends_more_soon() || !backend_->idle()) {
    auto const now = boot_clock::now();
    if (now >= until) return;
    if (sends_more_soon()) {
      nap(hold, now + memory_pause);
      continue;
    }
    auto const down = backend_->down_because();
    if (!backend_->up() && (!down || down->code() != std::errc::not_enough_memory)) return;
    try {
      wait_behind_all(hold, until);
    } catch (std::bad_alloc const&) {
      nap(hold, now + memory_pause);
    }
  }
}

/// Replies come in order, so the replies to these PINGs come after all others. Requests that those others
/// cause are waited for by the next call.
void core::wait_behind_all(reactor::lock& hold, time_point until) {
  struct barrier {
    reactor::blocked_thread caller;
    std::size_t remaining = 0;
    bool over = false;
  };
  auto const all = backend_->masters();
  auto const pings = std::make_shared<barrier>();
  auto const both_connections = acknowledgements_.used();
  pings->remaining = all.size() * (both_connections ? 2 : 1);
  auto const wake_caller = [this, pings] {
    if (std::exchange(pings->over, true)) return;
    loop_.wake(pings->caller);
  };
  reactor::timer bell{wake_caller};
  auto const ping = [&](std::string const& master, net::connection_role role) {
    net::request request{.done =
                             [wake_caller, pings](net::response&&) {
                               if (--pings->remaining == 0) wake_caller();
                             },
                         .role = role};
    resp::append_command(request.bytes, {"PING"});
    backend_->send_to(master, std::move(request));
  };
  for (auto const& master : all) {
    ping(master, net::connection_role::usual);
    if (both_connections) ping(master, net::connection_role::acknowledged);
  }
  loop_.arm(bell, until);
  loop_.wait(hold, pings->caller);
  hold.lock();
}

/// Lets the loop go on for a while, and drives it.
void core::nap(reactor::lock& hold, time_point until) noexcept {
  reactor::blocked_thread caller;
  reactor::timer bell{[this, &caller] { loop_.wake(caller); }};
  loop_.arm(bell, until);
  loop_.wait(hold, caller);
  hold.lock();
}

void core::begin_exit() noexcept {
  if (client_.forked()) return;
  reactor::lock hold{loop_.mutex()};
  if (!gate_.closed()) {
    contention_.membership.begin_exit(boot_clock::now());
    deadlocks_.begin_exit();
  }
  loop_.leave(hold);
}

/// The last pointers to leases and queues are dropped under the lock, too.
void core::lose_all(time_point now) noexcept {
  batches together;
  queues_.for_each([&](lock_queue& queue) {
    if (queue.holder != nullptr) lose_at_end(*queue.holder, together, now);
  });
  while (auto* const lease = holders_.any_shared()) lose_at_end(*lease, together, now);
  for (auto& leases : together.take()) pending_releases_.send_together(std::move(leases), now);
}

/// `together`: leases that are to be released in few requests.
void core::lose_at_end(lease_state& lease, batches& together, time_point now) noexcept {
  lease_state_ptr const pin{&lease};
  auto const& queue = lease.queue();
  contention_.ends.lose(lease, loss_cause::closed, now);
  if (lease.options().keep) {
    kept_keys_.leave(lease, std::nullopt, now, {});
    return;
  }
  if (queue.lock_recipe().release_unwanted != nullptr) {
    try {
      together.add(lease, backend_->slot_of(queue.name()));
      return;
    } catch (std::bad_alloc const&) {
      // It is released by itself.
    }
  }
  if (!holders_.has(queue, lease.number())) pending_releases_.send(lease, now, {});
}

void core::give_all_back() noexcept {
  if (client_.forked()) return;
  reactor::lock hold{loop_.mutex()};
  auto const now = boot_clock::now();
  lose_all(now);
  presence_.end(now);
  loop_.leave(hold);
}

void core::await_given_back(time_point begun) noexcept {
  if (client_.forked()) return;
  reactor::lock hold{loop_.mutex()};
  end_begun_ = std::min(end_begun_, begun);
  loop_.flush();  // where nobody answers nothing is waited for, and behind a callback it would be too late
  drain(hold, end_begun_ + confirmation_wait + acknowledgements_.delay());
  if (auto const remaining = pending_releases_.count_at_end(); remaining > 0) {
    log_(log_level::warning, [this, remaining] {
      return client_.url + ": the server hasn't confirmed in time that " + std::to_string(remaining) +
             " locks are given back; each is free at the end of its ttl at the latest";
    });
  }
  // Other threads may drive on, and a lock that is granted from here on is given back by nobody.
  if (!backend_->idle()) backend_->shut(client_.shut_down);
  loop_.leave(hold);
}

/// No request of a caller is answered from here on. What is held is given back.
void core::close() noexcept {
  {
    reactor::lock const hold{loop_.mutex()};
    gate_.close();
    pending_releases_.stop_repeating();
    contention_.clearing.stop();
    watches_.end_all();
    contention_.membership.fail_all(client_.shut_down, boot_clock::now());
  }
  give_all_back();
  await_given_back(boot_clock::now());
}

bool core::shut_down_within(std::chrono::nanoseconds drain) {
  gate_.check_process();
  if (!reactor::may_wait()) {
    throw error{std::errc::resource_deadlock_would_occur,
                client_.url +
                    ": a callback can't wait for holders to give their locks back: no thread is left for "
                    "those behind it; shut the client down from another thread"};
  }
  auto all_back = false;
  {
    reactor::lock hold{loop_.mutex()};
    auto const begun = boot_clock::now();
    auto const end = begun + drain;
    gate_.refuse_acquisitions();
    contention_.membership.fail_all(client_.shut_down, begun);
    for (auto now = begun; stats_.held_now != 0 && now < end; now = boot_clock::now())
      nap(hold, std::min<time_point>(now + look_for_holders, end));
    all_back = stats_.held_now == 0;
    loop_.leave(hold);
  }
  close();
  return all_back;
}

bool core::shut() noexcept {
  close();
  reactor::lock hold{loop_.mutex()};
  auto const alone = loop_.stop(hold, contention_.membership.exiting());
  backend_->shut(client_.shut_down);
  // Releases that were to be sent again: a caller may wait for their outcome, which is known now.
  delayed_.run_all();
  owed_.clear();
  ask_all_again_.disarm();
  queues_.remove_contenders();
  if (moments_) moments_->closed(boot_clock::now());
  loop_.leave(hold);  // runs the callbacks that are left
  if (moments_) moments_->end(alone);
  return alone;
}

}  // namespace holdfast::engine
