/// The engine of one client: its life, and all its parts.
#pragma once

#include <chrono>
#include <functional>
#include <holdfast/client.hpp>
#include <memory>
#include <string>

#include "engine/async_server_calls.hpp"
#include "engine/contention/contention.hpp"
#include "engine/conversions.hpp"
#include "engine/lay_down_calls.hpp"
#include "engine/lease_calls.hpp"
#include "engine/lock_calls.hpp"
#include "engine/petitions.hpp"
#include "engine/server_calls.hpp"
#include "engine/watches.hpp"
#include "net/broken_connections.hpp"
#include "script/translator.hpp"
#include "topology/make_deployment.hpp"

namespace holdfast::engine {

class core : public std::enable_shared_from_this<core> {
 public:
  /// `make_deployment` makes the deployment that a URL names, or each of several masters that vote. `outer`:
  /// the event loop of the program that this runs on, if it has no thread.
  core(net::deployment_url url, client_options options,
       topology::deployment_maker const& make_deployment = topology::make_deployment,
       std::shared_ptr<event_loop> outer = nullptr);
  ~core();
  core(core const&) = delete;
  core& operator=(core const&) = delete;

  // From any thread, without the lock.

  /// The calls of threads: to get a lock, about a lease, and to ask the server something else.
  [[nodiscard]] lock_calls& locks() noexcept { return lock_calls_; }
  [[nodiscard]] lease_calls& leases() noexcept { return lease_calls_; }
  [[nodiscard]] lay_down_calls& lay_downs() noexcept { return lay_down_calls_; }
  [[nodiscard]] server_calls& requests() noexcept { return server_calls_; }
  [[nodiscard]] engine::async_server_calls& async_server_calls() noexcept { return async_server_calls_; }
  /// For watchers, which hear of each change of an object in the server.
  [[nodiscard]] engine::watches& watches() noexcept { return watches_; }

  /// Ends the client in order: no caller gets a lock any more, waiting callers fail, and for at most `drain`
  /// holders may give their leases back. Then as shut(), but other calls fail instead of being undefined.
  /// True: there was no lease left by then. Throws where a callback can't wait.
  bool shut_down_within(std::chrono::nanoseconds drain);
  /// Ends the client within a bounded time: releases the leases and fails the waiting callers. False: a
  /// thread is inside a callback that couldn't be waited for, and this object has to outlive it.
  [[nodiscard]] bool shut() noexcept;
  /// `f` is called once, before the client is used for anything that may have to be given back.
  void at_first_use(void (*f)()) noexcept { gate_.at_first_use(f); }
  /// Shutdown within exit(), each step for all clients before the next step: no other thread gets a lock from
  /// then on; the leases are given back; the confirmations are awaited, for a bounded time after `begun`,
  /// which counts for shut(), too.
  void begin_exit() noexcept;
  void give_all_back() noexcept;
  void await_given_back(time_point begun) noexcept;

  [[nodiscard]] client_stats stats();
  /// The options, shared with other locks whose options are equal.
  [[nodiscard]] effective_options_ptr effective(lock_options const& options, int size = 0);
  [[nodiscard]] lock_queue_ptr pin(recipe const& lock_recipe, std::string_view name);
  void unpin(lock_queue_ptr& queue) noexcept;
  /// How scripts outside the engine notify waiters.
  [[nodiscard]] publishing publishing_now();
  /// The same, and all else that a release with these options says.
  [[nodiscard]] release_policy policy_now(lock_options const& options);
  /// For the log hook, unless the client is closing: `make_message` returns the message.
  template <class MakeMessage>
  void warn(MakeMessage make_message) noexcept {
    if (client_.forked()) return;
    reactor::lock hold{loop_.mutex()};
    if (!gate_.closed()) log_(log_level::warning, make_message);
    loop_.leave(hold);
  }

  /// For the history: a number under a name is set, or changed (history/words.hpp).
  void record_number(history::event happened, history::kind of, std::string_view name,
                     std::int64_t number) noexcept;

  // Constant.

  [[nodiscard]] client_constants const& constants() const noexcept { return client_; }

  /// Throws std::errc::invalid_argument when scripts can't be called, as far as that is known by now.
  void check_scripts(std::string const& title);

 private:
  [[nodiscard]] std::unique_ptr<lock_backend> make_backend(topology::deployment_maker const& make_deployment);
  [[nodiscard]] net::settings make_connection_settings();
  [[nodiscard]] std::unique_ptr<held_traces> make_traces();
  [[nodiscard]] std::unique_ptr<moments> make_moments();
  [[nodiscard]] notifications::events on_messages();
  void on_moved(std::string const& server);
  void ask_about_all(time_point now) noexcept;
  [[nodiscard]] bool at_stake(time_point now) const noexcept;
  void send_owed(owed_request const& request, time_point now) noexcept;
  void lose_all(time_point now) noexcept;
  void lose_at_end(lease_state& lease, batches& together, time_point now) noexcept;
  void drain(reactor::lock& hold, time_point until) noexcept;
  void wait_behind_all(reactor::lock& hold, time_point until);
  void nap(reactor::lock& hold, time_point until) noexcept;
  void close() noexcept;

  // Constant after construction.
  net::deployment_url const url_;
  client_constants const client_;
  net::broken_connections broken_connections_;  ///< under the loop's lock
  scripting::command_translator translator_;    ///< the same
  net::settings const settings_;

  // Under the loop's lock, but for the calls, which take it.
  reactor::loop loop_;
  deferred_log log_{loop_, client_.options.log};
  client_stats stats_;
  std::unique_ptr<lock_backend> const backend_;
  std::unique_ptr<held_traces> const traces_;  ///< null: there is no observer
  std::unique_ptr<moments> const moments_;     ///< null: nobody wants to know
  // When the last queue goes, this engine doesn't end: the caller that drops it keeps the engine for the
  // length of its call.
  lock_queues queues_{this, client_, [this] { self_.reset(); }};
  holders holders_;
  departed departed_;
  renewer renewer_;
  acknowledgements acknowledgements_{*backend_, client_};
  notifications notifications_;
  presence presence_;
  busy_report busy_report_{client_, traces_.get()};
  delayed_calls delayed_{loop_};
  late_responses late_responses_;
  owed_requests owed_;
  kept_keys kept_keys_{*backend_, client_, log_, departed_, late_responses_, presence_, delayed_, owed_};
  pending_releases pending_releases_{*backend_,      client_,   log_,     stats_,
                                     notifications_, departed_, delayed_, owed_};
  contention contention_;
  petitions petitions_;
  reactor::timer ask_all_again_;  ///< something failed halfway: all leases and all contenders ask
  call_gate gate_{loop_, client_};
  time_point end_begun_ = time_point::max();  ///< since when confirmations at the end are awaited
  server_calls server_calls_{loop_, *backend_, client_, gate_, delayed_};
  engine::async_server_calls async_server_calls_{loop_, *backend_, client_, gate_, delayed_};
  engine::watches watches_{loop_, *backend_, client_, gate_};
  deadlocks deadlocks_;
  lock_calls lock_calls_{loop_,     client_,       gate_,     contention_.membership, delayed_, busy_report_,
                         *backend_, server_calls_, deadlocks_};
  conversions conversions_{*backend_, client_, delayed_, moments_.get()};
  lease_calls lease_calls_{
      loop_,    *backend_,         client_,          gate_,        stats_,   holders_,
      renewer_, pending_releases_, contention_.ends, conversions_, delayed_, moments_.get()};
  lay_down_calls lay_down_calls_{
      loop_, client_, gate_, renewer_, pending_releases_, contention_.ends, conversions_, moments_.get()};
  effective_options_ptr last_options_;
  std::shared_ptr<core> self_;  ///< while there are queues: leases and locks may outlive the client
};

}  // namespace holdfast::engine
