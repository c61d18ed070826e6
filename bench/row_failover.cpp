// F1: the master of a Sentinel deployment fails: how long after the sentinels have announced another one a
// lease is renewed there, and a waiter has a name that came free meanwhile without a message.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <holdfast/mutex.hpp>
#include <stdexcept>
#include <thread>

#include "deployments.hpp"
#include "support/sentinel_servers.hpp"
#include "switch_listener.hpp"

namespace holdfast::bench {
namespace {

using std::chrono::steady_clock;

constexpr auto held_name = "bench:held";
constexpr auto wanted_name = "bench:wanted";
constexpr auto patience = std::chrono::seconds{30};

enum class failure { killed, frozen };

std::int64_t microseconds_now() {
  return std::chrono::duration_cast<std::chrono::microseconds>(steady_clock::now().time_since_epoch())
      .count();
}

struct state {
  std::atomic<bool> held{false};
  std::atomic<bool> waiting{false};
  std::atomic<bool> failed{false};  ///< the master has
  std::atomic<bool> over{false};
  std::atomic<std::int64_t> renewed_at{0};  ///< for the first time since
  std::atomic<std::int64_t> acquired_at{0};
};

void hold(std::string const& url, state& seen) {
  client redis{url};
  mutex lock{redis, held_name, {.ttl = std::chrono::seconds{20}}};
  auto const mine = lock.acquire();
  seen.held = true;
  while (!seen.failed) std::this_thread::sleep_for(std::chrono::milliseconds{1});
  // What the old master answered has arrived before the parent told of its failure.
  auto const before = redis.stats().renewals;
  while (redis.stats().renewals == before && !seen.over) {
    if (!mine.valid()) throw std::runtime_error{"the lease was lost in the failover"};
    std::this_thread::sleep_for(std::chrono::microseconds{500});
  }
  seen.renewed_at = microseconds_now();
}

void wait(std::string const& url, state& seen) {
  client redis{url};
  mutex lock{redis, wanted_name};
  std::jthread const telling{[&] {
    while (redis.stats().waiting_now == 0) std::this_thread::sleep_for(std::chrono::milliseconds{1});
    seen.waiting = true;
  }};
  lock.lock();
  seen.acquired_at = microseconds_now();
  wait_for(seen.over);
}

struct failover_times {
  double announced_ms = 0;  ///< after the failure
  double renewed_ms = 0;    ///< after the announcement; 0 when it came first
  double acquired_ms = 0;   ///< the same
};

/// The name that is waited for comes free on whichever replica becomes a master, as soon as it is one: nobody
/// hears of it.
class liberator {
 public:
  explicit liberator(test::sentinel_servers& servers) {
    for (std::size_t number = 0; number < servers.size(); ++number) {
      if (&servers.data(number) != &servers.master()) replicas_.push_back(&servers.data(number));
    }
  }
  /// Whether it is free by now.
  [[nodiscard]] bool try_to() {
    for (auto const* replica : replicas_) free_ = free_ || freed_at(*replica);
    return free_;
  }

 private:
  [[nodiscard]] static bool freed_at(test::redis_server const& replica) {
    try {
      auto redis = replica.raw();  // anew, since a server whose role changes throws its clients out
      return redis.command({"ROLE"}).elements.at(0).text == "master" && redis.del(wanted_name);
    } catch (std::runtime_error const&) {
      return false;
    }
  }

  std::vector<test::redis_server const*> replicas_;
  bool free_ = false;
};

failover_times fail_over(context const& run, failure kind) {
  auto servers = make_servers(run, [] { return test::sentinel_servers{}; });
  auto& master = servers.master();
  master.raw().command({"SET", wanted_name, "somebody", "PX", "3600000"});
  std::vector<int> ports;
  for (std::size_t number = 0; number < servers.sentinel_count(); ++number) {
    ports.push_back(servers.sentinel(number).port());
  }
  switch_listener sentinels{ports};
  liberator frees{servers};
  shared<state> seen;
  children both;
  both.start([&] { hold(servers.url(), *seen); });
  both.start([&] { wait(servers.url(), *seen); });
  wait_until(both, [&] { return seen->held && seen->waiting; });
  if (!servers.wait_until_replicated()) throw std::runtime_error{"the replicas don't follow"};

  if (kind == failure::killed) {
    master.kill9();
  } else {
    master.freeze();
  }
  auto const failed = microseconds_now();
  seen->failed = true;
  bool announced = false;
  for (auto const late = steady_clock::now() + patience; !announced;) {
    announced = sentinels.hears(std::chrono::milliseconds{1});
    std::ignore = frees.try_to();
    if (steady_clock::now() > late) throw std::runtime_error{"the sentinels announce nothing"};
  }
  auto const told = microseconds_now();
  wait_until(both, [&] { return frees.try_to() && seen->renewed_at != 0 && seen->acquired_at != 0; });
  seen->over = true;
  both.join();
  auto const ms_since = [](std::int64_t from, std::int64_t to) {
    return static_cast<double>(std::max<std::int64_t>(0, to - from)) / 1'000;
  };
  return {ms_since(failed, told), ms_since(told, seen->renewed_at), ms_since(told, seen->acquired_at)};
}

}  // namespace

std::vector<line> sentinel_failover(context const& run) {
  if (run.options.measured == sides::floor) return {};
  target const within_a_second{target::of::own, target::side::at_most, 1'000};
  std::vector<line> lines;
  for (auto const kind : {failure::killed, failure::frozen}) {
    auto const event =
        fmt::format("master {}, another announced → ", kind == failure::killed ? "killed" : "frozen");
    line renewed{"F1", event + "lease renewed, ms", within_a_second};
    line acquired{"F1", event + "waiter has what came free, ms", within_a_second};
    line announced{"F1", "… from the failure to the announcement, ms"};
    measure_in_turns(run, renewed, nullptr, [&] {
      auto const found = fail_over(run, kind);
      acquired.own.push_back(found.acquired_ms);
      announced.own.push_back(found.announced_ms);
      return found.renewed_ms;
    });
    lines.insert(lines.end(), {renewed, acquired, announced});
  }
  return lines;
}

}  // namespace holdfast::bench
