/// The watchdog: keeps all leases of a client alive, and says when one is lost.
#pragma once

#include <functional>
#include <memory>
#include <random>
#include <vector>

#include "engine/batches.hpp"
#include "engine/lock_backend.hpp"
#include "engine/renewal_schedule.hpp"

namespace holdfast::engine {

/// One timer for all leases; leases that are due together are renewed in few commands. All under the client's
/// lock.
class renewer {
 public:
  using lost_handler = std::function<void(lease_state&, loss_cause)>;

  renewer(reactor::loop& on, lock_backend& whom, client_stats& counts, lost_handler lost);

  /// From now on. Its deadline and renew_at are set.
  void add(lease_state& one) noexcept;

  /// Not any more: called before a release is sent.
  static void remove(lease_state& one) noexcept { renewal_schedule::remove(one); }

  /// Now, out of turn; `done` gets what the server said about this one.
  /// Throws std::bad_alloc, with nothing done.
  void renew_now(lease_state& one, callback<void(net::response const&)> done);

  /// All of them, from now on, so that those which the server doesn't know are lost soon: so many at a time
  /// that neither this process nor the server stands still for a million. Those that are renewed a number of
  /// times, or not at all, keep the ttl that they have.
  void ask_about_all() noexcept;

 private:
  using held_list = batches::leases;

  using renewed_handler = callback<void(net::response const&)>;
  struct sent {
    held_list leases;
    renewed_handler done;
  };

  // None of them fails for want of memory: what can't be asked counts as not answered.
  void look() noexcept;
  void consider(lease_state& one, time_point now, batches& due_now) noexcept;
  void send(held_list leases, renewed_handler done = {}) noexcept;
  void send(std::shared_ptr<sent> const& mine);
  void on_answer(held_list const& leases, renewal_reply const& result) noexcept;
  void send_alone(lease_state& one) noexcept;
  void renewed(lease_state& one, time_point sent_at, milliseconds left) noexcept;
  void failed(lease_state& one) noexcept;
  void set_timer() noexcept;
  void ask_about_some(time_point now) noexcept;
  void ask_about(lease_state& one, time_point now) noexcept;
  void on_asked(lease_state& one, net::response const& how) noexcept;
  void on_some_answered() noexcept;

  reactor::loop& on_;
  lock_backend& whom_;
  client_stats& counts_;
  lost_handler lost_;
  renewal_schedule agenda_;
  reactor::timer timer_;
  std::minstd_rand random_;
  std::size_t unanswered_ = 0;  ///< requests about those that were marked
  time_point go_on_{};          ///< with the next of those, answered or not
};

}  // namespace holdfast::engine
