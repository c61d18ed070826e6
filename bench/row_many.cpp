// B2 and B3: 256 cycles on different names at once, by threads or asynchronously, against a bare pipelined
// client.

#include <fmt/format.h>

#include <atomic>
#include <deque>
#include <exception>
#include <holdfast/mutex.hpp>
#include <optional>
#include <stdexcept>
#include <thread>
#include <vector>

#include "pipelined_floor.hpp"
#include "process.hpp"
#include "rows.hpp"

namespace holdfast::bench {
namespace {

constexpr int at_once = 256;

using clock = std::chrono::steady_clock;

double floor_per_second(context const& run) {
  return pipelined_cycles_per_second(run.server.port(), at_once, run.measured_time());
}

/// The rate at which a counter grows, once it has begun to.
double rate(std::atomic<long> const& counter, std::chrono::duration<double> time) {
  while (counter.load() < at_once) std::this_thread::sleep_for(std::chrono::milliseconds{1});
  auto const start = clock::now();
  long const before = counter.load();
  std::this_thread::sleep_for(time);
  long const after = counter.load();
  return static_cast<double>(after - before) / std::chrono::duration<double>(clock::now() - start).count();
}

double threads_per_second(context const& run) {
  client redis{run.server.url()};
  redis.connect();
  std::atomic<long> completed{0};
  std::vector<std::jthread> threads;
  threads.reserve(at_once);
  for (int i = 0; i < at_once; ++i) {
    threads.emplace_back([&, i](std::stop_token const& stop) {
      mutex lock{redis, fmt::format("bench:{}", i)};
      while (!stop.stop_requested()) {
        lock.lock();
        lock.unlock();
        completed.fetch_add(1, std::memory_order_relaxed);
      }
    });
  }
  double const result = rate(completed, run.measured_time());
  for (auto& thread : threads) thread.request_stop();
  return result;
}

/// One name, acquired and released over and over.
class asynchronous_cycle {
 public:
  asynchronous_cycle(client& redis, int number, std::atomic<long>& completed, std::atomic<int>& running)
      : lock_{redis, fmt::format("bench:{}", number)}, completed_{completed}, running_{running} {}

  void next() {
    lock_.async_acquire([this](std::optional<lease> granted, std::exception_ptr const& failed) {
      if (failed || !granted) std::terminate();  // an uncontended lock on a server that is up
      granted->async_release([this](release_result) {
        completed_.fetch_add(1, std::memory_order_relaxed);
        if (!stopping_.load(std::memory_order_relaxed)) return next();
        --running_;
        running_.notify_all();
      });
    });
  }

  void stop() { stopping_ = true; }

 private:
  mutex lock_;
  std::atomic<long>& completed_;
  std::atomic<int>& running_;
  std::atomic<bool> stopping_{false};
};

double asynchronous_per_second(context const& run) {
  client redis{run.server.url()};
  redis.connect();
  std::atomic<long> completed{0};
  std::atomic<int> running{at_once};
  std::deque<asynchronous_cycle> cycles;
  for (int i = 0; i < at_once; ++i) cycles.emplace_back(redis, i, completed, running);
  for (auto& each : cycles) each.next();
  double const result = rate(completed, run.measured_time());
  for (auto& each : cycles) each.stop();
  for (int left = running; left != 0; left = running) running.wait(left);
  return result;
}

}  // namespace

std::vector<line> many_threads(context const& run) {
  line result{"B2", "256 threads, different names, cycles/s",
              target{target::of::ratio, target::side::at_least, 0.30}};
  measure_in_turns(
      run, result, [&] { return in_child([&] { return floor_per_second(run); }); },
      [&] { return in_child([&] { return threads_per_second(run); }); });
  return {result};
}

std::vector<line> many_asynchronous(context const& run) {
  line result{"B3", "256 asynchronous at once, cycles/s",
              target{target::of::ratio, target::side::at_least, 0.90}};
  measure_in_turns(
      run, result, [&] { return in_child([&] { return floor_per_second(run); }); },
      [&] { return in_child([&] { return asynchronous_per_second(run); }); });
  return {result};
}

}  // namespace holdfast::bench
