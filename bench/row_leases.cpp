// B8: very many leases held and renewed by one process.

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <holdfast/mutex.hpp>
#include <memory>
#include <optional>
#include <semaphore>
#include <stdexcept>
#include <thread>
#include <vector>

#include "process.hpp"
#include "rows.hpp"

namespace holdfast::bench {
namespace {

/// As many samples as fit into the time watched, each over one whole turn of renewals (ttl / 3).
constexpr int turn_seconds = 10;
constexpr std::size_t most_turns = 32;

struct findings {
  double bytes_per_lease = 0;
  double acquired_per_second = 0;
  double not_valid = 0;
  std::size_t turns = 0;
  std::array<double, most_turns> client_cpu{};
  std::array<double, most_turns> server_cpu{};
  std::array<double, most_turns> renewals{};
  std::array<double, most_turns> requests{};
};

/// Acquires one lease on each of `count` names, with a bounded number of requests outstanding.
std::vector<lease> acquire_all(client& redis, int count) {
  constexpr int outstanding = 1000;
  std::vector<lease> held(static_cast<std::size_t>(count));
  std::counting_semaphore<> free{outstanding};
  std::atomic<bool> failed{false};
  for (int i = 0; i < count; ++i) {
    free.acquire();
    auto lock = std::make_shared<mutex>(redis, fmt::format("lease:{}", i));
    auto& slot = held[static_cast<std::size_t>(i)];
    lock->async_acquire([&, lock](std::optional<lease> granted, std::exception_ptr const&) {
      if (granted)
        slot = std::move(*granted);
      else
        failed = true;
      free.release();
    });
  }
  for (int i = 0; i < outstanding; ++i) free.acquire();
  if (failed) throw std::runtime_error{"a lease was not granted"};
  return held;
}

[[noreturn]] void hold(context const& run, findings& found) {
  using clock = std::chrono::steady_clock;
  client redis{run.server.url()};
  acquire_all(redis, 1000).clear();  // what is allocated once is not the price of a lease

  double const empty = resident_bytes();
  auto const start = clock::now();
  auto const held = acquire_all(redis, run.options.leases);
  found.acquired_per_second =
      run.options.leases / std::chrono::duration<double>(clock::now() - start).count();
  // A turn without samples: the first renewals are over, and their buffers are part of the memory.
  std::this_thread::sleep_for(std::chrono::seconds{turn_seconds});
  found.bytes_per_lease = (resident_bytes() - empty) / run.options.leases;

  auto const turns = static_cast<std::size_t>(std::max(1, run.options.watch_seconds / turn_seconds));
  for (found.turns = 0; found.turns < std::min(turns, most_turns); ++found.turns) {
    auto const client_before = cpu_seconds();
    auto const server_before = cpu_seconds_of(run.server.process());
    auto const stats_before = redis.stats();
    auto const turn = clock::now();
    std::this_thread::sleep_for(std::chrono::seconds{turn_seconds});
    double const seconds = std::chrono::duration<double>(clock::now() - turn).count();
    auto const stats = redis.stats();
    found.client_cpu[found.turns] = 100 * (cpu_seconds() - client_before) / seconds;
    found.server_cpu[found.turns] = 100 * (cpu_seconds_of(run.server.process()) - server_before) / seconds;
    found.renewals[found.turns] = static_cast<double>(stats.renewals - stats_before.renewals) / seconds;
    found.requests[found.turns] = static_cast<double>(stats.commands - stats_before.commands) / seconds;
  }
  for (auto const& each : held) found.not_valid += each.valid() ? 0 : 1;
  // Giving back a million leases is no part of the measurement: the process ends, and the server is emptied.
  _exit(0);
}

}  // namespace

std::vector<line> held_leases(context const& run) {
  if (run.options.measured == sides::floor) return {};
  run.server.clear();
  shared<findings> common;
  children holder;
  holder.start([&] { hold(run, *common); });
  holder.join();
  auto const& found = *common;
  run.server.clear();
  auto const samples = [&](auto const& values) {
    return std::vector<double>(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(found.turns));
  };
  auto const at_most = [](double limit) { return target{target::of::own, target::side::at_most, limit}; };
  auto const load = fmt::format("{} leases renewed, ", run.options.leases);
  return {{"B8", load + "client CPU, % of a core", at_most(35), {}, samples(found.client_cpu)},
          {"B8",
           load + "server CPU, % of a core",
           at_most(run.server.has_module() ? 10 : 35),
           {},
           samples(found.server_cpu)},
          {"B8", load + "bytes a lease", at_most(300), {}, {found.bytes_per_lease}},
          {"B8", load + "not valid at the end", at_most(0), {}, {found.not_valid}},
          {"B8", "… renewals/s", std::nullopt, {}, samples(found.renewals)},
          {"B8", "… requests/s", std::nullopt, {}, samples(found.requests)},
          {"B8", "… acquired/s, 1000 outstanding", std::nullopt, {}, {found.acquired_per_second}}};
}

}  // namespace holdfast::bench
