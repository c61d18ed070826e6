/// What `holdfast top` knows of the locks: how contended each is, by what was seen of it. No I/O, no clock.
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
  lock_state lock{};  ///< times as they are by now
  /// Acquisitions at the server in a second, as they are estimated.
  double rate = 0;
};

/// The most contended locks of those that were seen: most waiters first, then most acquisitions, then longest
/// held. Keeps `most` of them.
///
/// How often a lock is taken nobody counts. A look shows when it was last taken, since its token is the
/// server's clock at that moment: the shorter ago, the more often. For acquisitions at random the best
/// estimate is the number of looks that found a new one, by the sum of the times that had passed since each,
/// and since the look before where there was none. Regular ones are overestimated, at the most twice. Newer
/// looks count more.
class top_model {
 public:
  using time = std::chrono::nanoseconds;  ///< of any clock that goes on steadily

  explicit top_model(std::size_t most = 1000) : most_{most} {}

  /// A look at a lock. On each wire a name is one of its own.
  void saw(lock_state const& lock, time now);
  /// A look at a name: at those of its locks that are known.
  void saw_again(lock_on_wires const& name, time now);
  /// Forgets those that were last seen held or waited for before `when`.
  void forget_idle(time when);

  /// The first is the most contended.
  [[nodiscard]] std::vector<top_row> rows(time now) const;
  /// Those that were last seen before `when`, the most contended first; at most so many.
  [[nodiscard]] std::vector<std::string> older_than(time when, std::size_t at_most) const;
  [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }

 private:
  struct entry {
    lock_state lock{};
    time seen{};
    time busy{};          ///< when it was last seen held or waited for
    double events = 0;    ///< looks that found a new acquisition
    double exposure = 0;  ///< seconds without one that those looks, and all others, found behind them
    double watched = 0;   ///< seconds since the first look

    [[nodiscard]] double rate() const noexcept;
  };

  using key = std::pair<std::string, wire>;
  struct hash {
    [[nodiscard]] std::size_t operator()(key const& one) const noexcept {
      return std::hash<std::string>{}(one.first) ^ static_cast<std::size_t>(one.second);
    }
  };

  static bool more_contended(entry const& a, entry const& b);
  void watch(entry& one, lock_state const& lock, time now) const;
  [[nodiscard]] std::optional<double> seconds_since_taken(lock_state const& lock, time now) const;
  [[nodiscard]] std::vector<entry const*> sorted() const;

  std::size_t most_;
  std::unordered_map<key, entry, hash> entries_{};
  std::optional<std::chrono::nanoseconds> server_ahead_{};  ///< the server's clock less that of `now`
};

}  // namespace holdfast::cli
