/// No false alarm: threads that take locks by chance, and what happened by one clock.
#include "deadlocking.hpp"

#include <limits>
#include <list>
#include <random>
#include <thread>

namespace holdfast::test {
namespace {

/// What happened, by one clock: who waited for which name, and who held which, from when until when.
class history {
 public:
  struct interval {
    int thread;
    std::string name;
    std::int64_t from;
    std::int64_t to = std::numeric_limits<std::int64_t>::max();
  };
  std::size_t begin(std::vector<interval>& of, int thread, std::string name) {
    std::scoped_lock const hold{guard_};
    of.push_back({thread, std::move(name), boot_now()});
    return of.size() - 1;
  }
  void end(std::vector<interval>& of, std::size_t index) {
    std::scoped_lock const hold{guard_};
    of[index].to = boot_now();
  }
  /// Whether this wait was part of a circle at any moment. One can only begin when a wait or a hold does.
  [[nodiscard]] bool was_in_a_circle(std::size_t wait) const {
    auto const& own = waits[wait];
    auto const at = [&](std::int64_t moment) {
      auto const is_on = [&](interval const& each) { return each.from <= moment && moment <= each.to; };
      std::vector<int> reached{own.thread};
      for (std::size_t next = 0; next != reached.size(); ++next) {
        auto const waiting = std::ranges::find_if(
            waits, [&](interval const& each) { return each.thread == reached[next] && is_on(each); });
        if (waiting == waits.end()) continue;
        // A thread whose lease was lost (a grant behind a network that stands still is soon over) believes
        // that it holds beside the one that does.
        for (auto const& each : holds) {
          if (each.name != waiting->name || !is_on(each)) continue;
          if (each.thread == own.thread) return true;
          if (std::ranges::find(reached, each.thread) == reached.end()) reached.push_back(each.thread);
        }
      }
      return false;
    };
    auto const begins_one = [&](interval const& each) {
      return own.from <= each.from && each.from <= own.to && at(each.from);
    };
    return std::ranges::any_of(waits, begins_one) || std::ranges::any_of(holds, begins_one);
  }

  /// What went on during this wait, for a message.
  [[nodiscard]] std::string during(std::size_t wait) const {
    auto const& own = waits[wait];
    std::string text;
    auto const add = [&](char const* what, std::vector<interval> const& all) {
      for (auto const& each : all) {
        if (each.to < own.from || own.to < each.from) continue;
        text += "\n  thread " + std::to_string(each.thread) + what + each.name + " from " +
                std::to_string(each.from) + " to " + std::to_string(each.to);
      }
    };
    add(" waited for ", waits);
    add(" held ", holds);
    return text;
  }

  std::vector<interval> waits;
  std::vector<interval> holds;

 private:
  std::mutex guard_;
};

TEST_F(deadlock, is_never_a_false_alarm_and_always_ends) {
  constexpr auto threads = 6;
  auto const seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  // One of the processes has a network that stands still again and again.
  std::optional<flaky_proxy> network;
  if (on_one_server()) network.emplace(server_.socket_path());
  client slow{network ? network->url() : server_.url(), with_long_timeouts({})};
  std::jthread const weather{[&network, seed](std::stop_token const& over) {
    std::minstd_rand random{seed};
    while (network && !over.stop_requested()) {
      std::this_thread::sleep_for(std::chrono::milliseconds{random() % 1000});
      network->freeze();
      std::this_thread::sleep_for(std::chrono::milliseconds{random() % 1000});
      network->thaw();
    }
  }};
  std::array<client*, 3> const clients{&one_, &two_, &slow};
  std::vector<std::string> const names{"a", "b", "c"};
  history seen;
  std::vector<std::size_t> alarms;
  std::mutex guard;
  auto const until = boot_now() + 5'000'000'000;
  auto const work = [&](int number) {
    std::minstd_rand random{seed + static_cast<unsigned>(number)};
    auto const below = [&random](unsigned n) { return static_cast<unsigned>(random()) % n; };
    auto& own = *clients[static_cast<std::size_t>(number) % clients.size()];
    std::vector<mutex*> locks;
    std::list<mutex> all;
    for (auto const& name : names) locks.push_back(&all.emplace_back(own, name, detecting));
    /// Waits in one of several ways; nullopt: it gave up.
    auto const take = [&](mutex& wanted) -> std::optional<lease> {
      auto const wait = seen.begin(seen.waits, number, wanted.name());
      std::optional<lease> held;
      auto alarm = false;
      try {
        switch (below(10)) {
          case 0:
            held = wanted.try_acquire_for(std::chrono::milliseconds{below(6000)});
            break;
          case 1: {
            std::stop_source stop;
            std::jthread const later{[&stop, pause = std::chrono::milliseconds{below(6000)}] {
              std::this_thread::sleep_for(pause);
              stop.request_stop();
            }};
            held = wanted.acquire(stop.get_token());
            break;
          }
          default:
            held = wanted.acquire();
        }
      } catch (error const& problem) {
        alarm = problem.code() == errc::deadlock;
        EXPECT_TRUE(alarm || problem.code() == errc::cancelled) << problem.what();
      }
      seen.end(seen.waits, wait);
      if (alarm) {
        std::scoped_lock const hold{guard};
        alarms.push_back(wait);
      }
      return held;
    };
    while (boot_now() < until) {
      auto const first = below(3);
      auto const second = (first + 1 + below(2)) % 3;
      auto held = take(*locks[first]);
      if (!held) continue;
      auto const outer = seen.begin(seen.holds, number, names[first]);
      if (auto other = take(*locks[second])) {
        auto const inner = seen.begin(seen.holds, number, names[second]);
        std::this_thread::sleep_for(std::chrono::milliseconds{below(20)});
        seen.end(seen.holds, inner);
        other->release();
      }
      seen.end(seen.holds, outer);
      held->release();
    }
  };
  {
    std::vector<std::jthread> all;
    for (auto number = 0; number != threads; ++number) all.emplace_back(work, number);
  }
  for (auto const alarm : alarms) {
    auto const& wait = seen.waits[alarm];
    EXPECT_TRUE(seen.was_in_a_circle(alarm))
        << "thread " << wait.thread << " for " << wait.name << " from " << wait.from << " to " << wait.to
        << ", during which" << seen.during(alarm);
  }
  RecordProperty("alarms", std::to_string(alarms.size()));
  EXPECT_TRUE(is_said(0));
}

}  // namespace
}  // namespace holdfast::test
