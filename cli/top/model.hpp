/// The locks that `holdfast top` has observed, and how contended each is. No I/O, no clock.
#pragma once

#include <holdfast/inspect.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace holdfast::cli {

struct top_row {
  lock_state lock{};  ///< with times as of now
  /// The estimated number of acquisitions per second at the server.
  double rate = 0;
};

/// The most contended of the observed locks: most waiters first, then most acquisitions, then longest held.
/// Keeps `most` of them.
///
/// The rate of acquisitions is estimated. An observation shows the time of the last acquisition, since a
/// token is the server's clock at that moment: the shorter ago, the higher the rate. For random acquisitions
/// the best estimate is the number of observations that found a new one, divided by the sum of the times
/// since each, or since the previous observation where there was none. Regular acquisitions are overestimated
/// by a factor of two at most. Newer observations have more weight.
class top_model {
 public:
  using time = std::chrono::nanoseconds;  ///< of any steady clock

  explicit top_model(std::size_t most = 1000) : most_{most} {}

  /// Adds an observation of a lock. A name is a separate lock on each wire.
  void saw(lock_state const& lock, time now);
  /// Adds an observation of a name, for those of its locks that are known.
  void saw_again(lock_on_wires const& name, time now);
  /// Removes the locks that were last seen held or waited for before `limit`.
  void forget_idle(time limit);

  /// The most contended lock is first.
  [[nodiscard]] std::vector<top_row> rows(time now) const;
  /// The locks that were last seen before `limit`, the most contended first; at most `at_most`.
  [[nodiscard]] std::vector<std::string> older_than(time limit, std::size_t at_most) const;
  [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }

 private:
  struct entry {
    lock_state lock{};
    time seen{};
    time busy{};          ///< the last time it was seen held or waited for
    double events = 0;    ///< observations of a new acquisition
    double exposure = 0;  ///< seconds without an acquisition before each observation
    double watched = 0;   ///< seconds since the first observation

    [[nodiscard]] double rate() const noexcept;
  };

  using key = std::pair<std::string, wire>;
  struct hash {
    [[nodiscard]] std::size_t operator()(key const& value) const noexcept {
      return std::hash<std::string>{}(value.first) ^ static_cast<std::size_t>(value.second);
    }
  };

  static bool more_contended(entry const& a, entry const& b);
  void watch(entry& record, lock_state const& lock, time now) const;
  [[nodiscard]] std::optional<double> seconds_since_taken(lock_state const& lock, time now) const;
  [[nodiscard]] std::vector<entry const*> sorted() const;

  std::size_t most_;
  std::unordered_map<key, entry, hash> entries_{};
  std::optional<std::chrono::nanoseconds> server_ahead_{};  ///< the server's clock minus the clock of `now`
};

}  // namespace holdfast::cli
