/// Writes the history of a client: who asked, who had the lock, and how long (docs/history.md).
#pragma once

#include <functional>
#include <holdfast/client.hpp>
#include <holdfast/lease.hpp>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "engine/client_constants.hpp"
#include "engine/deferred_log.hpp"
#include "engine/lock_queue.hpp"
#include "history/file.hpp"
#include "history/lines.hpp"
#include "reactor/reactor.hpp"

namespace holdfast::engine {

/// A lease in the history.
struct recorded_lease {
  std::int64_t number = 0;  ///< "l" of its lines
  int file = -1;            ///< the descriptor, which is the client's
};

/// All under the client's lock. There is one if client_options::history names a file. Nothing here fails:
/// what can't be written ends the history, with one warning.
///
/// The lines of a turn are written by one write(2), ahead of the turn's requests: what a killed process has
/// told the server is in its history.
class recorder final : public reactor::flushable {
 public:
  /// Throws an error when the file can't be opened.
  recorder(reactor::loop& loop, client_constants const& client, client_stats const& counts, deferred_log& log,
           std::function<bool()> server_is_up);

  void asked(waiter const& caller, time_point now) noexcept;
  /// Its place in the server's queue is certain. Only the first time counts, until it isn't certain any more.
  void queued(waiter const& caller, time_point now) noexcept;
  void not_certain(waiter const& caller) noexcept;
  /// The caller's wait is over, and its results are in place.
  void finished(waiter const& caller, time_point now) noexcept;
  /// It has become of another lease, without a wait.
  void turned_into(lease_state const& lease, time_point now) noexcept;
  void renewed(lease_state const& lease, time_point now) noexcept;
  void paused(lease_state const& lease, time_point now) noexcept;
  void resumed(lease_state const& lease, time_point now) noexcept;
  void kept(lease_state const& lease, time_point until, time_point now) noexcept;
  void released(lease_state const& lease, time_point now) noexcept;
  void lost(lease_state const& lease, loss_cause cause, time_point now) noexcept;
  /// A number under a name: permits, or the count of a latch.
  void numbered(history::event happened, history::kind of, std::string_view name, std::int64_t number,
                time_point now) noexcept;
  void trouble(std::string_view reason, time_point now) noexcept;
  /// A connection for messages has broken.
  void unheard(time_point now) noexcept;
  void closed(time_point now) noexcept;

  /// All its lines so far are in the file then. nullopt: it has ended, or the history has.
  [[nodiscard]] std::optional<recorded_lease> find(lease_state const& lease) noexcept;

  bool flush(bool driving) override;
  void on_lost_handler() noexcept override {}

 private:
  void begin_history(time_point now);
  void begin(history::event happened, time_point now);
  void end();
  void add_lock(lock_queue const& queue);
  void add_lease(lease_state const& lease);
  template <class Write>
  void write(time_point now, Write add_rest) noexcept;
  void of_lease(history::event happened, lease_state const& lease, time_point now, bool over) noexcept;
  void give_up(std::string const& reason) noexcept;
  void look() noexcept;
  void alive(bool heard, time_point now) noexcept;

  reactor::loop& loop_;
  client_constants const& client_;
  client_stats const& stats_;
  deferred_log& log_;
  std::function<bool()> server_is_up_;
  history::file file_;
  history::lines lines_;
  std::size_t begun_ = 0;  ///< where the line under way begins
  bool over_ = false;      ///< it ended early
  time_point last_{};      ///< of the last line: those of a client have different times, in order
  std::int64_t waits_ = 0;
  std::int64_t leases_ = 0;
  struct wait {
    std::int64_t number = 0;
    bool queued = false;
  };
  std::unordered_map<waiter const*, wait> waiting_;
  std::unordered_map<lease_state const*, std::int64_t> held_;
  reactor::timer heartbeat_{[this] { look(); }};
};

/// The words of the format.
[[nodiscard]] std::string_view word_of(loss_cause cause) noexcept;

}  // namespace holdfast::engine
