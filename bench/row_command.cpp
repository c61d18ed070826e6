// B11: what `holdfast run` adds to the time of a command.

#include <vector>

#include "process.hpp"
#include "rows.hpp"
#include "stats.hpp"

namespace holdfast::bench {
namespace {

constexpr int runs = 200;

}  // namespace

std::vector<line> command_line(context const& run) {
  std::vector<std::string> const bare{"true"};
  std::vector<std::string> const locked{run.options.command, "run", "--url", run.server.url(),
                                        "bench:command",     "--",  "true"};
  auto const median_ms = [](std::vector<std::string> const& command) {
    std::vector<double> times;
    for (int i = 0; i < runs; ++i) times.push_back(milliseconds_to_run(command));
    return median(std::move(times));
  };
  line result{"B11", "`holdfast run NAME -- true`, ms; floor: `true`",
              target{target::of::difference, target::side::at_most, 10}};
  measure_in_turns(run, result, [&] { return median_ms(bare); }, [&] { return median_ms(locked); });
  return {result};
}

}  // namespace holdfast::bench
