/// How a lease ends: given back, handed over, kept, or lost.
#pragma once

#include <holdfast/client.hpp>
#include <memory>
#include <optional>
#include <unordered_map>

#include "engine/contention/acquire_answers.hpp"
#include "engine/delayed_calls.hpp"

namespace holdfast::engine {

/// All under the client's lock; `now` is the time of the event.
class lease_ends {
 public:
  lease_ends(reactor::loop& loop, lock_backend& backend, client_constants const& client, deferred_log& log,
             client_stats& counts, holders& held, departed& past, contenders& contending,
             acquire_requests& requests, grants& granting, acquire_answers& replies, notifications& wake,
             pending_releases& releases, kept_keys& kept, late_responses& late, delayed_calls& delayed,
             fast_path& fast, moments* noted) noexcept
      : loop_{loop},
        backend_{backend},
        client_{client},
        log_{log},
        stats_{counts},
        holders_{held},
        departed_{past},
        contenders_{contending},
        requests_{requests},
        grants_{granting},
        replies_{replies},
        notifications_{wake},
        pending_releases_{releases},
        kept_keys_{kept},
        late_responses_{late},
        delayed_{delayed},
        fast_path_{fast},
        moments_{noted} {}

  /// Drops one handle; the last one releases the lock, or keeps its key if the options say so.
  void release(lease_state& lease, time_point now, release_handler done) noexcept;
  /// The same without giving the lock back. For all others, in this process too, it is busy until its ttl, or
  /// `remaining`, is over.
  void keep(lease_state& lease, std::optional<milliseconds> remaining, time_point now,
            release_handler done) noexcept;
  /// As release(), whatever the options say of its key.
  void release_unkept(lease_state& lease, time_point now, release_handler done) noexcept;
  /// A lease that is over, and is kept, may last until `deadline` in the server, where it was asked for
  /// something that gives it a full ttl.
  void prolong_kept(lease_state& lease, time_point deadline, time_point now) noexcept;
  /// It ends against its holder's will. A lease that the server has taken away is lost for all leases that
  /// share its acquisition.
  void lose(lease_state& lease, loss_cause cause, time_point now) noexcept;
  /// The key of a lost lease may live on for nobody: it is released at the lease's deadline. Until then it
  /// would have lived anyway, and its holder may give it back.
  void take_back(lease_state const& lease, time_point now) noexcept;

  /// The lease isn't held here any more. Renewal ends before anything is sent. False: other leases of this
  /// process still share its acquisition.
  bool finish_here(lease_state& lease, time_point now) noexcept;
  /// The same, but it keeps its listeners: its holder gives it back to wait, and wants it again.
  void lay_down(lease_state& lease, time_point now) noexcept;
  /// Where the order is strict the next caller of this process has to be in the server's queue by the time a
  /// release looks for the first waiter.
  void queue_next_up(lock_queue& queue, time_point now) noexcept;
  /// The next caller of this process asks, behind a release that wakes callers of other processes.
  void ask_after_release(lock_queue& queue, time_point now) noexcept;

 private:
  struct passing;
  bool leave_here(lease_state& lease, time_point now) noexcept;
  void release_unheld(lease_state const& lease, time_point now) noexcept;
  void release_lost(lease_state const& lease, time_point now, release_handler done) noexcept;
  void give_back(lock_queue& queue, lease_state const& lease, time_point now, release_handler done) noexcept;
  void pass(lock_queue& queue, lease_state const& from, time_point now, release_handler done) noexcept;
  void on_passed(passing& pending, answer<passed> const& result, time_point now) noexcept;
  void on_passed(lock_queue& queue, passing& pending, passed const& found, time_point sent_at,
                 time_point now);
  void lose_alone(lease_state& lease, loss_cause cause, time_point now) noexcept;
  void count_forced(lease_state const& lease) noexcept;
  /// False: others that lost the same acquisition by force haven't let go yet.
  [[nodiscard]] bool is_last_of_forced(lease_state const& lease) noexcept;

  reactor::loop& loop_;
  lock_backend& backend_;
  client_constants const& client_;
  deferred_log& log_;
  client_stats& stats_;
  holders& holders_;
  departed& departed_;
  contenders& contenders_;
  acquire_requests& requests_;
  grants& grants_;
  acquire_answers& replies_;
  notifications& notifications_;
  pending_releases& pending_releases_;
  kept_keys& kept_keys_;
  late_responses& late_responses_;
  delayed_calls& delayed_;
  fast_path& fast_path_;
  moments* moments_;  ///< null: nobody wants to know
  /// By the number of an acquisition that several share: how many of those that lost it by force are still to
  /// let go.
  std::unordered_map<std::uint64_t, std::size_t> forced_{};
};

}  // namespace holdfast::engine
