// B13: very many callers of one process waiting for one name, each of which gets in line again when it has
// had it.

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <holdfast/mutex.hpp>
#include <stdexcept>
#include <thread>

#include "process.hpp"
#include "rows.hpp"

namespace holdfast::bench {
namespace {

constexpr int few = 10'000;

void get_in_line(mutex& lock) {
  lock.async_acquire([&lock](std::optional<lease> mine, std::exception_ptr const&) {
    if (!mine) return;
    get_in_line(lock);
    mine->async_release({});
  });
}

[[noreturn]] void hand_over(context const& run, int callers, double& per_second) {
  using clock = std::chrono::steady_clock;
  client redis{run.server.url()};
  mutex lock{redis, "bench:crowd"};
  {
    auto const first = lock.acquire();
    for (int i = 0; i < callers; ++i) get_in_line(lock);
    if (redis.stats().waiting_now != static_cast<std::uint64_t>(callers))
      throw std::runtime_error{"not all callers wait"};
  }
  std::this_thread::sleep_for(run.measured_time() / 4);
  auto const before = redis.stats().acquired;
  auto const start = clock::now();
  std::this_thread::sleep_for(run.measured_time());
  auto const after = redis.stats().acquired;
  per_second =
      static_cast<double>(after - before) / std::chrono::duration<double>(clock::now() - start).count();
  _exit(0);  // a million waits need no orderly end
}

double handoffs_per_second(context const& run, int callers) {
  shared<double> found;
  children process;
  process.start([&] { hand_over(run, callers, *found); });
  process.join();
  return *found;
}

}  // namespace

std::vector<line> waiting_crowd(context const& run) {
  line rate{"B13", fmt::format("{} callers of 1 process wait, handoffs/s; floor: {}", run.options.crowd, few),
            target{target::of::ratio, target::side::at_least, 0.50}};
  measure_in_turns(
      run, rate, [&] { return handoffs_per_second(run, few); },
      [&] { return handoffs_per_second(run, run.options.crowd); });
  return {rate};
}

}  // namespace holdfast::bench
