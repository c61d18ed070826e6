// K1: what a cycle costs the server, which everybody shares: user and system time of its process by cycles.

#include <functional>
#include <holdfast/options.hpp>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "contention.hpp"
#include "cycles.hpp"
#include "pipelined_floor.hpp"
#include "process.hpp"
#include "rows.hpp"

namespace holdfast::bench {
namespace {

constexpr int at_once = 256;

/// Microseconds of the server for each of `run.options.cycles` cycles. `body` carries that many out.
double server_us(context const& run, std::function<void()> const& body) {
  auto const before = cpu_seconds_of(run.server.process());
  body();
  return 1e6 * (cpu_seconds_of(run.server.process()) - before) / run.options.cycles;
}

std::function<double()> bare(context const& run, wire_commands wire) {
  return [&run, wire] {
    return server_us(run, [&] {
      std::ignore = in_child([&] {
        run_pipelined_cycles(run.server.port(), wire, at_once, run.options.cycles);
        return true;
      });
    });
  };
}

using maker_of_acquirers = std::function<acquirer(client&, int)>;

std::function<double()> library(context const& run, maker_of_acquirers const& make,
                                client_options const& how = {}) {
  return [&run, make, how] {
    return server_us(run, [&] { run_outstanding_cycles(run, at_once, make, run.options.cycles, how); });
  };
}

std::function<double()> library(context const& run, lock_options const& options,
                                client_options const& how = {}) {
  return library(run, mutexes(options), how);
}

lock_options on(wire format) {
  lock_options options;
  options.wire = format;
  return options;
}

line of_cycles(context const& run, std::string what, wire_commands floor, std::function<double()> const& own,
               std::optional<double> limit = {}) {
  line result{"K1", std::move(what)};
  if (limit) result.goal = target{target::of::ratio, target::side::at_most, *limit};
  measure_in_turns(run, result, bare(run, floor), own);
  return result;
}

/// Two processes that let each other in: what the server does from one's having it to the other's.
line of_handoffs(context const& run, std::string what, lock_options const& options) {
  line result{"K1", std::move(what)};
  measure_in_turns(run, result, bare(run, naive_commands), [&] {
    return contend(run, 2, 1, polite_holdfast_contenders(run.server, options)).server_us;
  });
  return result;
}

/// Readers, writers and permits, as on a stock server, by scripts alone, and where there is the module by
/// that.
void add_other_kinds(context const& run, bool has_module, std::vector<line>& lines) {
  struct kind {
    std::string name;
    maker_of_acquirers make;
    std::optional<double> stock;  ///< the limits
    std::optional<double> by_module;
  };
  lock_options const plain = on(wire::plain);
  for (auto const& [name, make, stock, by_module] :
       {kind{"a reader", readers(plain), 2.5, 1.2},
        kind{"a writer of a shared_mutex", writers(plain), 2.5, {}},
        kind{"a permit", permits(0, plain), 2.5, 1.2},
        kind{"a permit beside two others", permits(2, plain), {}, {}}}) {
    lines.push_back(of_cycles(run, "… " + name + (has_module ? ", by the module" : ""), naive_commands,
                              library(run, make), has_module ? by_module : stock));
    lines.push_back(of_cycles(run, "… " + name + ", by scripts (cas::lua)", naive_commands,
                              library(run, make, {.cas = cas::lua})));
  }
}

}  // namespace

std::vector<line> server_cpu(context const& run) {
  auto const has_module = run.server.has_module();
  auto const has_native = run.server.has_command("delex") || run.server.has_command("delifeq");
  std::vector<line> lines{of_cycles(run, "server CPU, µs a cycle; floor: the naive pair", naive_commands,
                                    library(run, on(wire::plain)),
                                    has_module   ? 0.8
                                    : has_native ? 1.0
                                                 : 1.8)};
  if (has_module) {
    lines.push_back(of_cycles(run, "… a bare client with the module's commands", naive_commands,
                              bare(run, module_commands)));
    lines.push_back(of_cycles(run, "… by compare-and-set, the module's here (cas::native)", naive_commands,
                              library(run, on(wire::plain), {.cas = cas::native})));
  }
  add_other_kinds(run, has_module, lines);
  for (auto& each :
       {of_cycles(run, "… all by scripts (cas::lua)", naive_commands,
                  library(run, on(wire::plain), {.cas = cas::lua})),
        of_cycles(run, "… a bare client with the commands of a free lock", naive_commands,
                  bare(run, fast_commands)),
        of_cycles(run, "… Redisson's effects alone, by a bare client", naive_commands,
                  bare(run, redisson_commands)),
        of_cycles(run, "… Redisson's wire; floor: the naive pair", naive_commands,
                  library(run, on(wire::redisson))),
        of_cycles(run, "… Redisson's wire; floor: its scripts' effects alone", redisson_commands,
                  library(run, on(wire::redisson)), has_module ? 0.5 : 1.0),
        of_handoffs(run, "… a handoff between processes; floor: the naive pair's cycle", on(wire::plain)),
        of_handoffs(run, "… the same on Redisson's wire", on(wire::redisson))})
    lines.push_back(each);
  return lines;
}

}  // namespace holdfast::bench
