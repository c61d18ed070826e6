#include "engine/lock_calls.hpp"

#include <holdfast/wait_time.hpp>
#include <new>
#include <optional>
#include <system_error>
#include <utility>

#include "engine/observation.hpp"
#include "engine/record.hpp"
#include "script/names.hpp"

namespace holdfast::engine {
namespace {

std::string cancelled(lock_queue const& queue) { return "waiting for " + queue.title() + " was cancelled"; }

/// When the last request is sent: so far ahead of `end` that its response comes in time.
time_point last_look_before(time_point end, std::chrono::nanoseconds wait) {
  return end - std::min<std::chrono::nanoseconds>(wait / 8, std::chrono::milliseconds{25});
}

using stop_watch = std::stop_callback<std::function<void()>>;

/// A caller that waits, of either kind.
struct caller_of_lock : waiter {
  caller_of_lock(reactor::loop& client_loop, deadlocks& watching, lock_queue_ptr target,
                 effective_options_ptr requested, lock_calls::particulars const& wanted,
                 std::function<void()> when_time_is_up)
      : waiter{std::move(target), std::move(requested), std::move(when_time_is_up)},
        loop{client_loop},
        circles{watching},
        on_granted{wanted.on_granted} {
    amount = wanted.amount;
    in_place_of = wanted.in_place_of;
    number = wanted.number;
  }
  /// With what finished() begins.
  void end_wait() noexcept {
    if (thread != 0) circles.end(*this);
    if (lease && on_granted) on_granted(*lease);
  }

  reactor::loop& loop;
  deadlocks& circles;
  std::function<void(lease_state&)> on_granted;
};

/// A waiting thread; lives on its stack.
struct blocked_waiter final : caller_of_lock {
  using caller_of_lock::caller_of_lock;
  void finished() noexcept override {
    end_wait();
    loop.wake(sleeper);
  }

  reactor::blocked_thread sleeper;
};

/// A waiting callback. It owns itself until its wait is over, and then the function that calls the callback
/// does.
struct called_waiter final : caller_of_lock {
  using caller_of_lock::caller_of_lock;
  void finished() noexcept override {
    end_wait();
    loop.add_interest(-1);
    loop.deferred().add_promised([caller = std::move(self)] {
      caller->done_handler(std::move(caller->lease), std::move(caller->failure));
    });
  }

  acquire_handler done_handler{};
  std::shared_ptr<called_waiter> self{};
  std::optional<stop_watch> stop{};  ///< made and destroyed without the lock: it waits for a running callback
};

}  // namespace

/// The caller was cancelled. It gets errc::cancelled; without memory for that, the error that says so, which
/// exists from the beginning. In a forked child, where a coroutine or an io_context may be destroyed, the
/// wait is its parent's, as is the connection on which it would be ended.
void lock_calls::cancel(waiter& caller) noexcept {
  if (client_.forked()) return;
  reactor::lock inner{loop_.mutex()};
  if (caller.done) return;
  try {
    caller.failure = std::make_shared<error const>(errc::cancelled, cancelled(*caller.queue));
  } catch (std::bad_alloc const&) {
    caller.failure = client_.no_memory;
  }
  membership_.leave(caller, boot_clock::now());
  loop_.leave(inner);
}

/// See waiter::patient_until.
time_point lock_calls::patient_until(wait_limit wait, outages in_outage, time_point now) const noexcept {
  auto const waits = !wait || wait->count() > 0;
  auto const patience = client_.options.patience;
  if (in_outage == outages::reported_at_once) return time_point::min();
  if (patience.count() > 0) return now + patience;
  if (in_outage == outages::waited_out && waits) return time_point::max();
  return wait && waits ? now + *wait : time_point::min();
}

lease_state_ptr lock_calls::acquire(lock_queue_ptr const& queue, effective_options_ptr const& options,
                                    wait_limit wait, std::stop_token const& stop, particulars const& wanted) {
  gate_.check_process();
  if (stop.stop_requested()) throw error{errc::cancelled, cancelled(*queue)};
  auto observed = observe_caller(client_);
  auto const begun = boot_clock::now();
  auto const end = wait ? begun + *wait : time_point::max();
  auto const once = wait && wait->count() <= 0;
  if (!once && !reactor::may_wait()) {
    throw error{std::errc::resource_deadlock_would_occur,
                "a callback can't wait for " + queue->title() +
                    ": there is no thread left for those behind it, which may be what it would wait for; "
                    "use async_acquire there, or try"};
  }
  reactor::lock hold{loop_.mutex()};
  gate_.prepare_acquisition();
  blocked_waiter caller{loop_,  deadlocks_,
                        queue,  options,
                        wanted, [this, &caller] { membership_.on_time_up(caller, boot_clock::now()); }};
  if (options->options.detect_deadlock) caller.thread = deadlocks::this_thread();
  caller.tries_only = once;
  caller.observed = std::move(observed);
  caller.patient_until = patient_until(wait, wanted.in_outage, begun);
  if (wait) caller.last_look = last_look_before(end, *wait);
  membership_.enter(caller, boot_clock::now());
  if (!caller.done && wait && !caller.tries_only) loop_.arm(caller.time_up, end);
  if (caller.thread != 0 && !caller.done) deadlocks_.begin(caller);
  if (stop.stop_possible() && !caller.done) {
    hold.unlock();
    stop_watch const watch{stop, [this, &caller] { cancel(caller); }};
    hold.lock();
    loop_.wait(hold, caller.sleeper);
  } else {
    loop_.wait(hold, caller.sleeper);
  }
  if (caller.failure) throw error{*caller.failure};
  return std::move(caller.lease);
}

void lock_calls::async_acquire(lock_queue_ptr const& queue, effective_options_ptr const& options,
                               wait_limit wait, std::stop_token stop, acquire_handler done,
                               particulars const& wanted) {
  gate_.check_process();
  auto observed = observe_caller(client_);
  reactor::lock hold{loop_.mutex()};
  gate_.prepare_acquisition();
  auto caller =
      std::make_shared<called_waiter>(loop_, deadlocks_, queue, options, wanted, std::function<void()>{});
  caller->time_up.set([this, raw = caller.get()] { membership_.on_time_up(*raw, boot_clock::now()); });
  std::function<void()> on_stop;
  if (stop.stop_possible()) {
    on_stop = [this, weak = std::weak_ptr{caller}] {
      if (auto const still = weak.lock()) cancel(*still);
    };
  }
  loop_.deferred().promise();
  // Nothing fails from here on. Before, the handler would end with the lock held, which what it owns may
  // need.
  caller->done_handler = std::move(done);
  caller->self = caller;
  caller->tries_only = wait && wait->count() <= 0;
  caller->observed = std::move(observed);
  if (options->options.detect_deadlock) caller->thread = deadlocks_.this_process();
  loop_.add_interest(1);
  auto const now = boot_clock::now();
  caller->patient_until = patient_until(wait, wanted.in_outage, now);
  auto const end = wait ? now + *wait : time_point::max();
  if (wait) caller->last_look = last_look_before(end, *wait);
  membership_.enter(*caller, now);
  if (!caller->done && wait && !caller->tries_only) loop_.arm(caller->time_up, end);
  if (caller->thread != 0 && !caller->done) deadlocks_.begin(*caller);
  if (stop.stop_possible() && !caller->done) {
    // The stop callback may run from here on, also inside its constructor, and may own the last reference to
    // the waiter.
    hold.unlock();
    caller->stop.emplace(std::move(stop), std::move(on_stop));
    caller.reset();
    hold.lock();
  }
  loop_.leave(hold);
}

/// The record of the holder's client is asked for without the lock. When it can't be had, a report without a
/// name is better than none.
std::optional<busy_info> lock_calls::last_busy(lock_queue const& queue) {
  gate_.check_process();
  std::optional<busy_info> result;
  {
    reactor::lock const hold{loop_.mutex()};
    auto const now = boot_clock::now();
    result = busy_report_.latest(queue, now);
    if (!result || !busy_report_.wants_record(result->holder, backend_.up(), now)) return result;
  }
  auto& holder = result->holder;
  auto const uuid = uuid_of(holder.owner);
  if (uuid.empty() || busy_report_.describe_if_own(holder)) return result;
  client_record record;
  try {
    auto const key = names::client_record(uuid);
    std::string_view const command[]{"HGETALL", key};
    record = read_record(server_.ask(command, key));
  } catch (error const&) {
    return result;
  }
  std::string const client{uuid};
  if (holder.host.empty() || !record.is_missing())  // it was there before
    holder = record.of(std::move(holder.owner));
  reactor::lock const hold{loop_.mutex()};
  busy_report_.remember(client, std::move(record), boot_clock::now());
  return result;
}

time_point lock_calls::last_busy_at(lock_queue const& queue) {
  gate_.check_process();
  reactor::lock const hold{loop_.mutex()};
  return busy_report::latest_at(queue, boot_clock::now());
}

void lock_calls::count_as_held(std::vector<std::pair<std::string, std::string>> names_and_owners) {
  gate_.check_process();
  reactor::lock const hold{loop_.mutex()};
  deadlocks_.count_as_held(std::move(names_and_owners));
}

void lock_calls::async_pause(std::chrono::nanoseconds time, callback<void()> done) {
  gate_.check_process();
  reactor::loop::calls ready;
  ready.push_back(std::move(done));
  // Made before the lock is held: if the rest fails, `done` ends without it.
  callback<void()> at_end = [this, ready = std::move(ready)]() mutable {
    loop_.add_interest(-1);
    loop_.deferred().add(std::move(ready));
  };
  reactor::lock hold{loop_.mutex()};
  gate_.prepare();
  delayed_.add(boot_clock::now() + time, std::move(at_end));
  loop_.add_interest(1);
  loop_.leave(hold);
}

}  // namespace holdfast::engine
