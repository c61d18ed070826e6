/// The watchdog: keeps all leases of a client alive, and reports lost ones.
#pragma once

#include <functional>
#include <memory>
#include <random>
#include <vector>

#include "engine/batches.hpp"
#include "engine/lease_clock.hpp"
#include "engine/lock_backend.hpp"
#include "engine/renewal_schedule.hpp"
#include "engine/token_counters.hpp"

namespace holdfast::engine {

/// One timer for all leases; leases that are due together are renewed in few commands. All under the client's
/// lock; `now` is the time of the event.
class renewer {
 public:
  struct events {
    std::function<void(lease_state&, loss_cause, time_point now)> lost;
    /// A renewal may have been carried out after the lease was lost: its key may live on.
    std::function<void(lease_state&, time_point now)> outlived;
    /// It has a new deadline; `was_until`: the old one, or max() where that was short from the beginning.
    /// Empty: nobody wants to know.
    std::function<void(lease_state const&, time_point was_until, time_point now)> renewed{};
  };

  renewer(reactor::loop& loop, lock_backend& backend, client_stats& counts, events handlers);

  /// Starts renewal. Its deadline and renew_at are set.
  void add(lease_state& lease, time_point now) noexcept;

  /// Ends renewal; called before a release is sent.
  static void remove(lease_state& lease) noexcept { renewal_schedule::remove(lease); }

  /// Loses a held lease whose time is over, as the next look would: an answer may be read before that, by a
  /// process that stood still.
  void lose_if_over(lease_state& lease, time_point now) noexcept;

  /// Gets the answer to a request, whose outcome the leases know.
  using renewed_handler = callback<void(answer<renewals> const&, time_point now)>;

  /// Renews now, out of turn. Throws std::bad_alloc, with nothing done.
  void renew_now(lease_state& lease, renewed_handler done);

  /// Asks about all leases, from now on, so that leases unknown to the server are lost soon. Asks in parts,
  /// so that neither this process nor the server stands still for a million. Leases that are renewed a number
  /// of times, or not at all, keep the ttl that they have.
  void ask_about_all(time_point now) noexcept;

 private:
  using lease_list = batches::leases;

  struct renewal_request {
    lease_list leases;
    renewed_handler done;
  };

  // None of these fails for want of memory: a request that can't be sent counts as unanswered.
  void look() noexcept;
  void schedule(lease_state& lease, time_point now) noexcept;
  void consider(lease_state& lease, time_point now, batches& due_now) noexcept;
  void lose(lease_state& lease, lease_step over, time_point now) noexcept;
  void send(lease_list leases, time_point now, renewed_handler done = {}) noexcept;
  void send(std::shared_ptr<renewal_request> const& request, time_point now);
  template <class Outcome>
  void after_loss(lease_state& lease, answer<Outcome> const& result, time_point now) const noexcept;
  void on_answer(lease_list const& leases, answer<renewals> const& result, time_point now) noexcept;
  void send_alone(lease_state& lease, time_point now) noexcept;
  void renewed(lease_state& lease, time_point sent_at, milliseconds remaining, time_point now) noexcept;
  void tell_unsaid(lease_state const& lease) noexcept;
  void retry(lease_state& lease, time_point now) noexcept;
  void set_timer() noexcept;
  void ask_about_some(time_point now) noexcept;
  void ask_about(lease_state& lease, time_point now) noexcept;
  void on_answer_to_ask(lease_state& lease, answer<ownership> const& result, time_point now) noexcept;
  void on_some_answered(time_point now) noexcept;

  reactor::loop& loop_;
  lock_backend& backend_;
  client_stats& counts_;
  token_counters counters_;
  events events_;
  renewal_schedule schedule_;
  reactor::timer timer_;
  std::minstd_rand random_;
  std::size_t unanswered_ = 0;  ///< requests about marked leases
  time_point resume_at_{};      ///< with the next marked leases, answered or not
};

}  // namespace holdfast::engine
