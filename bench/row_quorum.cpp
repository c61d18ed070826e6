// Q1 to Q4: a lock on five servers that know nothing of each other: what it costs over one server, with some
// of them frozen or dead, and how contenders get along.

#include <fmt/format.h>

#include <holdfast/mutex.hpp>
#include <holdfast/quorum_mutex.hpp>

#include <signal.h>
#include <algorithm>
#include <chrono>
#include <utility>

#include "contention.hpp"
#include "deployments.hpp"
#include "majority_floor.hpp"
#include "peer_load.hpp"
#include "stats.hpp"
#include "support/independent_servers.hpp"
#include "timing.hpp"

namespace holdfast::bench {
namespace {

using test::independent_servers;

constexpr auto name = "bench:uncontended";
constexpr int contenders = 16;

independent_servers five(context const& run) {
  return make_servers(run, [] { return independent_servers{5}; });
}

std::vector<int> ports_of(independent_servers const& masters) {
  std::vector<int> all;
  for (auto const& one : masters) all.push_back(one->port());
  return all;
}

place place_of(independent_servers const& masters) {
  std::vector<test::redis_server const*> all;
  for (auto const& one : masters) all.push_back(one.get());
  return {masters.url(), [all] { return calls_of_all(all); }};
}

template <class Lock>
double cycle_us(context const& run, std::string const& url, wire format) {
  return in_child([&] {
    client redis{url};
    Lock lock{redis, name, {.wire = format}};
    return median_us(run.measured_time(), [&] {
      lock.lock();
      lock.unlock();
    });
  });
}

/// What is done to a server, in the midst of a child's measurement.
using misfortune = void (*)(pid_t server);
void kill_it(pid_t server) { kill(server, SIGKILL); }
void freeze_it(pid_t server) { kill(server, SIGSTOP); }

struct unlucky {
  double cycle_us = 0;
  double first_ms = 0;  ///< the longest of the first cycles after it: that has waited for a time-out
};

/// With five servers of its own, of which some fail when all are known and in use.
unlucky after(context const& run, misfortune strike, std::size_t servers) {
  auto const masters = five(run);
  return in_child([&] {
    client redis{masters.url()};
    quorum_mutex lock{redis, name};
    auto const cycle = [&] {
      lock.lock();
      lock.unlock();
    };
    for (int warm_up = 0; warm_up < 100; ++warm_up) cycle();
    for (std::size_t i = 0; i < servers; ++i)
      strike((*(masters.begin() + static_cast<std::ptrdiff_t>(i)))->pid());
    unlucky found;
    for (int first = 0; first < 100; ++first) {
      using clock = std::chrono::steady_clock;
      auto const from = clock::now();
      cycle();
      auto const ms = std::chrono::duration<double, std::milli>{clock::now() - from}.count();
      found.first_ms = std::max(found.first_ms, ms);
    }
    found.cycle_us = median_us(run.measured_time(), cycle);
    return found;
  });
}

std::vector<line> beside_healthy(context const& run, char const* row, std::string const& state,
                                 misfortune happens, std::size_t servers, double limit) {
  line cycle{row, state + ", lock + unlock, p50 µs; floor: all well",
             target{target::of::ratio, target::side::at_most, limit}};
  line first{row, "… longest of the first 100, ms"};
  measure_in_turns(
      run, cycle, [&] { return after(run, nullptr, 0).cycle_us; },
      [&] {
        auto const found = after(run, happens, servers);
        first.own.push_back(found.first_ms);
        return found.cycle_us;
      });
  return {cycle, first};
}

std::vector<line> joined(std::vector<line> one, std::vector<line> const& other) {
  one.insert(one.end(), other.begin(), other.end());
  return one;
}

}  // namespace

std::vector<line> quorum_uncontended(context const& run) {
  auto const masters = five(run);
  auto const ports = ports_of(masters);
  line with_tokens{"Q1", "quorum of 5, lock + unlock, 1 thread, p50 µs; floor: 1 server",
                   target{target::of::ratio, target::side::at_most, 2.5}};
  line without{"Q1", "… Redisson's wire, which has no tokens",
               target{target::of::ratio, target::side::at_most, 1.5}};
  line bare{"Q1", "… a bare client: all asked at once, 3 answers awaited; floor: 1 asked"};
  measure_in_turns(
      run, with_tokens, [&] { return cycle_us<mutex>(run, run.server.url(), wire::plain); },
      [&] { return cycle_us<quorum_mutex>(run, masters.url(), wire::plain); });
  measure_in_turns(
      run, without, [&] { return cycle_us<mutex>(run, run.server.url(), wire::redisson); },
      [&] { return cycle_us<quorum_mutex>(run, masters.url(), wire::redisson); });
  measure_in_turns(
      run, bare,
      [&] { return in_child([&] { return majority_cycle_us({run.server.port()}, run.measured_time()); }); },
      [&] { return in_child([&] { return majority_cycle_us(ports, run.measured_time()); }); });
  return {with_tokens, without, bare};
}

std::vector<line> quorum_one_frozen(context const& run) {
  return beside_healthy(run, "Q2", "quorum of 5, 1 frozen", freeze_it, 1, 1.10);
}

std::vector<line> quorum_two_dead(context const& run) {
  return joined(beside_healthy(run, "Q3", "quorum of 5, 2 killed", kill_it, 2, 2),
                beside_healthy(run, "Q3", "quorum of 5, 2 frozen", freeze_it, 2, 2));
}

std::vector<line> quorum_contended(context const& run) {
  if (run.options.measured != sides::own && !redsync_program::is_in(run.options.redsync)) {
    return {{"Q4", fmt::format("left out: no redsync in {}; see tools/prepare-peers", run.options.redsync)}};
  }
  auto const masters = five(run);
  auto const on_masters = run.elsewhere(place_of(masters));
  std::vector<line> lines;
  struct load {
    char const* title;
    char const* redsyncs;
    std::chrono::milliseconds work;
  };
  for (auto const& load : {load{"nothing done under it", "idle", std::chrono::milliseconds{0}},
                           load{"held for 1 ms", "work", std::chrono::milliseconds{1}}}) {
    line rate{"Q4", fmt::format("quorum of 5, 16 contenders, {}, handoffs/s; floor: redsync", load.title),
              target{target::of::ratio, target::side::at_least, 5}};
    line turns{"Q4", "… turns/s"};
    line requests{"Q4", "… requests per turn, to all 5"};
    measure_in_turns(
        run, rate,
        [&] {
          peer_load redsync{redsync_program::command(run.options.redsync, ports_of(masters))};
          auto const found = redsync.run(load.redsyncs, contenders, run.measured_time());
          turns.floor.push_back(found.cycles);
          return found.handoffs;
        },
        [&] {
          auto const found = contend(on_masters, contenders, 1, quorum_contenders(masters.url(), load.work));
          turns.own.push_back(found.turns);
          requests.own.push_back(found.requests / found.turns);
          return found.handoffs;
        });
    lines = joined(std::move(lines), {rate, turns, requests});
  }
  return lines;
}

}  // namespace holdfast::bench
