// A1: 256 coroutines on Asio, or chains of its handlers, each with a lock of its own, and a client on their
// io_context, against the callbacks of a client with a thread (B3).

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <deque>
#include <exception>
#include <holdfast/asio.hpp>
#include <holdfast/mutex.hpp>
#include <iterator>
#include <string>
#include <thread>
#include <utility>
#include <vector>

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

/// The same by handlers.
class chain {
 public:
  chain(client& redis, int number, asio::io_context& io, state& all)
      : lock_{redis, fmt::format("bench:{}", number)}, io_{&io}, all_{&all} {}

  void next() {
    async_acquire(lock_, asio::bind_executor(*io_, [this](auto failed, lease got) {
                    if (failed) std::terminate();  // nobody is in the way, and the server is up
                    held_ = std::move(got);
                    release();
                  }));
  }

 private:
  void release() {
    async_release(held_, asio::bind_executor(*io_, [this](auto, release_result) {
                    all_->completed.fetch_add(1, std::memory_order_relaxed);
                    if (!all_->stopping.load(std::memory_order_relaxed)) next();
                  }));
  }

  mutex lock_;
  asio::io_context* io_;
  state* all_;
  lease held_{};
};

/// `begin(client, io_context, state)` begins the cycles, and returns what must last meanwhile.
template <class Begin>
cycles on_io_context(context const& run, Begin begin) {
  return in_child([&] {
    asio::io_context io{1};
    client redis{run.at.url, {}, run_on(io)};
    redis.connect();
    state all;
    [[maybe_unused]] auto const lasts = begin(redis, io, all);
    std::jthread const runs{[&io] { io.run(); }};
    auto const result = growth(run, all.completed, at_once);
    all.stopping = true;
    return result;
  });
}

cycles of_coroutines(context const& run) {
  return on_io_context(run, [](client& redis, asio::io_context& io, state& all) {
    for (int i = 0; i < at_once; ++i) asio::co_spawn(io, cycle(redis, i, all), asio::detached);
    return 0;
  });
}

cycles of_handlers(context const& run) {
  return on_io_context(run, [](client& redis, asio::io_context& io, state& all) {
    std::deque<chain> chains;
    for (int i = 0; i < at_once; ++i) chains.emplace_back(redis, i, io, all).next();
    return chains;
  });
}

std::vector<line> against_callbacks(context const& run, std::string what, cycles (*own)(context const&)) {
  line const rate{"A1", std::move(what), target{target::of::ratio, target::side::at_least, 0.90}};
  return rate_and_cpu(
      run, rate, 1.05, [&] { return outstanding(run, at_once, mutexes()); }, [&] { return own(run); });
}

}  // namespace

std::vector<line> coroutines_on_asio(context const& run) {
  auto all =
      against_callbacks(run, "256 coroutines on Asio at once, cycles/s; floor: callbacks", of_coroutines);
  std::ranges::move(against_callbacks(run, "… by Asio's handlers, cycles/s; floor: callbacks", of_handlers),
                    std::back_inserter(all));
  return all;
}

}  // namespace holdfast::bench
