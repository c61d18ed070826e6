// holdfast_bench: measures Holdfast against the floors that design and docs/benchmarks.md name, and prints
// one table.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "deployments.hpp"
#include "process.hpp"
#include "redis.hpp"
#include "report.hpp"
#include "rows.hpp"
#include "server.hpp"

namespace {

using namespace holdfast::bench;

/// The command that was built beside this program.
std::string built_command() {
  return (std::filesystem::read_symlink("/proc/self/exe").parent_path() / "holdfast").string();
}

bool chosen(row const& candidate, std::vector<std::string> const& names) {
  return names.empty() || std::find(names.begin(), names.end(), candidate.name) != names.end();
}

int measure(settings const& options, std::vector<std::string> const& names, bool as_json) {
  redis_server const server{options.pinned ? server_core : -1, options.module};
  if (options.pinned) pin_to_core(client_core);

  machine where = this_machine();
  where.server = server.name() + (options.module.empty() ? "" : " with a module");
  where.pinning = options.pinned
                      ? fmt::format("server on core {}, clients on core {}", server_core, client_core)
                      : "not pinned";
  where.round_trip_us = ping_us(server.port());

  context const run{options, server, server.here()};
  std::vector<line> lines;
  for (auto const& each : all_rows()) {
    if (!chosen(each, names)) continue;
    auto const found = each.measure(run);
    lines.insert(lines.end(), found.begin(), found.end());
  }
  fmt::print("{}", as_json ? json(where, lines) : table(where, lines));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{
      "Measures Holdfast against its floors on a server of its own, which it starts on a loopback "
      "port.\n"
      "One row alone, one side alone, is what a profiler wants:\n"
      "  perf record -g holdfast_bench B3 --only ours --rounds 1 --seconds 10"};
  settings options;
  options.command = built_command();
  options.redisson = HOLDFAST_PEERS "/redisson-current";
  options.redsync = HOLDFAST_PEERS "/redsync";
  std::vector<std::string> names;
  bool as_json = false;
  std::vector<std::string> known;
  for (auto const& each : all_rows()) known.push_back(each.name);
  std::map<std::string, sides> const which{{"ours", sides::own}, {"floor", sides::floor}};

  app.add_option("row", names, "rows to measure; none: all")->check(CLI::IsMember(known));
  app.add_option("--rounds", options.rounds, "rounds, each floor then ours")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--seconds", options.seconds, "time for each side of each round")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--only", options.measured, "one side alone: ours or floor")
      ->transform(CLI::CheckedTransformer(which))
      ->option_text("ours|floor");
  app.add_option("--cycles", options.cycles, "K1: cycles of each way in each round")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--module", options.module,
                 "a module that the server loads: module/holdfast.so of the build")
      ->check(CLI::ExistingFile);
  app.add_option("--leases", options.leases, "B8: leases held")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--callers", options.callers, "B10: callers waiting")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--crowd", options.crowd, "B13: callers waiting")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--watch", options.watch_seconds, "B8: seconds watched; B10: a third of it")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--processes", options.processes, "B7: the largest number of processes")
      ->check(CLI::Range(2, 4096))
      ->capture_default_str();
  app.add_option("--command", options.command,
                 "B11: the holdfast command; default: the one beside this program");
  app.add_option("--redisson", options.redisson,
                 "R2, R3: the folder with Redisson's program; default: where tools/prepare-peers puts it");
  app.add_option("--redsync", options.redsync,
                 "Q4: the folder with redsync's program; default: where tools/prepare-peers puts it");
  app.add_option("--warm-up", options.warm_up, "R2, R3: seconds that Redisson runs before it is measured")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_flag("--json", as_json, "print JSON");
  app.add_flag("--pin,!--no-pin", options.pinned,
               "server on core 0, clients on core 1 (default), or wherever the scheduler likes");
  CLI11_PARSE(app, argc, argv);
  // The server has a working directory of its own.
  if (!options.module.empty()) options.module = std::filesystem::absolute(options.module).string();

  try {
    return measure(options, names, as_json);
  } catch (std::exception const& e) {
    fmt::print(stderr, "holdfast_bench: {}\n", e.what());
    return 1;
  }
}
