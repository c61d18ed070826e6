// S1: the read-write lock, many of one side and one of the other: how long that one waits.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <holdfast/shared_mutex.hpp>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

#include "process.hpp"
#include "rows.hpp"
#include "stats.hpp"

namespace holdfast::bench {
namespace {

using std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr auto name = "bench:shared";
constexpr auto work = 1ms;

std::int64_t nanoseconds_now() {
  return std::chrono::nanoseconds{steady_clock::now().time_since_epoch()}.count();
}

enum class side : std::uint8_t { read, write };

constexpr int crowd_processes = 4;
constexpr int crowd_threads = 16;
constexpr int crowd = crowd_processes * crowd_threads;
constexpr std::size_t most_waits = 4096;

struct wait_log {
  std::atomic<int> ready{0};
  std::atomic<bool> go{false};
  std::atomic<bool> stop{false};
  std::atomic<std::int64_t> turns{0};    ///< of the crowd
  std::atomic<std::int64_t> turn_ns{0};  ///< all of them together, from having the lock to letting it go
  std::atomic<std::size_t> waits{0};
  std::array<std::atomic<std::int64_t>, most_waits> wait_ns{};

  /// One of the crowd, until the end.
  template <class Lock>
  void come_back(Lock& lock) {
    ++ready;
    wait_for(go);
    while (!stop) {
      std::unique_lock<Lock> const hold{lock};
      auto const from = nanoseconds_now();
      std::this_thread::sleep_for(work);
      turn_ns += nanoseconds_now() - from;
      ++turns;
    }
  }
  /// The one whose waits count, until the end.
  template <class Lock>
  void come_now_and_then(Lock& lock) {
    ++ready;
    wait_for(go);
    while (!stop && waits < most_waits) {
      std::this_thread::sleep_for(5 * work);
      auto const from = nanoseconds_now();
      {
        std::unique_lock<Lock> const hold{lock};
        wait_ns[waits] = nanoseconds_now() - from;
        std::this_thread::sleep_for(work);
      }
      ++waits;
    }
  }
};

/// The readers' side as a Lockable.
template <class Mutex>
struct reading {
  Mutex& of;
  void lock() { of.lock_shared(); }
  void unlock() { of.unlock_shared(); }
};

/// In one process: a queue, in which readers next to one another go in together.
class fifo_shared_lock {
 public:
  void lock() { enter(side::write); }
  void lock_shared() { enter(side::read); }
  void unlock() {
    std::lock_guard const guard{state_};
    writes_ = false;
    next();
  }
  void unlock_shared() {
    std::lock_guard const guard{state_};
    --reads_;
    next();
  }

 private:
  struct waiter {
    side wanted;
    bool in = false;
    std::condition_variable woken{};
  };

  void enter(side wanted) {
    std::unique_lock guard{state_};
    waiter self{wanted};
    waiting_.push_back(&self);
    next();
    self.woken.wait(guard, [&] { return self.in; });
  }
  void next() {
    while (!waiting_.empty() && !writes_) {
      auto& first = *waiting_.front();
      if (first.wanted == side::write && reads_ > 0) return;
      if (first.wanted == side::write) {
        writes_ = true;
      } else {
        ++reads_;
      }
      waiting_.erase(waiting_.begin());
      first.in = true;
      first.woken.notify_one();
    }
  }

  std::mutex state_;
  std::vector<waiter*> waiting_;
  int reads_ = 0;
  bool writes_ = false;
};

template <class Mutex>
void be_the_crowd(Mutex& lock, side one, int threads, wait_log& seen) {
  std::vector<std::jthread> all;
  for (int thread = 0; thread < threads; ++thread) {
    all.emplace_back([&] {
      if (one == side::write) {
        reading<Mutex> readers{lock};
        seen.come_back(readers);
      } else {
        seen.come_back(lock);
      }
    });
  }
}

template <class Mutex>
void be_the_one(Mutex& lock, side one, wait_log& seen) {
  if (one == side::write) {
    seen.come_now_and_then(lock);
  } else {
    reading<Mutex> reader{lock};
    seen.come_now_and_then(reader);
  }
}

struct waits {
  double median = 0;
  double longest = 0;
};

/// In turns of the crowd: for a writer one read is a turn, from having the lock to letting it go; for a
/// reader all writers' turns are, one after the other.
waits in_turns(context const& run, children& all, wait_log& seen, side one) {
  wait_until(all, [&] { return seen.ready == crowd + 1; });
  seen.go = true;
  auto const from = nanoseconds_now();
  std::this_thread::sleep_for(run.measured_time() * 2);
  auto const time = static_cast<double>(nanoseconds_now() - from);
  seen.stop = true;
  all.join();
  if (seen.turns == 0 || seen.waits < 3) throw std::runtime_error{"too few turns"};
  auto const turns = static_cast<double>(seen.turns);
  auto const turn = one == side::write ? static_cast<double>(seen.turn_ns) / turns : time / turns * crowd;
  std::vector<double> found;
  for (std::size_t i = 1; i < seen.waits; ++i) found.push_back(static_cast<double>(seen.wait_ns[i]) / turn);
  return {median(found), *std::ranges::max_element(found)};
}

waits wait_for_holdfast(context const& run, side one) {
  shared<wait_log> seen;
  children all;
  for (int process = 0; process < crowd_processes; ++process) {
    all.start([&] {
      client redis{run.server.url()};
      holdfast::shared_mutex lock{redis, name};
      be_the_crowd(lock, one, crowd_threads, *seen);
    });
  }
  all.start([&] {
    client redis{run.server.url()};
    holdfast::shared_mutex lock{redis, name};
    be_the_one(lock, one, *seen);
  });
  return in_turns(run, all, *seen, one);
}

waits wait_in_one_process(context const& run, side one) {
  shared<wait_log> seen;
  children all;
  all.start([&] {
    fifo_shared_lock lock;
    std::jthread const single{[&] { be_the_one(lock, one, *seen); }};
    be_the_crowd(lock, one, crowd, *seen);
  });
  return in_turns(run, all, *seen, one);
}

}  // namespace

std::vector<line> shared_waits(context const& run) {
  target const three{target::of::own, target::side::at_most, 3};
  std::vector<line> lines;
  for (auto const one : {side::write, side::read}) {
    auto const what =
        one == side::write
            ? fmt::format("a writer among {} readers of 1 ms: its wait, in reads", crowd)
            : fmt::format("a reader among {} writers of 1 ms: its wait, in all their writes", crowd);
    line typical{"S1", what + "; floor: in one process", three};
    line longest{"S1", "… the longest"};
    measure_in_turns(
        run, typical,
        [&] {
          auto const found = wait_in_one_process(run, one);
          longest.floor.push_back(found.longest);
          return found.median;
        },
        [&] {
          auto const found = wait_for_holdfast(run, one);
          longest.own.push_back(found.longest);
          return found.median;
        });
    lines.insert(lines.end(), {typical, longest});
  }
  return lines;
}

}  // namespace holdfast::bench
