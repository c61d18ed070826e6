/// What open pages are told of locks that were looked at. No I/O, no clock.
#pragma once

#include "serve/store.hpp"
#include "show/json.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::cli {

class lock_news {
 public:
  /// Instead of a longer event pages are told to ask again: one that can't read so fast would be cut off.
  static constexpr std::size_t longest_event = 262'144;

  [[nodiscard]] bool empty() const noexcept { return ids_.empty(); }
  /// For one event, about.
  [[nodiscard]] bool enough() const noexcept { return ids_.size() >= 64; }

  /// Adds an observation to the store, and what has changed by it to the news.
  void add(lock_store& store, lock_state const& lock, lock_store::time now, lock_store::day_time at);

  /// The data of the event, with the locks as the store has them by now.
  [[nodiscard]] json to_json(lock_store const& store, std::string_view deployment, lock_store::time now);

 private:
  std::vector<std::string> ids_{};  ///< of locks that have changed
  std::vector<lock_store::change> changes_{};
};

}  // namespace holdfast::cli
