/// The rows of the table: each measures Holdfast against its floor, in turns.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "report.hpp"
#include "server.hpp"

namespace holdfast::bench {

enum class sides { both, own, floor };

struct settings {
  int rounds = 5;
  double seconds = 2;  ///< how long one side of one round is measured
  sides measured = sides::both;
  int cycles = 200'000;    ///< K1: of each way in each round
  int leases = 1'000'000;  ///< B8
  int watch_seconds = 30;  ///< how long B8 watches its leases, and B10, for a third of it, its waiters
  int callers = 10'000;    ///< B10
  int crowd = 1'000'000;   ///< B13: callers waiting
  int processes = 512;     ///< B7: the largest number of waiting processes
  std::string module;      ///< a module that the server loads; empty: none
  std::string command;     ///< B11: the holdfast program
  std::string redisson;    ///< R2, R3: the folder with Redisson's program
  std::string redsync;     ///< Q4: the folder with redsync's program
  double warm_up = 15;     ///< R2, R3: seconds that it runs before it is measured
  bool pinned = true;
};

struct context {
  settings const& options;
  redis_server const& server;
  place at = server.here();  ///< where our side is measured, unless a row says otherwise

  [[nodiscard]] context elsewhere(place other) const { return {options, server, std::move(other)}; }

  [[nodiscard]] std::chrono::duration<double> measured_time() const {
    return std::chrono::duration<double>{options.seconds};
  }
};

/// One line, measured in rounds: floor, ours, floor, ours…, each on an empty server. A side may be missing.
/// `same`: see line.
void measure_in_turns(context const& run, line& result, std::function<double()> const& floor,
                      std::function<double()> const& own, std::function<double()> const& same = {});

/// How far the farthest median of ours is from their middle, in per cent.
[[nodiscard]] double unevenness(std::vector<line> const& lines);

using row_function = std::vector<line> (*)(context const&);

std::vector<line> server_cpu(context const&);          // K1
std::vector<line> uncontended(context const&);         // B1
std::vector<line> many_threads(context const&);        // B2
std::vector<line> many_asynchronous(context const&);   // B3
std::vector<line> one_process(context const&);         // B4
std::vector<line> four_processes(context const&);      // B5
std::vector<line> fair_processes(context const&);      // B6
std::vector<line> waiting_processes(context const&);   // B7
std::vector<line> held_leases(context const&);         // B8
std::vector<line> waiting_callers(context const&);     // B10
std::vector<line> command_line(context const&);        // B11
std::vector<line> waiting_crowd(context const&);       // B13
std::vector<line> coroutines_on_asio(context const&);  // A1
std::vector<line> unluckiest(context const&);          // L3

std::vector<line> shared_waits(context const&);          // S1
std::vector<line> shared_release(context const&);        // S2
std::vector<line> shared_turns(context const&);          // S3
std::vector<line> permits_after_death(context const&);   // S4
std::vector<line> election_after_death(context const&);  // E1
std::vector<line> election_resigned(context const&);     // E2

std::vector<line> redisson_many_asynchronous(context const&);  // R1
std::vector<line> redisson_different_names(context const&);    // R2
std::vector<line> redisson_one_name(context const&);           // R3
std::vector<line> redisson_readers(context const&);            // R4

std::vector<line> cluster_node(context const&);        // C1
std::vector<line> quorum_uncontended(context const&);  // Q1
std::vector<line> quorum_one_frozen(context const&);   // Q2
std::vector<line> quorum_two_dead(context const&);     // Q3
std::vector<line> quorum_contended(context const&);    // Q4
std::vector<line> sentinel_failover(context const&);   // F1
std::vector<line> observed(context const&);            // O1
std::vector<line> in_memory(context const&);           // M1

struct row {
  std::string name;
  row_function measure;
};

/// In the order of the table.
[[nodiscard]] std::vector<row> const& all_rows();

}  // namespace holdfast::bench
