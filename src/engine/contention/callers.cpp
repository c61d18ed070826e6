#include "engine/contention/callers.hpp"

#include <utility>

#include "engine/failure.hpp"
#include "engine/lease_state.hpp"

namespace holdfast::engine {

waiter::waiter(lock_queue_ptr caller_queue, effective_options_ptr caller_options,
               std::function<void()> on_timeout)
    : queue{std::move(caller_queue)}, options{std::move(caller_options)}, time_up{std::move(on_timeout)} {}

waiter::~waiter() = default;

void callers::begin(waiter& caller, time_point now) noexcept {
  caller.came_at = now;
  caller.came_to_try = caller.tries_only;
  ++stats_.waiting_now;
  if (moments_ != nullptr) moments_->asked(caller, now);
}

void callers::finish(waiter& caller, time_point now) noexcept {
  if (!caller.lease && !caller.failure) busy_report_.note(caller, now);
  auto& queue = *caller.queue;
  if (caller.queued()) queue.waiters.erase(waiter_list::s_iterator_to(caller));
  caller.try_hook::unlink();
  caller.time_up.disarm();
  caller.done = true;
  --stats_.waiting_now;
  if (caller.lease) {
    ++stats_.acquired;
  } else if (!caller.failure && !caller.tries_only) {
    ++stats_.timed_out;
  }
  if (moments_ != nullptr) moments_->finished(caller, now);
  caller.queue.reset();
  caller.finished();
}

void callers::make_try(waiter& caller) noexcept {
  caller.tries_only = true;
  if (!caller.among_tries()) caller.queue->tries.push_back(caller);
}

/// Callers that wait are not looked at: a process may have a million of them.
void callers::finish_tries(lock_queue& queue, std::shared_ptr<error const> const& reason,
                           time_point now) noexcept {
  while (!queue.tries.empty()) {
    auto& caller = queue.tries.front();
    caller.failure = after_waiting(reason, now - caller.came_at);
    finish(caller, now);
  }
}

bool callers::fail_impatient(lock_queue& queue, std::shared_ptr<error const> const& reason,
                             time_point now) noexcept {
  auto const& asking = *queue.contender;
  for (auto next = queue.waiters.begin(); next != queue.waiters.end();) {
    auto& caller = *next++;
    // It waits for a server that can't be reached as long as a request of its own would: if the server has
    // answered, from now on, and else it has a timer.
    auto const has_own_time =
        asking.answered || (caller.unlimited() && caller.patient_until == time_point::min());
    if ((asking.bounded && has_own_time && !caller.tries_only) || caller.patient_until > now) continue;
    caller.failure = after_waiting(reason, now - caller.came_at);
    finish(caller, now);
  }
  return !queue.waiters.empty();
}

bool callers::fail_in_place_of(lock_queue& queue, std::uint64_t number,
                               std::shared_ptr<error const> const& reason, time_point now) noexcept {
  for (auto next = queue.waiters.begin(); next != queue.waiters.end();) {
    auto& caller = *next++;
    if (caller.in_place_of != number) continue;
    caller.failure = reason;
    finish(caller, now);
  }
  return !queue.waiters.empty();
}

void callers::fail_all(lock_queue& queue, std::shared_ptr<error const> const& reason,
                       time_point now) noexcept {
  while (!queue.waiters.empty()) {
    auto& first = queue.waiters.front();
    first.failure = after_waiting(reason, now - first.came_at);
    finish(first, now);
  }
}

}  // namespace holdfast::engine
