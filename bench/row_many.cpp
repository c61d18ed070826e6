// B2 and B3: 256 cycles on different names at once, by threads or asynchronously, against a bare pipelined
// client that sends the naive pair, and one that sends the same commands.

#include "cycles.hpp"
#include "pipelined_floor.hpp"
#include "process.hpp"
#include "rows.hpp"

namespace holdfast::bench {
namespace {

constexpr int at_once = 256;

std::function<double()> bare(context const& run, wire_commands wire) {
  return [&run, wire] {
    return in_child([&run, wire] {
      return pipelined_cycles_per_second(run.server.port(), wire, at_once, run.measured_time());
    });
  };
}

}  // namespace

std::vector<line> many_threads(context const& run) {
  line result{"B2", "256 threads, different names, cycles/s",
              target{target::of::ratio, target::side::at_least, 0.30}};
  measure_in_turns(
      run, result, bare(run, naive_commands), [&] { return of_threads(run, at_once).per_second; },
      bare(run, library_commands));
  return {result};
}

std::vector<line> many_asynchronous(context const& run) {
  line result{"B3", "256 asynchronous at once, cycles/s",
              target{target::of::ratio, target::side::at_least, run.server.has_module() ? 1.0 : 0.55}};
  measure_in_turns(
      run, result, bare(run, naive_commands), [&] { return outstanding(run, at_once, mutexes()).per_second; },
      bare(run, library_commands));
  return {result};
}

}  // namespace holdfast::bench
