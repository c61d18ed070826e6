/// Looks at many locks again and again, at a small cost to the server, for the command.
#pragma once

#include <holdfast/client.hpp>
#include <holdfast/inspect.hpp>

#include "probe/lock_pulse.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace holdfast::probe {

/// Each operation blocks until the server answers, in steps of under a millisecond of its time. Throws
/// errc::unreachable and the like. An object for each thread.
///
/// On etcd a pulse reads the names of at most 128 keys of each lock, fifty locks in one request, and asks how
/// long leases last: at most sixteen for each call, and each once a second. What it doesn't ask then it
/// reckons on. A look is at sixteen names a request, and one for each lease. There is one wire.
class lock_survey {
 public:
  explicit lock_survey(client& redis);
  ~lock_survey();
  lock_survey(lock_survey const&) = delete;
  lock_survey& operator=(lock_survey const&) = delete;

  /// In the order of the names. One request for each 200 of them, more if the server would be busy with these
  /// for over a millisecond; in a cluster for each slot.
  [[nodiscard]] std::vector<lock_pulse> feel(std::span<std::string const> names, pulse_scope scope);

  /// Calls f with each lock on each wire, also with free ones, until it returns false. Of a queue the first
  /// eight are there, by their owner ids alone. One request for each twelve names, and one if they have
  /// clients that it hasn't seen before; in a cluster for each slot.
  void look(std::span<std::string const> names, std::function<bool(lock_state const&)> const& f);

  /// Whether a holder of that lock, which was looked at, is likely to have a trace a second later: its client
  /// says traces.
  [[nodiscard]] bool expects_trace_of(lock_state const& lock) const;

  /// Calls f with the names of locks on the plain wire, some at a time, also of those that have been used in
  /// the last day, until it returns false. A name may come several times.
  void find_names(std::function<bool(std::vector<std::string> const&)> const& f);

  /// What find_names() doesn't find: calls `names` with the names of semaphores on the plain wire whose
  /// permits are out, perhaps for longer than a day, and `redisson` with each lock on Redisson's wire that is
  /// held or waited for, until one of them returns false. It goes through all sorted sets and all hashes.
  /// Throws errc::unauthorized or errc::refused if it may not look at Redisson's, when it has told all names.
  void find_others(std::function<bool(std::vector<std::string> const&)> const& names,
                   std::function<bool(lock_state const&)> const& redisson);

  /// It looks at locks on etcd.
  [[nodiscard]] bool on_etcd() const noexcept;

  /// How many requests this object has sent.
  [[nodiscard]] std::size_t requests() const noexcept;

 private:
  struct impl;
  std::unique_ptr<impl> impl_;
};

}  // namespace holdfast::probe
