/// The engine of one client: the acquire-wait-renew-release loop, written once for all kinds of lock.
#pragma once

#include <functional>
#include <holdfast/client.hpp>
#include <holdfast/lease.hpp>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <thread>
#include <unordered_map>
#include <unordered_set>

#include "base/hash_slot.hpp"
#include "engine/acknowledgements.hpp"
#include "engine/batches.hpp"
#include "engine/busy_report.hpp"
#include "engine/client_constants.hpp"
#include "engine/deferred_log.hpp"
#include "engine/departed.hpp"
#include "engine/holders.hpp"
#include "engine/lease_state.hpp"
#include "engine/lock_backend.hpp"
#include "engine/lock_queues.hpp"
#include "engine/presence.hpp"
#include "engine/release/kept_keys.hpp"
#include "engine/release/pending_releases.hpp"
#include "engine/release_requests.hpp"
#include "engine/renewer.hpp"
#include "engine/wake/notifications.hpp"
#include "net/loose_ends.hpp"
#include "reactor/reactor.hpp"

namespace holdfast::engine {

/// Called once: with the lease, with the error, or with neither when the time was up.
using acquire_handler = callback<void(lease_state_ptr, std::shared_ptr<error const>)>;

/// The deployment that a kind of lock, or another object, needs.
enum class votes {
  none,      ///< a single one, whose reply is enough
  majority,  ///< several masters that vote
};

/// How long a caller waits; nullopt: without a limit. Zero or less: it only tries.
using wait_limit = std::optional<std::chrono::nanoseconds>;

/// What a waiting caller does about a server that can't be reached before its first reply. After the first
/// reply all callers wait.
enum class outages {
  told_of,     ///< the caller fails after connect_timeout
  waited_out,  ///< the caller waits until its time is up: the server is known to exist
};

class core : public std::enable_shared_from_this<core> {
 public:
  /// Makes the deployment that a URL names; a simulation has its own.
  using deployment_maker = std::function<std::unique_ptr<topology::deployment>(
      reactor::loop&, net::deployment_url const&, net::settings const&, client_stats&, topology::events)>;

  core(net::deployment_url url, client_options options,
       deployment_maker const& make_deployment = topology::make_deployment);
  ~core();
  core(core const&) = delete;
  core& operator=(core const&) = delete;

  // For clients and locks, from any thread, without the lock.

  void connect();
  /// Ends the client within a bounded time: releases the leases and fails the waiting callers. False: a
  /// thread is inside a callback that couldn't be waited for, and this object has to outlive it.
  [[nodiscard]] bool shut() noexcept;
  /// Shutdown within exit(), each step for all clients before the next step: no other thread gets a lock from
  /// then on; the leases are given back; the confirmations are awaited, for a bounded time after `begun`.
  void begin_exit() noexcept;
  void give_all_back() noexcept;
  void await_given_back(time_point begun) noexcept;
  [[nodiscard]] client_stats stats();
  /// The options, shared with other locks whose options are equal.
  [[nodiscard]] effective_options_ptr share(lock_options const& options);
  [[nodiscard]] lock_queue_ptr pin(recipe const& protocol, std::string_view name);
  void unpin(lock_queue_ptr& queue) noexcept;
  /// `amount`: the number of permits. A kind of lock without leases grants a lease that is over already.
  [[nodiscard]] lease_state_ptr acquire(lock_queue_ptr const& queue, effective_options_ptr const& options,
                                        wait_limit wait, std::stop_token const& stop, int amount = 1,
                                        outages in_outage = outages::told_of);
  void async_acquire(lock_queue_ptr const& queue, effective_options_ptr const& options, wait_limit wait,
                     std::stop_token stop, acquire_handler done, int amount = 1,
                     outages in_outage = outages::told_of);
  /// Drops a lease that was over when it was granted. The lease points at its queue, whose reference count
  /// the lock guards.
  void forget(lease_state_ptr& lease) noexcept;
  release_result release(lease_state_ptr& lease) noexcept;
  /// A release in two steps, so that leases of several clients are released at the same time.
  struct ending;
  [[nodiscard]] std::shared_ptr<ending> begin_release(lease_state_ptr& lease) noexcept;
  release_result end_release(std::shared_ptr<ending> const& begun) noexcept;
  void async_release(lease_state_ptr& lease, release_handler done) noexcept;
  /// Ends the lease and leaves its key in the server: for the rest of its ttl, or for `remaining`.
  release_result keep(lease_state_ptr& lease, std::optional<milliseconds> remaining) noexcept;
  void renew(lease_state& lease);
  /// Turns a lease into one of the queue `to`, with the same owner, in one step at the server. The reply to
  /// `script` is read as that to a release. Throws errc::lost, and what ask_server throws; the lease is over
  /// then.
  [[nodiscard]] lease_state_ptr become(lease_state_ptr lease, lock_queue_ptr const& to, call const& script);
  /// One more handle of `lease`, which must be held, and of that queue.
  [[nodiscard]] lease_state_ptr reenter(lock_queue_ptr const& queue, lease_state* lease);
  /// Sends scripts of no lock in one pipeline, and waits for the replies. Throws when the server can't be
  /// asked; a refusal is a reply, too.
  [[nodiscard]] std::vector<resp::reply> ask_server(std::span<call const> scripts);
  /// Sends one script. The response tells, too, whether an earlier copy of the request may have been carried
  /// out. Throws when the server can't be asked; a refusal is a reply.
  [[nodiscard]] net::response ask_server(call const& script, scripting::send_options send = {});
  /// Sends one script for the object `about`. Throws also when the server refuses.
  [[nodiscard]] resp::reply ask_server(call const& script, std::string_view about);
  /// Sends a plain command to the slot of `key`, if there is one. A refusal is a reply, too.
  [[nodiscard]] resp::reply ask_server(std::span<std::string_view const> command, std::string_view key = {});
  /// The servers that each hold a part of the keys; at least one.
  [[nodiscard]] std::vector<std::string> masters();
  /// Sends a plain command to one of the masters.
  [[nodiscard]] resp::reply ask_master(std::string const& master, std::span<std::string_view const> command);
  [[nodiscard]] std::stop_token stop_token(lease_state& lease);
  void on_lost(lease_state& lease, std::function<void(loss_cause)> f);
  void on_limit_near(lease_state& lease, milliseconds before, std::function<void()> f);
  /// The holder that was in the way when a caller of this queue last went without the lock. May ask the
  /// server for the record of its client.
  [[nodiscard]] std::optional<busy_info> last_busy(lock_queue& queue);
  /// When a caller of this queue last went without the lock; the clock's epoch: never.
  [[nodiscard]] time_point last_busy_at(lock_queue const& queue);

  /// Calls `done` after `time`, or when the client is shut down.
  void async_pause(std::chrono::nanoseconds time, callback<void()> done);
  /// For the log hook, unless the client is closing: `make_message` returns the message.
  template <class MakeMessage>
  void warn(MakeMessage make_message) noexcept {
    if (forked()) return;
    reactor::lock hold{loop_.mutex()};
    if (!closing_) log_(log_level::warning, make_message);
    loop_.leave(hold);
  }

  /// The masters in the URL vote.
  [[nodiscard]] bool is_quorum() const noexcept { return client_.deployment.votes; }
  /// Throws std::errc::invalid_argument unless the client has the deployment that an object needs.
  void check_kind(votes needed) const;

  /// This process is a forked child, and the client a copy of the parent's.
  [[nodiscard]] bool forked() const noexcept { return client_.forked(); }
  [[nodiscard]] std::string owner_id(std::uint64_t number) const { return client_.owner_id(number); }
  [[nodiscard]] std::string const& uuid() const noexcept { return client_.uuid; }
  [[nodiscard]] std::string const& url() const noexcept { return client_.url; }
  /// The wire format of locks whose options name none: plain or redisson.
  [[nodiscard]] holdfast::wire wire() const noexcept {
    auto const chosen =
        client_.options.wire != holdfast::wire::automatic ? client_.options.wire : settings_.server.wire;
    return chosen == holdfast::wire::redisson ? chosen : holdfast::wire::plain;
  }

  /// The keys are spread over several servers by hash slot.
  [[nodiscard]] bool clustered() const noexcept { return client_.deployment.slots; }
  /// Only names with the same number can be in one request.
  [[nodiscard]] std::uint16_t slot_of(std::string_view name) const noexcept {
    return clustered() ? hash_slot(name) : 0;
  }
  /// How scripts outside the engine notify waiters.
  [[nodiscard]] publishing publishing_now();

 private:
  // acquire.cpp and contender.cpp: the waiting loop. All under the lock. When a function fails for want of
  // memory, its caller puts right what it has changed: a contender that is left without a request asks again.
  void start(waiter& caller) noexcept;
  void queue(waiter& caller);
  void leave(waiter& caller) noexcept;
  void cancel(waiter& caller) noexcept;
  void finish(waiter& caller) noexcept;
  void fail_all(lock_queue& queue, std::shared_ptr<error const> const& reason) noexcept;
  bool fail_impatient(lock_queue& queue, std::shared_ptr<error const> const& reason) noexcept;
  static void only_try(waiter& caller) noexcept;
  void finish_tries(lock_queue& queue, std::shared_ptr<error const> const& reason) noexcept;
  contender& open_contender(lock_queue& queue);
  void begin_contending(lock_queue& queue, bool answered = false) noexcept;
  void send_acquire(lock_queue& queue) noexcept;
  void try_send_acquire(lock_queue& queue);
  void on_unsent(lock_queue& queue, std::uint64_t number) noexcept;
  void ask_again_soon(lock_queue& queue, std::uint64_t number) noexcept;
  [[nodiscard]] bool renew_contender(lock_queue& queue) noexcept;
  void drop_orphan(lock_queue& queue, std::uint64_t number) noexcept;
  bool on_acknowledged(lock_queue& queue, std::uint64_t number, acknowledgement const& reached) noexcept;
  void on_acquire_reply(lock_queue& queue, std::uint64_t number, net::response const& response) noexcept;
  void on_verdict(lock_queue& queue, verdict const& result, time_point sent_at);
  void on_granted(lock_queue& queue, granted const& grant, time_point sent_at, milliseconds ttl);
  static void set_limits(lease_state& lease, time_point now);
  void give(lock_queue& queue, lease_state_ptr const& lease) noexcept;
  void give(waiter& caller, lease_state_ptr const& lease) noexcept;
  void take_for_good(lock_queue& queue, std::int64_t token, time_point now);
  void ask_anew(lock_queue& queue) noexcept;
  void serve_others(lock_queue& queue) noexcept;
  bool join(waiter& caller);
  void on_busy(lock_queue& queue, busy const& busy_reply, time_point sent_at);
  void on_trouble(lock_queue& queue, net::response const& response);
  void sleep(lock_queue& queue, busy const& busy_reply);
  void withdraw(lock_queue& queue) noexcept;
  void time_up(waiter& caller) noexcept;
  [[nodiscard]] acquire_request next_request(lock_queue& queue);
  void end_contender(lock_queue& queue) noexcept;

  // messages.cpp: what messages mean for contenders. All under the lock.
  void on_turn(std::string const& channel, turn const& message);
  void on_woken(std::uint64_t number);
  void on_grant(std::uint64_t number, granted const& grant);
  void ask_all_again() noexcept;
  void on_moved(std::string const& server);
  void on_open(std::uint64_t number);

  // ghosts.cpp: traces in the server of acquisitions that are over. All under the lock.
  [[nodiscard]] bool is_over(std::uint64_t number, std::span<std::string_view const> names) const;
  void answer_for(std::uint64_t number, std::string_view name);
  bool clear_ghost(lock_queue& queue, std::string_view holder);

  // release.cpp: how a lease ends, by its holder's will or against it. All under the lock.
  void release(lease_state& lease, release_handler done) noexcept;
  bool finish_here(lease_state& lease) noexcept;
  bool leave_here(lease_state& lease) noexcept;
  void ask_after_release(lock_queue& queue) noexcept;
  [[nodiscard]] static bool still_to_release(lease_state const& lease) noexcept;
  bool hand_over(lock_queue& queue, lease_state& from) noexcept;
  struct passing;
  void pass(lock_queue& queue, lease_state const& from, release_handler done) noexcept;
  void on_passed(passing& pending, net::response const& response) noexcept;
  void lose(lease_state& lease, loss_cause cause) noexcept;
  void lose_alone(lease_state& lease, loss_cause cause) noexcept;
  void keep(lease_state& lease, std::optional<milliseconds> remaining, release_handler done) noexcept;

  // Work that failed for want of memory. All under the lock.
  void send_owed(owed_request const& request) noexcept;
  void on_torn() noexcept;
  void mend_soon() noexcept;
  void mend() noexcept;

  template <class Operation>
  [[nodiscard]] std::shared_ptr<ending> begin_ending(lease_state_ptr& lease, Operation operation) noexcept;
  [[nodiscard]] release_result wait_for_end(reactor::lock& hold,
                                            std::shared_ptr<ending> const& begun) noexcept;
  template <class Operation>
  release_result finish_lease(lease_state_ptr& lease, Operation operation) noexcept;
  [[nodiscard]] std::vector<net::response> run_scripts(std::span<call const> scripts,
                                                       scripting::send_options send = {});
  template <class Send>
  [[nodiscard]] std::vector<net::response> wait_for_answers(std::size_t count, Send send);
  void check_usable() const;
  /// Under the lock, before any work is begun: starts the thread that finishes it.
  void prepare();
  void set_waiters_aside() noexcept;
  void lose_all() noexcept;
  [[nodiscard]] bool exiting_elsewhere() const noexcept {
    return exiting_ != std::thread::id{} && exiting_ != std::this_thread::get_id();
  }
  [[nodiscard]] std::unique_ptr<lock_backend> make_backend(deployment_maker const& make_deployment);
  void drain(reactor::lock& hold, time_point until) noexcept;
  void wait_behind_all(reactor::lock& hold, time_point until);
  void nap(reactor::lock& hold) noexcept;

  // Constant after construction.
  net::deployment_url const url_;
  client_constants const client_;
  net::loose_ends unended_;  ///< under the loop's lock
  net::settings const settings_;

  // Under the loop's lock.
  reactor::loop loop_;
  deferred_log log_{loop_, client_.options.log};
  client_stats stats_;
  std::unique_ptr<lock_backend> const backend_;
  lock_queues queues_{*this, client_, [this] { self_.reset(); }};
  holders holders_;
  departed departed_;
  renewer renewer_;
  acknowledgements acknowledgements_{*backend_, client_};
  notifications notifications_;
  presence presence_;
  busy_report busy_report_{client_};
  release_requests release_requests_;
  delayed_calls delayed_{loop_};
  late_responses late_responses_;
  owed_requests owed_{loop_, client_, log_, [this](owed_request const& request) { send_owed(request); }};
  kept_keys kept_keys_{*backend_, client_, log_, departed_, late_responses_, presence_, owed_};
  pending_releases pending_releases_{*backend_,      client_,   log_,     stats_,
                                     notifications_, departed_, delayed_, owed_};
  effective_options_ptr last_options_;
  std::minstd_rand random_;
  bool look_again_ = false;
  reactor::timer mending_{[this] { mend(); }};
  bool closing_ = false;
  std::thread::id exiting_;     ///< the thread that has called exit()
  std::shared_ptr<core> self_;  ///< while there are queues: leases and locks may outlive the client
};

}  // namespace holdfast::engine
