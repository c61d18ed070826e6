/// Tells the observer of a client what happens.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <holdfast/observer.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <vector>

#include "engine/client_constants.hpp"
#include "engine/lock_queue.hpp"
#include "reactor/reactor.hpp"

namespace holdfast::engine {

/// Events are collected under the client's lock, and told without it, in their order: by a thread that runs
/// callbacks, one thread at a time. All but end() under the lock; `now` is the time of the event. Nothing
/// here fails: events for which there is no memory, or which are too many, are counted, and that is told.
class observation {
 public:
  /// There is an observer in the client's options.
  observation(reactor::loop& loop, client_constants const& client) noexcept;

  void asked(waiter& caller, time_point now) noexcept;
  [[nodiscard]] static bool knows_that_it_waits(waiter const& caller) noexcept {
    return caller.observed && caller.observed->waiting;
  }
  /// Only the first time counts.
  void waits(waiter& caller, time_point now) noexcept;
  /// The caller's wait is over, and its results are in place.
  void finished(waiter const& caller, time_point now) noexcept;
  /// It has become of another lease, without a wait.
  void converted(lease_state const& lease, time_point now) noexcept;
  /// `was_until`: its deadline before.
  void renewed(lease_state const& lease, time_point was_until, time_point now) noexcept;
  // Of a lease that hasn't ended yet: the first of these counts.
  void released(lease_state const& lease, time_point now) noexcept;
  void kept(lease_state const& lease, time_point now) noexcept;
  void lost(lease_state const& lease, loss_cause cause, time_point now) noexcept;
  void disconnected(time_point now) noexcept;
  /// `away`: since it broke.
  void reconnected(std::chrono::nanoseconds away, time_point now) noexcept;

  /// Without the lock: tells what is left, and nothing later. `alone`: no other thread is inside a callback
  /// for good, so a thread that tells is waited for.
  void end(bool alone) noexcept;

 private:
  /// Events with their texts.
  struct batch {
    struct entry {
      lock_event event;
      std::size_t name_size;
      std::size_t trace_size;
    };
    std::vector<entry> entries;
    std::string texts;  ///< the name and the trace of each, in order

    /// Throws std::bad_alloc, with nothing changed.
    void add(lock_event const& event, std::string_view name, std::string_view trace);
    void clear() noexcept;
  };
  struct held_lease {
    std::uint64_t id;
    time_point since;
    std::string trace;
  };

  // False: it counts as missed.
  bool add(lock_event event, std::string_view name, std::string_view trace, time_point now) noexcept;
  bool add(lock_event event, lock_queue const& queue, std::string_view trace, time_point now) noexcept;
  [[nodiscard]] bool collect(lock_event const& event, std::string_view name, std::string_view trace);
  /// A lease has begun.
  void begin(lock_event const& event, lease_state const& lease, std::string_view trace,
             time_point now) noexcept;
  void ended(event_kind end, lease_state const& lease, loss_cause cause, time_point now) noexcept;
  void tell_soon() noexcept;
  void tell() noexcept;
  void tell_collected(reactor::lock& hold) noexcept;
  void call(lock_event const& event) noexcept;

  reactor::loop& loop_;
  client_constants const& client_;
  observer& observer_;
  std::uint64_t last_id_ = 0;
  std::unordered_map<lease_state const*, held_lease> held_;
  batch collected_;
  std::uint64_t missed_ = 0;      ///< since the last of those
  batch told_;                    ///< belongs to the thread that tells
  bool scheduled_ = false;        ///< a call of tell() is on its way
  std::thread::id teller_{};      ///< the thread that tells
  std::condition_variable idle_;  ///< no thread tells any more
  std::atomic<bool> over_ = false;
};

/// For a caller of this thread, with what observer::trace() says. Null: the client has no observer. Without
/// the lock. Throws std::bad_alloc.
[[nodiscard]] std::unique_ptr<waiter::known> observe_caller(client_constants const& client);

}  // namespace holdfast::engine
