// A1: 256 coroutines on Asio, each with a lock of its own, and a client on their io_context, against the
// callbacks of a client with a thread (B3).

#include <fmt/format.h>

#include <atomic>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <holdfast/asio.hpp>
#include <holdfast/mutex.hpp>
#include <thread>

#include "cycles.hpp"
#include "process.hpp"
#include "rows.hpp"

namespace holdfast::bench {
namespace {

constexpr int at_once = 256;

namespace asio = boost::asio;

struct state {
  std::atomic<long> completed{0};
  std::atomic<bool> stopping{false};
};

asio::awaitable<void> cycle(client& redis, int number, state& all) {
  mutex lock{redis, fmt::format("bench:{}", number)};
  while (!all.stopping.load(std::memory_order_relaxed)) {
    auto held = co_await async_acquire(lock, asio::use_awaitable);
    co_await async_release(held, asio::use_awaitable);
    all.completed.fetch_add(1, std::memory_order_relaxed);
  }
}

cycles of_coroutines(context const& run) {
  return in_child([&] {
    asio::io_context io{1};
    client redis{run.at.url, {}, run_on(io)};
    redis.connect();
    state all;
    for (int i = 0; i < at_once; ++i) asio::co_spawn(io, cycle(redis, i, all), asio::detached);
    std::jthread const runs{[&io] { io.run(); }};
    auto const result = growth(run, all.completed, at_once);
    all.stopping = true;
    return result;
  });
}

}  // namespace

std::vector<line> coroutines_on_asio(context const& run) {
  line const rate{"A1", "256 coroutines on Asio at once, cycles/s; floor: callbacks",
                  target{target::of::ratio, target::side::at_least, 0.90}};
  return rate_and_cpu(
      run, rate, 1.05, [&] { return outstanding(run, at_once, mutexes()); },
      [&] { return of_coroutines(run); });
}

}  // namespace holdfast::bench
