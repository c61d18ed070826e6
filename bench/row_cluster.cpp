// C1: what a cluster costs over a single server: with one node, so that both run on as many cores; and with
// three.

#include "cycles.hpp"
#include "deployments.hpp"
#include "pipelined_floor.hpp"
#include "support/cluster_servers.hpp"

namespace holdfast::bench {
namespace {

constexpr int at_once = 256;  // on each node

test::cluster_servers masters(context const& run, int count) {
  return make_servers(run, [&] { return test::cluster_servers{{.masters = count, .replicas_each = 0}}; });
}

place place_of(test::cluster_servers& cluster) {
  std::vector<test::redis_server const*> nodes;
  for (auto const* node : cluster.masters()) nodes.push_back(node);
  return {cluster.url(), [nodes] { return calls_of_all(nodes); }};
}

/// What the server itself takes longer for, being a node: by a client that knows nothing of clusters.
double bare(context const& run, int port) {
  return in_child(
      [&] { return pipelined_cycles_per_second(port, library_commands, at_once, run.measured_time()); });
}

}  // namespace

std::vector<line> cluster_node(context const& run) {
  auto one = masters(run, 1);
  auto three = masters(run, 3);
  auto const on_one = run.elsewhere(place_of(one));
  auto const on_three = run.elsewhere(place_of(three));
  auto const port = one.node(0).port();

  line const rate{"C1", "cluster of 1 node, 256 asynchronous at once, cycles/s; floor: no cluster",
                  target{target::of::ratio, target::side::at_least, 0.95}};
  auto lines = rate_and_cpu(
      run, rate, 1.05, [&] { return outstanding(run, at_once, mutexes()); },
      [&] { return outstanding(on_one, at_once, mutexes()); });

  line server{"C1", "… of which the server's: the same by B3's client"};
  measure_in_turns(
      run, server, [&] { return bare(run, run.server.port()); }, [&] { return bare(run, port); });

  line spread{"C1", "cluster of 3, 768 at once, client CPU, µs a cycle; floor: no cluster"};
  measure_in_turns(
      run, spread, [&] { return outstanding(run, 3 * at_once, mutexes()).cpu_us; },
      [&] { return outstanding(on_three, 3 * at_once, mutexes()).cpu_us; });
  lines.push_back(std::move(server));
  lines.push_back(std::move(spread));
  return lines;
}

}  // namespace holdfast::bench
