// A program of another's that has the metrics of its locks.
#include <prometheus/registry.h>

#include <holdfast/client.hpp>
#include <holdfast/prometheus.hpp>

int main() {
  auto const registry = std::make_shared<prometheus::Registry>();
  holdfast::client const redis{"redis://localhost", {.observer = holdfast::prometheus_metrics(registry)}};
  return registry->Collect().empty() ? 1 : 0;
}
