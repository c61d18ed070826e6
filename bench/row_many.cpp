// B2 and B3: 256 cycles on different names at once, by threads or asynchronously, against a bare pipelined
// client.

#include "cycles.hpp"
#include "pipelined_floor.hpp"
#include "process.hpp"
#include "rows.hpp"

namespace holdfast::bench {
namespace {

constexpr int at_once = 256;

double floor_per_second(context const& run) {
  return in_child([&] {
    return pipelined_cycles_per_second(run.server.port(), plain_commands, at_once, run.measured_time());
  });
}

}  // namespace

std::vector<line> many_threads(context const& run) {
  line result{"B2", "256 threads, different names, cycles/s",
              target{target::of::ratio, target::side::at_least, 0.30}};
  measure_in_turns(
      run, result, [&] { return floor_per_second(run); },
      [&] { return of_threads(run, at_once).per_second; });
  return {result};
}

std::vector<line> many_asynchronous(context const& run) {
  line result{"B3", "256 asynchronous at once, cycles/s",
              target{target::of::ratio, target::side::at_least, 0.90}};
  measure_in_turns(
      run, result, [&] { return floor_per_second(run); },
      [&] { return outstanding(run, at_once, mutexes()).per_second; });
  return {result};
}

}  // namespace holdfast::bench
