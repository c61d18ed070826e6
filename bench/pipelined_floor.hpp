/// The floor of everything asynchronous: one thread, one connection, a fixed number of cycles outstanding.
#pragma once

#include <chrono>

#include "exclusive_commands.hpp"

namespace holdfast::bench {

/// Cycles (acquire, then release, each on a name of its own) per second with `outstanding` of them in flight.
[[nodiscard]] double pipelined_cycles_per_second(int port, wire_commands wire, int outstanding,
                                                 std::chrono::duration<double> time);

/// So many cycles.
void run_pipelined_cycles(int port, wire_commands wire, int outstanding, long count);

}  // namespace holdfast::bench
