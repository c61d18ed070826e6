/// Locks whose holders are likely to say their traces soon. No I/O, no clock.
#pragma once

#include "serve/store.hpp"

#include <holdfast/inspect.hpp>

#include <cstddef>
#include <deque>
#include <string>
#include <vector>

namespace holdfast::cli {

/// A holder says its trace half a second after its grant, or a whole one. Its lock doesn't change by that, so
/// it is looked at once more.
class expected_traces {
 public:
  using time = lock_store::time;
  static constexpr std::size_t most_at_once = 96;

  /// Not if it has been held for so long that the trace would be there, nor if there are thousands already.
  void add(lock_state const& lock, time now);
  /// The names for which it is time, of many some at a time: looks at what changes mustn't wait for them. Not
  /// of locks that somebody else has by now: these were added again.
  [[nodiscard]] std::vector<std::string> take_due(lock_store const& store, time now);

 private:
  struct entry {
    time due{};
    std::string name{};
    wire on = wire::plain;
    std::string owner{};
  };
  std::deque<entry> all_{};  ///< the first one due first
};

}  // namespace holdfast::cli
