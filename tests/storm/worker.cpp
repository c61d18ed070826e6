#include "worker.hpp"

#include "deeds.hpp"

#include <holdfast/mutex.hpp>

#include <malloc.h>
#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <exception>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>

namespace holdfast::storm {
namespace {

using namespace std::chrono_literals;

constexpr char const* mark = "--holdfast-storm-worker";
constexpr auto tick = 100ms;
/// A call takes no longer, even if its caller waits for 9 s, and the server is away when it gives the lock
/// back. Counted in ticks of this process, so the time for which it is frozen doesn't count.
constexpr auto most_ticks = 500;
constexpr auto between_exits = 500;  ///< ticks, on average
constexpr auto between_forks = 250;
constexpr auto between_measurements = 10;

[[noreturn]] void fail(std::string line) {
  line += '\n';
  (void)!::write(STDERR_FILENO, line.data(), line.size());
  ::_exit(3);
}

client_options options_of(std::string const& history) {
  return {.name = "storm",
          .connect_timeout = 1'000ms,
          .reply_timeout = 1'000ms,
          .recheck = 500ms,
          .history = history,
          .log = [](log_level, std::string_view) {}};
}

/// Memory that was freed goes back to the machine first: what is left is in use, or between what is.
void measure(usage& into) {
  ::malloc_trim(0);
  std::int64_t all_pages = 0;
  std::int64_t resident_pages = 0;
  std::ifstream{"/proc/self/statm"} >> all_pages >> resident_pages;
  std::filesystem::directory_iterator const files{"/proc/self/fd"};
  into.descriptors = std::distance(begin(files), end(files)) - 1;  // without that for the folder
  into.kib = resident_pages * (::sysconf(_SC_PAGESIZE) / 1024);
}

class worker {
 public:
  explicit worker(worker_task const& task)
      : task_{task},
        kinds_{offer_of(task.kinds)},
        board_{task.board},
        dice_{task.seed},
        redis_{std::make_unique<client>(task.url, options_of(task.history))} {
    auto const options = some_options(kinds_, dice_);
    for (auto i = 0; i < task.threads + task.sprinters; ++i)
      threads_.push_back(std::make_unique<one_thread>(*redis_, board_, kinds_, options,
                                                      i < task.threads ? pace::stroll : pace::sprint,
                                                      dice{dice_.seed()}, stop_.get_token()));
  }

  /// Returns when SIGTERM has come and all threads have ended.
  void run(sigset_t const& signals) {
    for (auto& each : threads_) each->begin([this](one_thread& self) { work(self); });
    std::thread{[this] { watch(); }}.detach();
    timespec const one_tick{0, std::chrono::nanoseconds{tick}.count()};
    for (auto ticks = 1; ::sigtimedwait(&signals, nullptr, &one_tick) != SIGTERM; ++ticks) {
      if (task_.measured_as >= 0) {
        if (ticks % between_measurements == 0)
          measure(board_.content().usages.at(static_cast<std::size_t>(task_.measured_as)));
        continue;
      }
      if (kinds_ != offer::quorum && dice_.one_in(between_forks)) fork_once();
      if (dice_.one_in(between_exits)) {
        ++board_.content().exits;
        std::exit(0);  // with locks that are held, and callers that wait
      }
    }
    stop_.request_stop();
    redis_->shutdown(2s);
    for (auto& each : threads_) each->join();
    redis_.reset();
  }

 private:
  struct one_thread {
    one_thread(client& redis, board& shared, offer kinds, lock_options options, pace how, dice choices,
               std::stop_token stop)
        : does{redis, shared, kinds, options, how, choices, std::move(stop)} {}
    template <class Work>
    void begin(Work work) {
      thread = std::thread{[this, work] { work(*this); }};
    }
    void join() { thread.join(); }

    deeds does;
    std::atomic<std::uint64_t> done{0};
    std::uint64_t seen = 0;
    int ticks = 0;
    std::thread thread{};
  };

  void work(one_thread& self) {
    while (!stop_.stop_requested()) {
      try {
        self.does.do_one();
      } catch (error const& problem) {
        fail(std::string{"unexpected error of "} + self.does.under_way() + ": " + problem.code().message() +
             ": " + problem.what());
      } catch (std::exception const& problem) {
        fail(std::string{"unexpected exception of "} + self.does.under_way() + ": " + problem.what());
      }
      ++self.done;
    }
  }

  /// All calls return. A thread that has ended isn't looked at, since run() then ends soon. Who has waited on
  /// a condition takes its lock again however long the server is away: only ticks count in which somebody
  /// had a lock, of any process.
  void watch() {
    for (auto acquired = acquired_by_all();;) {
      std::this_thread::sleep_for(tick);
      auto const before = std::exchange(acquired, acquired_by_all());
      for (auto& each : threads_) {
        auto const done = each->done.load();
        if (done != each->seen) {
          each->ticks = 0;
        } else if (acquired != before || std::string_view{each->does.under_way()} != "condition") {
          ++each->ticks;
        }
        each->seen = done;
        if (each->ticks > most_ticks)
          fail(std::string{"a call for "} + each->does.under_way() + " doesn't return");
      }
    }
  }

  [[nodiscard]] std::int64_t acquired_by_all() const {
    auto sum = std::int64_t{0};
    for (auto const& count : board_.content().done) sum += count.load();
    return sum;
  }

  /// The child makes a client of its own, takes a lock, and ends as most programs do.
  void fork_once() {
    ++board_.content().forks;
    auto const history = task_.history + ".fork-" + std::to_string(++forks_) + ".jsonl";
    auto const child = ::fork();
    if (child < 0) return;
    if (child == 0) {
      auto outcome = 0;
      try {
        client own{task_.url, options_of(history)};
        mutex orders{own, "storm:mutex:0", {.ttl = 400ms}};
        if (auto held = orders.try_acquire_for(300ms)) board_.count(deed::mutex);
      } catch (error const&) {
        outcome = 0;  // the server is away
      } catch (std::exception const&) {
        outcome = 4;
      }
      std::exit(outcome);
    }
    for (auto ticks = 0; ticks < most_ticks; ++ticks) {
      auto status = 0;
      if (::waitpid(child, &status, WNOHANG) == child) {
        if (status != 0) fail("a forked child ended with status " + std::to_string(status));
        return;
      }
      std::this_thread::sleep_for(tick / 5);
    }
    ::kill(child, SIGKILL);
    fail("a forked child doesn't end");
  }

  worker_task task_;
  offer kinds_;
  board board_;
  dice dice_;
  std::stop_source stop_;
  std::unique_ptr<client> redis_;
  std::vector<std::unique_ptr<one_thread>> threads_;
  int forks_ = 0;
};

}  // namespace

std::vector<std::string> command_of(worker_task const& task) {
  return {"/proc/self/exe",
          mark,
          task.url,
          task.history,
          task.board,
          task.kinds,
          std::to_string(task.seed),
          std::to_string(task.threads),
          std::to_string(task.sprinters),
          std::to_string(task.measured_as)};
}

void run_worker_if_requested(int argc, char** argv) {
  constexpr auto words_of_a_worker = 10;
  if (argc != words_of_a_worker || std::strcmp(argv[1], mark) != 0) return;
  sigset_t signals;
  ::sigemptyset(&signals);
  ::sigaddset(&signals, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  try {
    // Never destroyed: exit() comes while its threads run.
    worker_task const task{.url = argv[2],
                           .history = argv[3],
                           .board = argv[4],
                           .kinds = argv[5],
                           .seed = std::stoull(argv[6]),
                           .threads = std::stoi(argv[7]),
                           .sprinters = std::stoi(argv[8]),
                           .measured_as = std::stoi(argv[9])};
    auto& self = *new worker{task};
    self.run(signals);
  } catch (std::exception const& problem) {
    fail(std::string{"the worker failed: "} + problem.what());
  }
  ::_exit(0);  // the thread that watches goes on
}

}  // namespace holdfast::storm
