/// The times of an acquire round. No I/O, no clock.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "engine/recipe.hpp"

namespace holdfast::engine {

/// How often the contender that is ahead in a split vote asks before it makes way, too: a dead rival keeps
/// its votes for their ttl.
constexpr int tries_ahead = 5;

/// Before masters that were silent, and are present again, are asked once more.
constexpr std::chrono::milliseconds back_again{20};

/// A master's time to answer, which `usually` takes that long: short for a short lease, but long enough for a
/// network that is always slow.
constexpr std::chrono::nanoseconds time_to_answer(milliseconds ttl, std::chrono::nanoseconds usually) {
  constexpr int part_of_ttl = 10;
  constexpr std::chrono::milliseconds least_part{25};
  return std::max<std::chrono::nanoseconds>({ttl / part_of_ttl, least_part, 2 * usually});
}

/// How long the contender that is ahead leaves the others to make way, after so many tries. `usually`: a
/// master's time to answer, of those that voted for it.
constexpr std::chrono::nanoseconds pause_ahead(int tries, std::chrono::nanoseconds usually) {
  constexpr std::chrono::microseconds shortest{100};
  constexpr std::chrono::milliseconds longest{5};
  return std::min<std::chrono::nanoseconds>(
      std::max<std::chrono::nanoseconds>(usually, shortest) * (1 << (tries - 1)), longest);
}

/// When a contender that made way in a split vote asks again. Where the masters have queues, its position in
/// them decides. Elsewhere contenders are spread by their numbers, which leaves time to contenders that only
/// gather single votes for long.
constexpr milliseconds pause_behind(bool queues, std::uint64_t number) {
  constexpr milliseconds least{20};
  constexpr std::uint64_t spread = 32;
  return queues ? milliseconds{0} : least + milliseconds{number % spread};
}

}  // namespace holdfast::engine
