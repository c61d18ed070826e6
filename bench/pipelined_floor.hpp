/// The floor of everything asynchronous: one thread, one connection, a fixed number of cycles outstanding.
#pragma once

#include <chrono>

namespace holdfast::bench {

/// Cycles (acquire, then release, each on a name of its own) per second with `outstanding` of them in flight.
[[nodiscard]] double pipelined_cycles_per_second(int port, int outstanding,
                                                 std::chrono::duration<double> time);

}  // namespace holdfast::bench
