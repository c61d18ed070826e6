/// The kernel loses packets between clients and server, in a network namespace.
/// HOLDFAST_LOSS_SECONDS=600 makes the test run for ten minutes.
#include "fault.hpp"
#include "support/private_network.hpp"

#include <cstdlib>
#include <iostream>
#include <random>
#include <thread>

namespace holdfast::test {
namespace {

std::chrono::seconds time_of_loss() {
  auto const* const setting = std::getenv("HOLDFAST_LOSS_SECONDS");
  return std::chrono::seconds{setting != nullptr ? std::stol(setting) : 12};
}

/// The longest time between the end of one lease and the beginning of the next.
std::chrono::milliseconds longest_pause(std::vector<interval> const& history) {
  std::int64_t longest = 0;
  for (std::size_t i = 1; i < history.size(); ++i)
    longest = std::max(longest, history[i].from - history[i - 1].to);
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::nanoseconds{longest});
}

/// No holder dies here, and an outage is much shorter than a ttl. A waiter that waits as long as a ttl
/// therefore waits for a lock without a holder.
TEST(packet_loss, never_lets_leases_overlap_nor_leaves_a_lock_to_nobody) {
  if (auto const missing = private_network::lacking(); !missing.empty()) GTEST_SKIP() << missing;
  constexpr std::size_t names = 6;
  constexpr lock_options options{.ttl = 30s};
  auto const seed = std::random_device{}();
  std::cout << "seed " << seed << std::endl;
  std::mt19937 random{seed};
  auto const random_between = [&random](int from, int to) {
    return std::uniform_int_distribution{from, to}(random);
  };

  private_network network;
  auto const server = redis_server::with({.transport = server_transport::tcp});
  std::mutex guard;
  std::vector<std::vector<interval>> history(names);
  {
    client first_client{server.url()};
    client second_client{server.url()};
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < 2 * names; ++i) {
      threads.emplace_back([&, i, holder = static_cast<std::int64_t>(i)](std::stop_token const& stop) {
        mutex m{i < names ? first_client : second_client, "orders:" + std::to_string(i % names), options};
        while (!stop.stop_requested()) {
          try {
            auto const lease = m.try_acquire_for(1s);
            if (!lease) continue;
            auto const from = boot_now();
            if (!lease->valid()) continue;
            std::this_thread::sleep_for(1ms);
            auto const to = boot_now();
            if (!lease->valid()) continue;
            std::scoped_lock const hold{guard};
            history[i % names].push_back({.from = from, .to = to, .token = lease->token(), .holder = holder});
          } catch (error const& failure) {
            EXPECT_EQ(failure.code(), errc::unreachable) << failure.what();
          }
        }
      });
    }
    auto const end = std::chrono::steady_clock::now() + time_of_loss();
    while (std::chrono::steady_clock::now() < end) {
      network.lose(random_between(1, 3) == 1 ? random_between(10, 60) : 100, server.port());
      std::this_thread::sleep_for(milliseconds{random_between(2000, 4000)});  // the outage under test
      network.drop_nothing();
      std::vector<std::size_t> before;
      for (std::scoped_lock const hold{guard}; auto const& name_history : history)
        before.push_back(name_history.size());
      EXPECT_TRUE(eventually([&] {
        std::scoped_lock const hold{guard};
        auto progressed = true;
        for (std::size_t i = 0; i < names; ++i) progressed = progressed && history[i].size() > before[i] + 20;
        return progressed;
      })) << "somebody waits for a lock that nobody has";
    }
  }
  for (auto& name_history : history) {
    std::sort(name_history.begin(), name_history.end(),
              [](auto const& a, auto const& b) { return a.from < b.from; });
    EXPECT_EQ(judge(name_history), "");
    EXPECT_LT(longest_pause(name_history), options.ttl - 5s);
  }
}

}  // namespace
}  // namespace holdfast::test
