/// Calls of threads that give a lease back to wait for something, and want it again.
#pragma once

#include <memory>

#include "engine/call_gate.hpp"
#include "engine/contention/lease_ends.hpp"
#include "engine/conversions.hpp"
#include "engine/renewer.hpp"

namespace holdfast::engine {

/// From any thread, without the lock.
class lay_down_calls {
 public:
  lay_down_calls(reactor::loop& loop, client_constants const& client, call_gate& gate, renewer& watchdog,
                 pending_releases& releases, lease_ends& ends, conversions& converting,
                 moments* noted) noexcept
      : loop_{loop},
        client_{client},
        gate_{gate},
        renewer_{watchdog},
        pending_releases_{releases},
        ends_{ends},
        conversions_{converting},
        moments_{noted} {}

  /// Its holder gives the lease back to wait for something, and wants it again: `script` does so, and replies
  /// as a release. Throws errc::lost if the lease is over; std::errc::resource_deadlock_would_occur if it has
  /// several handles; and when the server doesn't do it, in which case the lease may still be held. A lease
  /// that is given back so keeps its listeners, for take_up() or miss().
  void lay_down(lease_state_ptr const& lease, call const& script);
  /// The same without waiting: `done` is called once, without the lock, with the reason if there is one. The
  /// lease must live until then. When this throws nothing was begun.
  using laid_down_handler = callback<void(std::shared_ptr<error const> const&)>;
  void async_lay_down(lease_state& lease, call script, laid_down_handler done);
  /// `next` takes the place of a lease that was laid down. Throws std::bad_alloc with nothing changed.
  void take_up(lease_state& laid_down, lease_state& next);
  /// The same holder doesn't wait any more, for which it had the queue `seat`: what it may have been given is
  /// for others.
  void abandon_wait(lease_state const& laid_down, lock_queue& seat) noexcept;
  /// It can't be had again.
  void miss(lease_state& laid_down, loss_cause cause) noexcept;

 private:
  [[nodiscard]] std::shared_ptr<error const> end_laying_down(lease_state& lease,
                                                             answer<ownership> const& result,
                                                             time_point now) noexcept;
  struct laying_down;
  using laying_down_ptr = std::shared_ptr<laying_down>;
  void on_settled(laying_down_ptr const& request) noexcept;
  static void finish(laying_down& request, std::shared_ptr<error const> reason) noexcept;
  void go_on_with(lease_state& lease, time_point now) noexcept;

  reactor::loop& loop_;
  client_constants const& client_;
  call_gate& gate_;
  renewer& renewer_;
  pending_releases& pending_releases_;
  lease_ends& ends_;
  conversions& conversions_;
  moments* moments_;  ///< null: nobody wants to know
};

}  // namespace holdfast::engine
