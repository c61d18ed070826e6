// L3: how long the unluckiest waits when many want one name and work while they hold it.

#include <holdfast/mutex.hpp>

#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

#include "process.hpp"
#include "rows.hpp"

namespace holdfast::bench {
namespace {

using std::chrono::steady_clock;

constexpr int processes = 16;
constexpr int threads = 4;
constexpr std::chrono::milliseconds work{1};

struct waits {
  std::atomic<int> ready{0};
  std::atomic<bool> go{false};
  std::atomic<bool> counting{false};
  std::atomic<bool> stop{false};
  std::atomic<std::int64_t> turns{0};
  std::atomic<std::int64_t> longest_us{0};
};

void take_turns(mutex& lock, waits& seen) {
  ++seen.ready;
  wait_for(seen.go);
  while (!seen.stop) {
    auto const counted = seen.counting.load();
    auto const from = steady_clock::now();
    std::lock_guard const hold{lock};
    auto const us = std::chrono::duration_cast<std::chrono::microseconds>(steady_clock::now() - from).count();
    if (counted) {
      ++seen.turns;
      for (auto longest = seen.longest_us.load();
           us > longest && !seen.longest_us.compare_exchange_weak(longest, us);) {
      }
    }
    std::this_thread::sleep_for(work);
  }
}

/// The longest wait, as a multiple of all others' work one after the other.
double longest_wait(context const& run) {
  shared<waits> seen;
  children contenders;
  for (int process = 0; process < processes; ++process) {
    contenders.start([&run, &seen] {
      client redis{run.server.url()};
      redis.connect();
      mutex lock{redis, "bench:starving"};
      std::vector<std::jthread> all;
      for (int thread = 0; thread < threads; ++thread) all.emplace_back([&] { take_turns(lock, *seen); });
    });
  }
  wait_until(contenders, [&] { return seen->ready == processes * threads; });
  seen->go = true;
  std::this_thread::sleep_for(run.measured_time() / 2);  // the queues fill
  seen->counting = true;
  auto const from = steady_clock::now();
  std::this_thread::sleep_for(run.measured_time() * 2);
  seen->counting = false;
  auto const time = steady_clock::now() - from;
  auto const turns = seen->turns.load();
  seen->stop = true;
  contenders.join();
  if (turns == 0) throw std::runtime_error{"nobody had a turn"};
  auto const turn = std::chrono::duration<double, std::micro>{time}.count() / static_cast<double>(turns);
  return static_cast<double>(seen->longest_us) / (turn * processes * threads);
}

}  // namespace

std::vector<line> unluckiest(context const& run) {
  line longest{"L3", "16 processes × 4 threads, 1 ms of work: longest wait / all others' turns",
               target{target::of::own, target::side::at_most, 3}};
  measure_in_turns(run, longest, nullptr, [&] { return longest_wait(run); });
  return {longest};
}

}  // namespace holdfast::bench
