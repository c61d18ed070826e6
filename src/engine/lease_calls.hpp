/// Calls of threads that hold leases.
#pragma once

#include <holdfast/client.hpp>
#include <memory>
#include <optional>
#include <stop_token>

#include "engine/call_gate.hpp"
#include "engine/contention/lease_ends.hpp"
#include "engine/conversions.hpp"
#include "engine/delayed_calls.hpp"
#include "engine/moments.hpp"

namespace holdfast::engine {

/// From any thread, without the lock. Each function takes the lock, starts its operation, and waits or
/// returns.
class lease_calls {
 public:
  lease_calls(reactor::loop& loop, lock_backend& backend, client_constants const& client, call_gate& gate,
              client_stats& counts, holders& held, renewer& watchdog, pending_releases& releases,
              lease_ends& ends, conversions& converting, delayed_calls& delayed, moments* noted) noexcept
      : loop_{loop},
        backend_{backend},
        client_{client},
        gate_{gate},
        stats_{counts},
        holders_{held},
        renewer_{watchdog},
        pending_releases_{releases},
        ends_{ends},
        conversions_{converting},
        delayed_{delayed},
        moments_{noted} {}

  /// Drops a lease that was over when it was granted. The lease points at its queue, whose reference count
  /// the lock guards.
  void forget(lease_state_ptr& lease) noexcept;

  release_result release(lease_state_ptr& lease) noexcept;
  /// release() and keep() in two steps, so that leases of several clients end at the same time.
  struct ending;
  [[nodiscard]] std::shared_ptr<ending> begin_release(lease_state_ptr& lease) noexcept;
  [[nodiscard]] std::shared_ptr<ending> begin_keep(lease_state_ptr& lease) noexcept;
  release_result await_end(std::shared_ptr<ending> const& begun) noexcept;
  void async_release(lease_state_ptr& lease, move_only_function<void(release_result)> done) noexcept;
  /// Ends the lease and leaves its key in the server: for the rest of its ttl, or for `remaining`.
  release_result keep(lease_state_ptr& lease, std::optional<milliseconds> remaining) noexcept;

  /// A lease that was acquired without lock_options::keep, since it might never have been handed out, gets
  /// the options of its lock, which differ in nothing else.
  void hand_out(lease_state& lease, effective_options_ptr const& options) noexcept;

  void renew(lease_state& lease);
  /// `done` is called once, without the lock, with the reason if there is one. When this throws nothing was
  /// begun.
  using renewal_handler = callback<void(std::shared_ptr<error const> const&)>;
  void async_renew(lease_state& lease, renewal_handler done);
  /// Turns a lease into one of the queue `to`, with the same owner, in one step at the server. The reply to
  /// `script` is read as that to a release. Throws errc::lost, and when the server can't be asked; the lease
  /// is over then.
  [[nodiscard]] lease_state_ptr become(lease_state_ptr lease, lock_queue_ptr const& to, call const& script);
  /// `next`, which its caller doesn't have yet, has taken the place of `lease` at the server: here, too, it
  /// takes over the listeners and the limits. `lease` is null afterwards. Throws errc::lost if either is
  /// over; both are then. See take_place().
  [[nodiscard]] lease_state_ptr replace(lease_state_ptr& lease, lease_state_ptr next);
  /// The server says that the lease is gone.
  void note_lost(lease_state& lease) noexcept;
  /// One more handle of `lease`, which must be held, and of that queue.
  [[nodiscard]] lease_state_ptr reenter(lock_queue_ptr const& queue, lease_state* lease);

  [[nodiscard]] std::stop_token stop_token(lease_state& lease);
  void on_lost(lease_state& lease, move_only_function<void(loss_cause)> f);
  /// See lease_state::set_unsaid.
  void on_unsaid(lease_state& lease, callback<void()> f);
  void on_limit_near(lease_state& lease, milliseconds before, move_only_function<void()> f);
  /// See moments.
  [[nodiscard]] std::optional<recorded_lease> recorded(lease_state const& lease) noexcept;

  // Under the lock.

  /// The first step of replace(), as soon as `next` is granted: its first renewal ends the old lease in the
  /// server, which then mustn't be renewed any more. No effect if either is over.
  void take_place(lease_state& old, lease_state& next, time_point now) noexcept;

 private:
  template <class Operation>
  [[nodiscard]] std::shared_ptr<ending> begin_ending(lease_state_ptr& lease, time_point now,
                                                     Operation operation) noexcept;
  template <class Operation>
  [[nodiscard]] std::shared_ptr<ending> lock_and_begin_ending(lease_state_ptr& lease,
                                                              Operation operation) noexcept;
  [[nodiscard]] release_result wait_for_end(reactor::lock& hold,
                                            std::shared_ptr<ending> const& begun) noexcept;
  template <class Operation>
  release_result end_and_wait(lease_state_ptr& lease, Operation operation) noexcept;

  struct renewal;
  using renewal_ptr = std::shared_ptr<renewal>;
  void begin_renewal(renewal_ptr const& request);
  void ask_for_renewal(renewal_ptr const& request) noexcept;
  [[nodiscard]] bool ask_again_later(renewal_ptr const& request, answer<renewals> const& result,
                                     time_point now) noexcept;
  void finish_renewal(renewal& request, std::shared_ptr<error const> failure) noexcept;

  struct conversion;
  void begin_conversion(conversion& change, call const& script);
  [[nodiscard]] std::shared_ptr<error const> end_conversion(conversion& change,
                                                            answer<ownership> const& result,
                                                            time_point now) noexcept;
  void give_back_or_keep(conversion& change, answer<ownership> const& result, time_point now) noexcept;
  void move_to_next(conversion& change, time_point sent_at, time_point now);
  [[nodiscard]] std::shared_ptr<error const> not_possible(lock_queue const& from,
                                                          loss_cause cause) const noexcept;

  reactor::loop& loop_;
  lock_backend& backend_;
  client_constants const& client_;
  call_gate& gate_;
  client_stats& stats_;
  holders& holders_;
  renewer& renewer_;
  pending_releases& pending_releases_;
  lease_ends& ends_;
  conversions& conversions_;
  delayed_calls& delayed_;
  moments* moments_;  ///< null: nobody wants to know
};

}  // namespace holdfast::engine
