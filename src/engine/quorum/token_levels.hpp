/// The token counters of several masters, on their way to one level. No I/O, no clock.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/answers.hpp"

namespace holdfast::engine {

/// A lease is handed out once a majority of counters has reached the end of its block of tokens: then no
/// majority can give out a token of the block, or an older one, any more.
class token_levels {
 public:
  explicit token_levels(std::size_t masters) : counters_(masters) {}

  /// A majority has voted, for the lease with this block. No counter counts as level yet.
  void begin(granted const& block) noexcept {
    block_ = block;
    for (auto& counter : counters_) counter.level = false;
  }
  [[nodiscard]] granted const& block() const noexcept { return block_; }
  [[nodiscard]] std::int64_t last_token() const noexcept { return end_of(block_); }

  /// The tokens that a master gave with its vote are from its counter.
  [[nodiscard]] bool are_level(granted const& tokens) const noexcept {
    return end_of(tokens) >= last_token();
  }
  void set_level(std::size_t master) noexcept { counters_[master].level = true; }
  [[nodiscard]] bool is_level(std::size_t master) const noexcept { return counters_[master].level; }
  [[nodiscard]] std::size_t level_counters() const noexcept {
    return static_cast<std::size_t>(std::ranges::count(counters_, true, &master_counter::level));
  }

  // Requests to raise a counter. A script that the master has forgotten is answered behind later requests, so
  // if several answers are still to come only the last of them counts.
  void note_request(std::size_t master) noexcept {
    counters_[master].raising = true;
    ++counters_[master].owed;
  }
  void note_unsent(std::size_t master) noexcept { --counters_[master].owed; }
  /// Whether it counts.
  [[nodiscard]] bool note_answer(std::size_t master) noexcept {
    auto& counter = counters_[master];
    if (--counter.owed != 0 || !counter.raising) return false;
    counter.raising = false;
    return true;
  }
  [[nodiscard]] bool is_raising(std::size_t master) const noexcept { return counters_[master].raising; }
  /// The master votes anew: what it answers to earlier requests doesn't count.
  void forget_requests(std::size_t master) noexcept { counters_[master].raising = false; }

 private:
  struct master_counter {
    bool level = false;
    bool raising = false;
    int owed = 0;  ///< answers to come
  };

  [[nodiscard]] static std::int64_t end_of(granted const& tokens) noexcept {
    return tokens.token + tokens.count - 1;
  }

  std::vector<master_counter> counters_;
  granted block_{};
};

}  // namespace holdfast::engine
