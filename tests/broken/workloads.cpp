/// holdfast_broken WORKLOAD FOLDER: uses locks in a way in which a library that breaks a promise (environment
/// variable HOLDFAST_BREAK, see src/base/broken.hpp) does so for certain, and one that keeps it doesn't. The
/// histories are in the folder afterwards.
#include "support/eventually.hpp"
#include "support/flaky_proxy.hpp"
#include "support/long_timeouts.hpp"
#include "support/process.hpp"
#include "support/redis_server.hpp"

#include <holdfast/barrier.hpp>
#include <holdfast/client.hpp>
#include <holdfast/election.hpp>
#include <holdfast/expiring_semaphore.hpp>
#include <holdfast/fair_mutex.hpp>
#include <holdfast/latch.hpp>
#include <holdfast/mutex.hpp>
#include <holdfast/semaphore.hpp>
#include <holdfast/shared_mutex.hpp>

#include <atomic>
#include <csignal>
#include <exception>
#include <filesystem>
#include <iostream>
#include <map>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace holdfast::test {
namespace {

/// A server, and a folder for the histories of its clients.
struct place {
  std::filesystem::path folder{};
  redis_server server{};

  [[nodiscard]] std::string history(std::string const& who) const { return folder / (who + ".jsonl"); }
  [[nodiscard]] client connect(std::string const& who) const {
    return client{server.url(), with_long_timeouts({.name = who, .history = history(who)})};
  }
  /// How often a word is in the history of that client.
  [[nodiscard]] std::size_t count(std::string const& who, std::string_view word) const {
    auto const text = content_of(history(who));
    std::size_t found = 0;
    for (auto at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++found;
    return found;
  }
};

void must(bool fine, char const* what) {
  if (!fine) throw std::runtime_error{std::string{"never happened: "} + what};
}

constexpr lock_options not_renewed{.ttl = 1s, .watchdog = false};

/// The time of a lease runs out while somebody waits.
template <class First, class Second>
void outlast(First take_first, Second take_second) {
  auto const first = take_first();
  auto const second = take_second();
  must(eventually([&] { return !first.valid(); }), "the end of a lease that isn't renewed");
}

void exclusion(place const& at) {
  auto one = at.connect("one");
  auto other = at.connect("other");
  mutex first{one, "orders", not_renewed};
  mutex second{other, "orders"};
  outlast([&] { return first.acquire(); }, [&] { return second.acquire(); });
}

void readers(place const& at) {
  auto one = at.connect("one");
  auto other = at.connect("other");
  shared_mutex reads{one, "orders", not_renewed};
  shared_mutex writes{other, "orders"};
  outlast([&] { return reads.acquire_shared(); }, [&] { return writes.acquire(); });
}

/// Another lock is used all the time, so the client runs, as its history shows.
void told(place const& at) {
  auto redis = at.connect("one");
  auto const held = mutex{redis, "orders", not_renewed}.acquire();
  mutex other{redis, "others"};
  must(always(4s, [&] { return other.acquire().valid(); }), "a free lock");
}

/// The lock goes from one thread to the other.
void tokens(place const& at) {
  auto redis = at.connect("one");
  mutex orders{redis, "orders", {.handoff_time = 1min}};
  std::atomic<bool> over{false};
  std::thread other{[&] {
    while (!over) (void)orders.acquire();
  }};
  must(eventually([&] { return orders.acquire().valid() && redis.stats().handed_over >= 3; }), "a handoff");
  over = true;
  other.join();
}

/// The message of the release is lost. The holder has another lock, so that its history shows that it lives:
/// of a client that is gone the release may have been lost, too.
void wake_up(place const& at) {
  flaky_proxy proxy{at.server.socket_path()};
  auto holder = at.connect("holder");
  client waiter{proxy.url(), {.connect_timeout = 20s, .recheck = 200ms, .history = at.history("waiter")}};
  auto const other = mutex{holder, "others"}.acquire();
  auto held = mutex{holder, "orders"}.acquire();
  std::thread waits{[&] { (void)mutex{waiter, "orders"}.try_acquire_for(10s); }};
  must(eventually([&] { return at.count("waiter", R"("e":"queued")") == 1; }), "a place in the queue");
  proxy.swallow_messages(true);
  held.release();
  waits.join();
}

/// Two wait, one behind the other. Whoever is first keeps the lock for so long that the other, if it was
/// overtaken, shows that it lives.
template <class Take>
void stand_in_line(place const& at, Take take) {
  auto holder = at.connect("holder");
  auto held = take(holder);
  std::atomic<bool> served{false};
  std::vector<std::thread> threads;
  for (auto const* const who : {"first", "second"}) {
    threads.emplace_back([&at, &take, &served, who] {
      auto redis = at.connect(who);
      auto const own = take(redis);
      auto const is_first = std::string_view{who} == "first";
      if (is_first) served = true;
      auto const before = at.count("first", R"("e":"alive")");
      (void)eventually([&] { return served || at.count("first", R"("e":"alive")") >= before + 3; });
    });
    must(eventually([&] { return at.count(who, R"("e":"queued")") == 1; }), "a place in the queue");
  }
  held.release();
  for (auto& each : threads) each.join();
}

void order(place const& at) {
  stand_in_line(at, [](client& redis) { return fair_mutex{redis, "orders"}.acquire(); });
}

void leaders(place const& at) {
  stand_in_line(at, [](client& redis) { return election{redis, "orders"}.campaign("me"); });
}

void permits(place const& at) {
  auto redis = at.connect("one");
  expiring_semaphore all{redis, "orders", 2};
  auto const first = all.acquire();
  auto const second = all.acquire();
  auto const third = all.try_acquire();
}

void count_of_permits(place const& at) {
  auto redis = at.connect("one");
  semaphore all{redis, "orders"};
  must(all.try_set_permits(1), "a number of permits");
  all.acquire();
  (void)all.try_acquire();
}

void count_of_latch(place const& at) {
  auto redis = at.connect("one");
  latch ready{redis, "orders"};
  must(ready.try_set_count(2), "a count");
  ready.count_down();
  if (ready.try_wait()) ready.wait();
}

void parties(place const& at) {
  auto redis = at.connect("one");
  barrier meet{redis, "orders", 2};
  (void)meet.try_arrive_and_wait_for(300ms);  // alone
  std::thread other{[&] { (void)meet.arrive_and_wait(); }};
  (void)meet.arrive_and_wait();
  other.join();
}

int run(std::string const& name, std::filesystem::path const& folder) {
  static std::map<std::string, void (*)(place const&)> const workloads{
      {"exclusion", exclusion},  {"readers", readers}, {"told", told},
      {"tokens", tokens},        {"wake_up", wake_up}, {"order", order},
      {"leaders", leaders},      {"permits", permits}, {"semaphore", count_of_permits},
      {"latch", count_of_latch}, {"barrier", parties}};
  auto const found = workloads.find(name);
  if (found == workloads.end()) return 64;
  found->second({.folder = folder});
  return 0;
}

}  // namespace
}  // namespace holdfast::test

int main(int argc, char** argv) {
  ::signal(SIGPIPE, SIG_IGN);
  try {
    auto const outcome = argc == 3 ? holdfast::test::run(argv[1], argv[2]) : 64;
    if (outcome == 64) std::cerr << "holdfast_broken WORKLOAD FOLDER: tools/check-broken names them\n";
    return outcome;
  } catch (std::exception const& problem) {
    std::cerr << problem.what() << '\n';
    return 1;
  }
}
