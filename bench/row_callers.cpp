// B10: very many callers of one process waiting for one name that another process holds.

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <holdfast/mutex.hpp>
#include <stdexcept>
#include <thread>

#include "process.hpp"
#include "rows.hpp"

namespace holdfast::bench {
namespace {

constexpr auto name = "bench:waited-for";
constexpr std::size_t samples = 5;

struct findings {
  std::array<double, samples> cpu{};
  std::array<double, samples> requests{};
  std::array<double, samples> beyond_rechecks{};
};

struct state {
  std::atomic<bool> held{false};
  std::atomic<bool> measured{false};
  findings found{};
};

void hold(context const& run, state& shared_state) {
  client redis{run.server.url()};
  // So long that no renewal of the holder's falls into the measurement.
  mutex lock{redis, name, {.ttl = std::chrono::hours{1}}};
  auto const held = lock.acquire();
  shared_state.held = true;
  wait_for(shared_state.measured);
}

[[noreturn]] void wait(context const& run, state& shared_state) {
  using clock = std::chrono::steady_clock;
  wait_for(shared_state.held);
  client redis{run.server.url()};
  mutex lock{redis, name};
  for (int i = 0; i < run.options.callers; ++i) {
    lock.async_acquire([](std::optional<lease>, std::exception_ptr const&) {});
  }
  std::chrono::duration<double> const time{std::max(0.2, run.options.watch_seconds / 3.0 / samples)};
  std::this_thread::sleep_for(time);
  auto const callers = static_cast<std::uint64_t>(run.options.callers);
  if (redis.stats().waiting_now != callers) throw std::runtime_error{"not all callers wait"};

  for (std::size_t i = 0; i < samples; ++i) {
    auto const start = clock::now();
    auto const cpu = cpu_seconds();
    auto const rechecks = redis.stats().rechecks;
    auto const calls = run.server.calls();
    std::this_thread::sleep_for(time);
    auto const requests = requests_between(calls, run.server.calls());
    double const seconds = std::chrono::duration<double>(clock::now() - start).count();
    auto& found = shared_state.found;
    found.cpu[i] = 100 * (cpu_seconds() - cpu) / seconds;
    found.requests[i] = requests / seconds;
    found.beyond_rechecks[i] = (requests - static_cast<double>(redis.stats().rechecks - rechecks)) / seconds;
  }
  shared_state.measured = true;
  _exit(0);  // ten thousand waits need no orderly end
}

}  // namespace

std::vector<line> waiting_callers(context const& run) {
  if (run.options.measured == sides::floor) return {};
  run.server.clear();
  shared<state> common;
  children both;
  both.start([&] { hold(run, *common); });
  both.start([&] { wait(run, *common); });
  both.join();
  auto const values = [](auto const& array) { return std::vector<double>(array.begin(), array.end()); };
  auto const at_most = [](double limit) { return target{target::of::own, target::side::at_most, limit}; };
  auto const load = fmt::format("{} callers wait, ", run.options.callers);
  return {
      {"B10", load + "requests/s beyond re-checks", at_most(0), {}, values(common->found.beyond_rechecks)},
      {"B10", load + "client CPU, % of a core", at_most(1), {}, values(common->found.cpu)},
      {"B10", "… requests/s", std::nullopt, {}, values(common->found.requests)}};
}

}  // namespace holdfast::bench
