#include "rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "process.hpp"
#include "stats.hpp"

namespace holdfast::bench {
namespace {

double one_side(context const& run, line const& result, char const* side,
                std::function<double()> const& measure) {
  run.server.clear();
  double const value = measure();
  fmt::print(stderr, "{} {}: {} {:.4g}\n", result.row, result.quantity, side, value);
  return value;
}

}  // namespace

void measure_in_turns(context const& run, line& result, std::function<double()> const& floor,
                      std::function<double()> const& own, std::function<double()> const& same) {
  for (int round = 0; round < run.options.rounds; ++round) {
    if (floor && run.options.measured != sides::own) {
      result.floor.push_back(one_side(run, result, "floor", floor));
    }
    if (same && run.options.measured == sides::both) {
      result.same.push_back(one_side(run, result, "same commands", same));
    }
    if (own && run.options.measured != sides::floor) {
      result.own.push_back(one_side(run, result, "ours", own));
    }
  }
}

double unevenness(std::vector<line> const& lines) {
  double low = HUGE_VAL;
  double high = 0;
  for (auto const& each : lines) {
    low = std::min(low, median(each.own));
    high = std::max(high, median(each.own));
  }
  return 100 * (high - low) / (high + low);
}

std::vector<row> const& all_rows() {
  static std::vector<row> const rows{
      {"K1", server_cpu},
      {"B1", uncontended},
      {"B2", many_threads},
      {"B3", many_asynchronous},
      {"B4", one_process},
      {"B5", four_processes},
      {"B6", fair_processes},
      {"B7", waiting_processes},
      {"B8", held_leases},
      {"B10", waiting_callers},
      {"B11", command_line},
      {"B13", waiting_crowd},
      {"A1", coroutines_on_asio},
      {"L3", unluckiest},
      {"S1", shared_waits},
      {"S2", shared_release},
      {"S3", shared_turns},
      {"S4", permits_after_death},
      {"E1", election_after_death},
      {"E2", election_resigned},
      {"R1", redisson_many_asynchronous},
      {"R2", redisson_different_names},
      {"R3", redisson_one_name},
      {"R4", redisson_readers},
      {"C1", cluster_node},
      {"Q1", quorum_uncontended},
      {"Q2", quorum_one_frozen},
      {"Q3", quorum_two_dead},
      {"Q4", quorum_contended},
      {"O1", observed},
      {"M1", in_memory},
      {"F1", sentinel_failover},
  };
  return rows;
}

}  // namespace holdfast::bench
