/// Many threads on one deployment in memory, while a clock moves and connections break.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <deque>
#include <holdfast/fair_mutex.hpp>
#include <holdfast/inspect.hpp>
#include <holdfast/mutex.hpp>
#include <holdfast/testing.hpp>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace holdfast {
namespace {

using namespace std::chrono_literals;

constexpr auto cycles_of_each = 12;

/// What a thread does. The counter has no protection but the lock.
template <class Lock>
void count_up(client& redis, long& counter, std::atomic<int>& working) {
  Lock m{redis, "orders", {.ttl = 1h}};
  for (auto i = 0; i != cycles_of_each; ++i) {
    auto const held = m.acquire();
    ++counter;
  }
  --working;
}

/// Threads of several clients take turns, until each has done its cycles.
template <class Lock>
void crowd(memory::manual_clock& time, memory::deployment& servers) {
  memory::history seen;
  long counter = 0;
  std::atomic<int> working{6};
  {
    std::deque<client> clients;
    for (auto i = 0; i != 3; ++i) clients.push_back(servers.connect({.history = seen.path()}));
    std::vector<std::jthread> threads;
    threads.reserve(6);
    for (auto& redis : clients) {
      for (auto i = 0; i != 2; ++i) threads.emplace_back([&] { count_up<Lock>(redis, counter, working); });
    }
    for (auto step = 1; working != 0; ++step) {
      time.advance(200ms);
      if (step % 8 == 0) servers.break_connections();
      if (step % 8 == 4) servers.forget_scripts();
      std::this_thread::yield();
    }
    time.advance(10s);  // a client whose connection has just broken connects again before it ends
  }
  EXPECT_EQ(counter, 6 * cycles_of_each);
  for (auto const& wrong : seen.judge()) {
    // Of two that ask in one instant, each may be the first if the clock moves before they are in the queue.
    if (wrong.promise != "L3") ADD_FAILURE() << wrong.promise << ": " << wrong.text;
  }
}

TEST(crowd_in_memory, takes_turns_while_the_clock_moves_and_connections_break) {
  memory::manual_clock time;
  memory::deployment servers;
  crowd<mutex>(time, servers);
  crowd<fair_mutex>(time, servers);
}

TEST(fairness_in_memory, is_the_order_in_which_clients_came_while_time_stands_still) {
  memory::manual_clock const time;
  memory::deployment servers;
  auto holder = servers.connect();
  fair_mutex m{holder, "orders"};
  auto held = m.acquire();
  std::mutex guard;
  std::vector<int> order;
  std::deque<client> clients;
  std::vector<std::jthread> threads;
  threads.reserve(8);
  for (auto i = 0; i != 8; ++i) {
    clients.push_back(servers.connect());
    threads.emplace_back([&, i] {
      fair_mutex theirs{clients[static_cast<std::size_t>(i)], "orders"};
      auto const mine = theirs.acquire();
      std::scoped_lock const hold{guard};
      order.push_back(i);
    });
    EXPECT_TRUE(memory::until([&] { return inspect(holder, "orders").waiting == i + 1; }));
  }
  held.release();
  threads.clear();
  EXPECT_EQ(order, (std::vector{0, 1, 2, 3, 4, 5, 6, 7}));
}

TEST(crowd_in_memory, makes_and_ends_deployments_beside_each_other) {
  std::vector<std::jthread> threads;
  threads.reserve(4);
  for (auto i = 0; i != 4; ++i) {
    threads.emplace_back([i] {
      for (auto round = 0; round != 5; ++round) {
        memory::deployment servers{{.name = "of-" + std::to_string(i)}};
        auto redis = servers.connect();
        mutex m{redis, "orders"};
        EXPECT_EQ(m.acquire().release(), release_result::released);
      }
    });
  }
}

}  // namespace
}  // namespace holdfast
