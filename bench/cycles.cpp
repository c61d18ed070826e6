#include "cycles.hpp"

#include <fmt/format.h>

#include <atomic>
#include <deque>
#include <exception>
#include <holdfast/expiring_semaphore.hpp>
#include <holdfast/mutex.hpp>
#include <holdfast/shared_mutex.hpp>
#include <memory>
#include <optional>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "process.hpp"

namespace holdfast::bench {
namespace {

struct moment {
  std::chrono::steady_clock::time_point at;
  double cpu;
  call_counts calls;
  long completed;
};

moment now(place const& at, std::atomic<long> const& completed) {
  return {std::chrono::steady_clock::now(), cpu_seconds(), at.calls(), completed};
}

cycles run_threads(context const& run, int count, lock_options const& options) {
  client redis{run.at.url};
  redis.connect();
  std::atomic<long> completed{0};
  std::vector<std::jthread> threads;
  threads.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    threads.emplace_back([&, i](std::stop_token const& stop) {
      mutex lock{redis, fmt::format("bench:{}", i), options};
      while (!stop.stop_requested()) {
        lock.lock();
        lock.unlock();
        completed.fetch_add(1, std::memory_order_relaxed);
      }
    });
  }
  auto const result = growth(run, completed, count);
  for (auto& thread : threads) thread.request_stop();
  return result;
}

/// Acquires and releases over and over.
class asynchronous_cycle {
 public:
  asynchronous_cycle(acquirer acquire, std::atomic<long>& completed, std::atomic<int>& running)
      : acquire_{std::move(acquire)}, completed_{completed}, running_{running} {}

  void next() {
    acquire_([this](std::optional<lease> granted, std::exception_ptr const& failed) {
      if (failed || !granted) std::terminate();  // nobody is in the way, and the server is up
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
  acquirer acquire_;
  std::atomic<long>& completed_;
  std::atomic<int>& running_;
  std::atomic<bool> stopping_{false};
};

/// Keeps `count` cycles outstanding until `watch(completed)` returns.
template <class Watch>
auto run_outstanding(context const& run, int count, std::function<acquirer(client&, int)> const& make,
                     client_options const& how, Watch const& watch) {
  client redis{run.at.url, how};
  redis.connect();
  std::atomic<long> completed{0};
  std::atomic<int> running{count};
  std::deque<asynchronous_cycle> all;
  for (int i = 0; i < count; ++i) all.emplace_back(make(redis, i), completed, running);
  for (auto& each : all) each.next();
  auto const result = watch(completed);
  for (auto& each : all) each.stop();
  for (int left = running; left != 0; left = running) running.wait(left);
  return result;
}

}  // namespace

std::vector<line> rate_and_cpu(context const& run, line rate, double cpu_limit,
                               std::function<cycles()> const& floor, std::function<cycles()> const& own) {
  line cpu{rate.row, "… client CPU, µs a cycle", target{target::of::ratio, target::side::at_most, cpu_limit}};
  auto const measured = [](std::function<cycles()> const& side, std::vector<double>& cpu_of_side) {
    return [&side, &cpu_of_side] {
      auto const found = side();
      cpu_of_side.push_back(found.cpu_us);
      return found.per_second;
    };
  };
  measure_in_turns(run, rate, measured(floor, cpu.floor), measured(own, cpu.own));
  return {std::move(rate), std::move(cpu)};
}

cycles growth(context const& run, std::atomic<long> const& completed, long settled) {
  while (completed < settled) std::this_thread::sleep_for(std::chrono::milliseconds{1});
  auto const before = now(run.at, completed);
  std::this_thread::sleep_for(run.measured_time());
  auto const after = now(run.at, completed);
  auto const done = static_cast<double>(after.completed - before.completed);
  return {done / std::chrono::duration<double>(after.at - before.at).count(),
          requests_between(before.calls, after.calls) / done, 1e6 * (after.cpu - before.cpu) / done};
}

cycles of_threads(context const& run, int threads, lock_options const& options) {
  return in_child([&] { return run_threads(run, threads, options); });
}

cycles outstanding(context const& run, int count, std::function<acquirer(client&, int)> const& make,
                   client_options const& how) {
  return in_child([&] {
    return run_outstanding(run, count, make, how, [&](auto const& done) { return growth(run, done, count); });
  });
}

void run_outstanding_cycles(context const& run, int count, std::function<acquirer(client&, int)> const& make,
                            long cycles, client_options const& how) {
  std::ignore = in_child([&] {
    return run_outstanding(run, count, make, how, [&](auto const& done) {
      while (done < cycles) std::this_thread::sleep_for(std::chrono::milliseconds{1});
      return true;
    });
  });
}

std::function<acquirer(client&, int)> mutexes(lock_options const& options) {
  return [options](client& redis, int number) -> acquirer {
    auto lock = std::make_shared<mutex>(redis, fmt::format("bench:{}", number), options);
    return [lock](exclusive_lock::acquire_handler done) { lock->async_acquire(std::move(done)); };
  };
}

std::function<acquirer(client&, int)> readers(lock_options const& options) {
  return [options](client& redis, int number) -> acquirer {
    auto lock = std::make_shared<shared_mutex>(redis, fmt::format("bench:{}", number), options);
    return [lock](exclusive_lock::acquire_handler done) { lock->async_acquire_shared(std::move(done)); };
  };
}

std::function<acquirer(client&, int)> writers(lock_options const& options) {
  return [options](client& redis, int number) -> acquirer {
    auto lock = std::make_shared<shared_mutex>(redis, fmt::format("bench:{}", number), options);
    return [lock](exclusive_lock::acquire_handler done) { lock->async_acquire(std::move(done)); };
  };
}

std::function<acquirer(client&, int)> permits(int others, lock_options const& options) {
  return [others, options](client& redis, int number) -> acquirer {
    struct semaphore_in_use {
      semaphore_in_use(client& redis, int number, int others, lock_options const& options)
          : permits{redis, fmt::format("bench:{}", number), 4, options} {
        for (int i = 0; i < others; ++i) held.push_back(permits.acquire());
      }
      expiring_semaphore permits;
      std::vector<lease> held{};
    };
    auto all = std::make_shared<semaphore_in_use>(redis, number, others, options);
    return [all](exclusive_lock::acquire_handler done) { all->permits.async_acquire(std::move(done)); };
  };
}

}  // namespace holdfast::bench
