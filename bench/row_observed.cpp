// O1: B3's cycles with the metrics of holdfast::prometheus, against the same without an observer.

#include "cycles.hpp"
#include "rows.hpp"

#ifdef HOLDFAST_PROMETHEUS
#include <prometheus/registry.h>

#include <holdfast/prometheus.hpp>
#endif

namespace holdfast::bench {

std::vector<line> observed([[maybe_unused]] context const& run) {
#ifdef HOLDFAST_PROMETHEUS
  constexpr int at_once = 256;
  line result{"O1", "256 asynchronous at once, with metrics, against without, cycles/s",
              target{target::of::ratio, target::side::at_least, 0.95}};
  auto const registry = std::make_shared<prometheus::Registry>();
  client_options const with_metrics{.observer = prometheus_metrics(registry)};
  measure_in_turns(
      run, result, [&] { return outstanding(run, at_once, mutexes()).per_second; },
      [&] { return outstanding(run, at_once, mutexes(), with_metrics).per_second; });
  return {result};
#else
  return {};
#endif
}

}  // namespace holdfast::bench
