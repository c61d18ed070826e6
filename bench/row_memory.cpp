// M1: a free lock of a deployment in memory: what a cycle costs without a server and a network.

#include <holdfast/mutex.hpp>
#include <holdfast/testing.hpp>

#include "process.hpp"
#include "rows.hpp"

namespace holdfast::bench {
namespace {

constexpr int cycles_of_a_round = 200'000;

double per_cpu_second() {
  memory::deployment servers;
  auto redis = servers.connect();
  mutex lock{redis, "bench:memory"};
  auto const before = cpu_seconds();
  for (int i = 0; i != cycles_of_a_round; ++i) {
    lock.lock();
    lock.unlock();
  }
  return cycles_of_a_round / (cpu_seconds() - before);
}

}  // namespace

std::vector<line> in_memory(context const& run) {
  line result{"M1", "memory://: lock + unlock, 1 thread, cycles per second of its CPU"};
  measure_in_turns(run, result, {}, [] { return in_child([] { return per_cpu_second(); }); });
  return {result};
}

}  // namespace holdfast::bench
