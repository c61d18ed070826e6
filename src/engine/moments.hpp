/// The moments in the life of waits and leases.
#pragma once

#include <iterator>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "engine/held_traces.hpp"
#include "engine/observation.hpp"
#include "engine/recorder.hpp"

namespace holdfast::engine {

/// The one place to which the parts of an engine tell what happens, for the history of the client and for its
/// observer, whose traces are said to others. There is one if either is; the parts have a pointer, which is
/// null otherwise. All under the client's lock; `now` is the time of the event.
class moments {
 public:
  /// `traces`: null without an observer.
  moments(std::unique_ptr<recorder> history, std::unique_ptr<observation> observed,
          held_traces* traces = nullptr) noexcept
      : history_{std::move(history)}, observed_{std::move(observed)}, traces_{traces} {}

  void asked(waiter& caller, time_point now) noexcept {
    if (history_) history_->asked(caller, now);
    if (observed_) observed_->asked(caller, now);
    if (traces_ != nullptr && caller.observed) traces_->asked(caller.observed->trace);
  }
  /// The callers of that queue wait: its lock is busy. Callers that only try have their answer soon.
  void waiting(lock_queue& queue, time_point now) noexcept {
    if (!observed_) return;
    auto next = queue.waiters.end();
    while (next != queue.waiters.begin() && !observation::knows_that_it_waits(*std::prev(next))) --next;
    for (; next != queue.waiters.end(); ++next) {
      if (!next->tries_only) observed_->waits(*next, now);
    }
  }
  /// The place of the first caller in the server's queue is certain. Only the first time counts, until it
  /// isn't certain any more.
  void queued(waiter const& caller, time_point now) noexcept {
    if (history_) history_->queued(caller, now);
  }
  void not_certain(waiter const& caller) noexcept {
    if (history_) history_->not_certain(caller);
  }
  /// The caller's wait is over, and its results are in place.
  void finished(waiter const& caller, time_point now) noexcept {
    if (history_) history_->finished(caller, now);
    if (observed_) observed_->finished(caller, now);
    if (traces_ != nullptr && caller.observed && !caller.observed->trace.empty() && caller.lease &&
        caller.lease->status() == lease_state::state::held)
      traces_->begun(*caller.lease, caller.observed->trace, now);
  }
  /// The work of `old` goes on with `next`, which has its number; `old` ends next.
  void goes_on_as(lease_state const& old, lease_state& next) noexcept {
    if (traces_ != nullptr) traces_->goes_on_as(old, next);
  }
  /// It has become of another lease, without a wait.
  void turned_into(lease_state const& lease, time_point now) noexcept {
    if (history_) history_->turned_into(lease, now);
    if (observed_) observed_->converted(lease, now);
  }
  /// `was_until`: its deadline before; max() if that says nothing about the renewal.
  void renewed(lease_state const& lease, time_point was_until, time_point now) noexcept {
    if (history_) history_->renewed(lease, now);
    if (observed_) observed_->renewed(lease, was_until, now);
  }
  /// Its holder doesn't use it from here on.
  void paused(lease_state const& lease, time_point now) noexcept {
    if (history_) history_->paused(lease, now);
  }
  void resumed(lease_state const& lease, time_point now) noexcept {
    if (history_) history_->resumed(lease, now);
  }
  /// Its key stays until then; `released` follows.
  void kept(lease_state const& lease, time_point until, time_point now) noexcept {
    if (history_) history_->kept(lease, until, now);
    if (observed_) observed_->kept(lease, now);
    if (traces_ != nullptr) traces_->ended(lease, now);
  }
  void released(lease_state const& lease, time_point now) noexcept {
    if (history_) history_->released(lease, now);
    if (observed_) observed_->released(lease, now);
    if (traces_ != nullptr) traces_->ended(lease, now);
  }
  void lost(lease_state const& lease, loss_cause cause, time_point now) noexcept {
    if (history_) history_->lost(lease, cause, now);
    if (observed_) observed_->lost(lease, cause, now);
    if (traces_ != nullptr) traces_->ended(lease, now);
  }
  /// A number under a name: permits, or the count of a latch.
  void numbered(history::event happened, history::kind of, std::string_view name, std::int64_t number,
                time_point now) noexcept {
    if (history_) history_->numbered(happened, of, name, number, now);
  }
  /// Data may be older from here on.
  void trouble(std::string_view reason, time_point now) noexcept {
    if (history_) history_->trouble(reason, now);
  }
  /// A connection for messages broke.
  void unheard(time_point now) noexcept {
    if (history_) history_->unheard(now);
  }
  /// A connection for requests broke.
  void disconnected(time_point now) noexcept {
    if (observed_) observed_->disconnected(now);
  }
  /// It was made again.
  void reconnected(std::chrono::nanoseconds away, time_point now) noexcept {
    if (observed_) observed_->reconnected(away, now);
  }

  /// Where the lease stands in the history. nullopt: it doesn't.
  [[nodiscard]] std::optional<recorded_lease> recorded(lease_state const& lease) noexcept {
    return history_ ? history_->find(lease) : std::nullopt;
  }

  /// The client ends.
  void closed(time_point now) noexcept {
    if (history_) history_->closed(now);
  }
  /// Without the lock: the observer hears what is left, and nothing later. See observation::end.
  void end(bool alone) noexcept {
    if (observed_) observed_->end(alone);
  }

 private:
  std::unique_ptr<recorder> const history_;
  std::unique_ptr<observation> const observed_;
  held_traces* const traces_;
};

}  // namespace holdfast::engine
