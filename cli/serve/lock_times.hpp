/// How long holds and waits of locks have lasted, by the minute, for a quarter of an hour. No I/O, no clock.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace holdfast::cli {

enum class lasting : std::uint8_t { hold, wait };

/// Bounded, however many locks there are, and however often they change: the oldest are forgotten. Not
/// thread-safe.
class lock_times {
 public:
  using day_time = std::chrono::sys_time<std::chrono::microseconds>;
  using minute = std::chrono::sys_time<std::chrono::minutes>;
  static constexpr auto kept_for = std::chrono::minutes{15};

  struct summary {
    std::size_t count = 0;
    /// Right within a fifth: they are counted by classes of lengths.
    std::chrono::milliseconds median{};
    std::chrono::milliseconds high{};  ///< 95 of 100 were shorter
    std::chrono::milliseconds longest{};
  };
  struct in_minute {
    minute begins{};
    summary holds{};
    summary waits{};
  };

  /// `most`: minutes of locks that are kept; each has 300 bytes.
  explicit lock_times(std::size_t most = 10'000) : most_{most} {}

  /// It has ended at `at`.
  void add(std::string_view id, lasting of, std::chrono::milliseconds took, day_time at);
  /// Of one lock, the oldest first, without minutes in which none has ended.
  [[nodiscard]] std::vector<in_minute> of(std::string_view id, day_time now) const;

 private:
  struct histogram {
    std::array<std::uint16_t, 48> counts{};
    std::chrono::milliseconds longest{};
  };
  struct record {
    std::string id{};
    minute begins{};
    std::array<histogram, 2> ended{};  ///< by `lasting`
  };

  static void count(histogram& in, std::chrono::milliseconds took);
  [[nodiscard]] static summary summed(histogram const& of);
  [[nodiscard]] record& current(std::string_view id, minute now);
  void forget_first();

  std::size_t most_;
  std::deque<record> records_{};                             ///< in the order of their beginning
  std::uint64_t forgotten_ = 0;                              ///< how many: numbers of records go on
  std::unordered_map<std::string, std::uint64_t> newest_{};  ///< the number of each lock's newest record
};

}  // namespace holdfast::cli
