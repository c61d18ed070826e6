#include "contention.hpp"

#include <condition_variable>
#include <deque>
#include <holdfast/fair_mutex.hpp>
#include <holdfast/mutex.hpp>
#include <holdfast/quorum_mutex.hpp>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

#include "redis.hpp"
#include "stats.hpp"

namespace holdfast::bench {
namespace {

constexpr auto contended_name = "bench:contended";

/// A fair lock for the threads of one process.
class fifo_lock {
 public:
  void lock() {
    std::unique_lock guard{state_};
    if (!held_) {
      held_ = true;
      return;
    }
    waiter self;
    waiting_.push_back(&self);
    self.woken.wait(guard, [&] { return self.owner; });
  }

  void unlock() {
    std::lock_guard guard{state_};
    if (waiting_.empty()) {
      held_ = false;
      return;
    }
    waiter& next = *waiting_.front();
    waiting_.pop_front();
    next.owner = true;
    next.woken
        .notify_one();  // under the mutex: the waiter and its condition variable may be gone right after it
  }

 private:
  struct waiter {
    std::condition_variable woken;
    bool owner = false;
  };

  std::mutex state_;
  std::deque<waiter*> waiting_;
  bool held_ = false;
};

void run_threads(int count, std::function<void(int thread)> const& body) {
  std::vector<std::jthread> threads;
  threads.reserve(static_cast<std::size_t>(count));
  for (int thread = 0; thread < count; ++thread) threads.emplace_back(body, thread);
}

template <class Lock>
void take_turns(Lock& lock, int process, int thread, tally& counts, std::chrono::microseconds work = {}) {
  counts.wait_for_start();
  while (!counts.stop.load(std::memory_order_relaxed)) {
    std::lock_guard hold{lock};
    counts.visit(process, thread, work);
    counts.leave();
  }
}

struct moment {
  std::chrono::steady_clock::time_point at;
  call_counts calls;
  std::int64_t turns;
  std::int64_t handoffs;
  std::int64_t process_handoffs;
};

std::int64_t nanoseconds_now() {
  return std::chrono::nanoseconds{std::chrono::steady_clock::now().time_since_epoch()}.count();
}

double median_gap_us(tally const& counts) {
  std::vector<double> known;
  for (auto const& gap : counts.gaps) {
    if (gap != 0) known.push_back(static_cast<double>(gap) / 1'000);
  }
  return known.empty() ? 0 : median(std::move(known));
}

moment now(place const& at, tally const& counts) {
  return {std::chrono::steady_clock::now(), at.calls(), counts.acquisitions, counts.handoffs,
          counts.process_handoffs};
}

}  // namespace

void tally::leave() { left_at = nanoseconds_now(); }

void tally::visit(int process, int thread, std::chrono::microseconds work) {
  if (auto const before = left_at.exchange(0); before != 0) {
    gaps[static_cast<std::size_t>(acquisitions) % gaps.size()] = nanoseconds_now() - before;
  }
  if (inside.fetch_add(1) != 0) ++overlaps;
  int const me = process * 1000 + thread;
  int const before = last.exchange(me);
  if (before != me) ++handoffs;
  if (before >= 0 && before / 1000 != process) ++process_handoffs;
  ++acquisitions;
  if (work != work.zero()) std::this_thread::sleep_for(work);
  inside.fetch_sub(1);
}

void tally::wait_for_start() {
  ++ready;
  wait_for(go);
}

contention contend(context const& run, int processes, int threads, contending_process const& body) {
  int const contenders_in_all = processes * threads;
  shared<tally> counts;
  children contenders;
  for (int process = 0; process < processes; ++process) {
    contenders.start([&, process] { body(process, threads, *counts); });
  }
  wait_until(contenders, [&] { return counts->ready == contenders_in_all; });
  counts->go = true;
  // Everybody has had a turn, or could have: the queues are as long as they get.
  wait_until(contenders, [&] { return counts->acquisitions >= contenders_in_all; });

  auto const cpu_before = cpu_seconds_of(run.server.process());
  auto const before = now(run.at, *counts);
  std::this_thread::sleep_for(run.measured_time());
  auto const after = now(run.at, *counts);
  auto const cpu = cpu_seconds_of(run.server.process()) - cpu_before;
  counts->stop = true;
  contenders.join();
  if (counts->overlaps != 0) throw std::runtime_error{"two contenders held the lock at once"};

  double const seconds = std::chrono::duration<double>(after.at - before.at).count();
  return {static_cast<double>(after.turns - before.turns) / seconds,
          static_cast<double>(after.handoffs - before.handoffs) / seconds,
          static_cast<double>(after.process_handoffs - before.process_handoffs) / seconds,
          requests_between(before.calls, after.calls) / seconds,
          messages_between(before.calls, after.calls) / seconds,
          1e6 * cpu / static_cast<double>(after.process_handoffs - before.process_handoffs),
          median_gap_us(*counts)};
}

contending_process holdfast_contenders(redis_server const& server, lock_options const& options) {
  return [url = server.url(), options](int process, int threads, tally& counts) {
    client redis{url};
    redis.connect();
    mutex lock{redis, contended_name, options};
    run_threads(threads, [&](int thread) { take_turns(lock, process, thread, counts); });
  };
}

contending_process polite_holdfast_contenders(redis_server const& server, lock_options options) {
  options.starvation_limit = std::chrono::hours{1};
  return [url = server.url(), options](int process, int threads, tally& counts) {
    client redis{url};
    redis.connect();
    mutex lock{redis, contended_name, options};
    run_threads(threads, [&](int thread) {
      counts.wait_for_start();
      while (!counts.stop.load(std::memory_order_relaxed)) {
        lock.lock();
        counts.visit(process, thread);
        lock.unlock();
        while (counts.last == process * 1000 + thread && !counts.stop) {
          std::this_thread::sleep_for(std::chrono::microseconds{20});
        }
      }
    });
  };
}

contending_process fair_holdfast_contenders(redis_server const& server) {
  return [url = server.url()](int process, int threads, tally& counts) {
    client redis{url};
    redis.connect();
    fair_mutex lock{redis, contended_name};
    run_threads(threads, [&](int thread) { take_turns(lock, process, thread, counts); });
  };
}

contending_process quorum_contenders(std::string const& url, std::chrono::microseconds work) {
  return [url, work](int process, int threads, tally& counts) {
    client redis{url};
    redis.connect();
    quorum_mutex lock{redis, contended_name};
    run_threads(threads, [&](int thread) { take_turns(lock, process, thread, counts, work); });
  };
}

contending_process blpop_contenders(redis_server const& server) {
  return [port = server.port()](int process, int threads, tally& counts) {
    if (process == 0) connection{port}.call({"RPUSH", contended_name, "token"});
    run_threads(threads, [&](int thread) {
      connection redis{port};
      connection::words const take{"BLPOP", contended_name, "0"};
      connection::words const give{"RPUSH", contended_name, "token"};
      counts.wait_for_start();
      while (!counts.stop.load(std::memory_order_relaxed)) {
        redis.call(take);
        counts.visit(process, thread);
        redis.call(give);
      }
    });
  };
}

contending_process fifo_contenders() {
  return [](int process, int threads, tally& counts) {
    fifo_lock lock;
    run_threads(threads, [&](int thread) { take_turns(lock, process, thread, counts); });
  };
}

}  // namespace holdfast::bench
