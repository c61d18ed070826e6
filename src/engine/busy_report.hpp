/// The holder that is in the way of a caller, or was when it went without the lock.
#pragma once

#include <holdfast/busy_info.hpp>
#include <optional>

#include "engine/client_constants.hpp"
#include "engine/held_traces.hpp"
#include "engine/lock_queue.hpp"
#include "engine/record.hpp"

namespace holdfast::engine {

/// What this client knows of the holder in the way of `caller`, which is in its queue or has just left it, as
/// `now`; `traces`: of its own leases, or null. Callers before it in this process's queue count as ahead.
/// Nullopt: no busy reply has come.
[[nodiscard]] std::optional<busy_info> obstacle_of(waiter const& caller, client_constants const& client,
                                                   held_traces const* traces, time_point now);

/// Notes who was in the way, and completes it by the record of the holder's client. All under the client's
/// lock, but for describe_if_own.
class busy_report {
 public:
  explicit busy_report(client_constants const& client, held_traces const* traces = nullptr) noexcept
      : client_{client}, traces_{traces} {}

  /// Notes it in the caller's queue. Without memory the earlier report stays.
  void note(waiter const& caller, time_point now) noexcept;

  /// What the latest caller of that queue waits for, or went without the lock for; with the holder's record
  /// if that was the last one read.
  [[nodiscard]] std::optional<busy_info> latest(lock_queue const& queue, time_point now) const;
  /// Since when that is known; the clock's epoch: there is none.
  [[nodiscard]] static time_point latest_at(lock_queue const& queue, time_point now) noexcept;
  /// Whether the record of that holder's client is worth a request, after latest(): it isn't known, or it may
  /// say the trace by now. The latter isn't worth a wait for a server that isn't `up`, nor for one that
  /// doesn't answer: what is to be read now isn't again for a while, whatever comes of it.
  [[nodiscard]] bool wants_record(process_info const& holder, bool up, time_point now) noexcept;
  /// What the client `uuid` says; missing: nothing, or no more.
  void remember(std::string_view uuid, client_record record, time_point now);

  /// Describes a holder of this client, but for its trace. False: it belongs to another client.
  bool describe_if_own(process_info& holder) const;

 private:
  [[nodiscard]] bool knows_client_of(std::string_view owner) const noexcept;

  client_constants const& client_;
  held_traces const* const traces_;
  // The last record that was read.
  std::string known_uuid_;
  client_record known_;
  time_point read_again_{};
  // The last client that had none.
  std::string missing_uuid_;
  time_point missing_until_{};
};

}  // namespace holdfast::engine
