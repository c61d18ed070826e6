/// What the judge has found.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "judge/record.hpp"

namespace holdfast::judging {

/// What was promised; docs/guarantees.md has S1 to L3.
enum class promise : std::uint8_t {
  exclusion,   ///< S1
  told,        ///< S2
  tokens,      ///< S3
  wake_up,     ///< L1
  order,       ///< L3
  arithmetic,  ///< of permits without leases, latches and barriers
};
inline constexpr std::array<std::string_view, 6> promise_words{"S1", "S2", "S3", "L1", "L3", "count"};
constexpr std::string_view word_of(promise value) {
  return promise_words.at(static_cast<std::size_t>(value));
}

/// A point of a time line.
struct moment {
  instant t = 0;
  std::uint32_t client = 0;
  std::string text{};
  std::uint16_t file = 0;
  std::uint32_t line = 0;  ///< 0: no line says so
};

struct finding {
  promise broken{};
  std::string text{};
  std::vector<moment> excerpt{};  ///< in the order of time
};

/// Of each promise the finding with the shortest excerpt, and how many there are.
class findings {
 public:
  void add(finding&& found);
  [[nodiscard]] std::size_t count() const noexcept { return count_; }
  /// Calls `f` with each promise that was broken, how often, and the finding with the shortest excerpt.
  template <class F>
  void for_each_promise(F f) const {
    for (std::size_t i = 0; i != of_.size(); ++i)
      if (of_[i].count != 0) f(static_cast<promise>(i), of_[i].count, of_[i].shortest);
  }
  /// Null: none.
  [[nodiscard]] finding const* shortest(promise broken) const noexcept {
    return of_[index(broken)].count == 0 ? nullptr : &of_[index(broken)].shortest;
  }

 private:
  struct entry {
    std::size_t count = 0;
    finding shortest{};
  };
  static constexpr std::size_t index(promise broken) noexcept { return static_cast<std::size_t>(broken); }

  std::array<entry, promise_words.size()> of_{};
  std::size_t count_ = 0;
};

struct report {
  findings violations;
  findings documented;  ///< what docs/guarantees.md says may happen
  std::size_t leases = 0;
  std::size_t waits = 0;       ///< that have ended
  std::size_t unfinished = 0;  ///< waits and leases whose client is gone
  instant longest_wait = 0;
  instant longest_free = 0;  ///< of a lock for which somebody waited
};

/// "3.2 s", "17 ms", "250 us".
[[nodiscard]] std::string time_text(instant time);

}  // namespace holdfast::judging
