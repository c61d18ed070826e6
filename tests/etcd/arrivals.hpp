/// Participants of a barrier, each in a thread of its own.
#pragma once

#include "support/failure_of.hpp"

#include <holdfast/barrier.hpp>

#include <cstdint>
#include <future>
#include <stop_token>

namespace holdfast::test {

/// What became of one.
struct arrived {
  std::int64_t generation = 0;
  failure failed{};
};
using arrival = std::future<arrived>;

[[nodiscard]] inline arrival arrive(barrier& at, std::stop_token stop = {}) {
  return std::async(std::launch::async, [&at, stop] {
    arrived result;
    result.failed = failure_of([&] { result.generation = at.arrive_and_wait(stop); });
    return result;
  });
}

}  // namespace holdfast::test
