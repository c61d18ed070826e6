/// Packets are lost between clients and server, in a network namespace, by the kernel.
/// HOLDFAST_LOSS_SECONDS=600 makes it go on for ten minutes.
#include "fault.hpp"
#include "support/private_network.hpp"

#include <cstdlib>
#include <iostream>
#include <random>
#include <thread>

namespace holdfast::test {
namespace {

std::chrono::seconds time_of_loss() {
  auto const* const asked = std::getenv("HOLDFAST_LOSS_SECONDS");
  return std::chrono::seconds{asked != nullptr ? std::stol(asked) : 12};
}

/// The longest time between the end of one lease and the beginning of the next.
std::chrono::milliseconds longest_pause(std::vector<interval> const& history) {
  std::int64_t longest = 0;
  for (std::size_t i = 1; i < history.size(); ++i)
    longest = std::max(longest, history[i].from - history[i - 1].to);
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::nanoseconds{longest});
}

/// Nobody dies here, and an outage is much shorter than a ttl: whoever waits that long waits for a lock that
/// nobody has.
TEST(packet_loss, never_lets_leases_overlap_nor_leaves_a_lock_to_nobody) {
  if (auto const lack = private_network::lacking(); !lack.empty()) GTEST_SKIP() << lack;
  constexpr std::size_t names = 6;
  constexpr lock_options how{.ttl = 30s};
  auto const seed = std::random_device{}();
  std::cout << "seed " << seed << std::endl;
  std::mt19937 random{seed};
  auto const some = [&random](int from, int to) { return std::uniform_int_distribution{from, to}(random); };

  private_network network;
  auto const server = redis_server::with({.on = server_options::listen::tcp});
  std::mutex guard;
  std::vector<std::vector<interval>> history(names);
  {
    client one{server.url()};
    client two{server.url()};
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < 2 * names; ++i) {
      threads.emplace_back([&, i, who = static_cast<std::int64_t>(i)](std::stop_token const& stop) {
        mutex m{i < names ? one : two, "orders:" + std::to_string(i % names), how};
        while (!stop.stop_requested()) {
          try {
            auto const mine = m.try_acquire_for(1s);
            if (!mine) continue;
            auto const from = boot_now();
            if (!mine->valid()) continue;
            std::this_thread::sleep_for(1ms);
            auto const to = boot_now();
            if (!mine->valid()) continue;
            std::scoped_lock const hold{guard};
            history[i % names].push_back({.from = from, .to = to, .token = mine->token(), .who = who});
          } catch (error const& failure) {
            EXPECT_EQ(failure.code(), errc::unreachable) << failure.what();
          }
        }
      });
    }
    auto const end = std::chrono::steady_clock::now() + time_of_loss();
    while (std::chrono::steady_clock::now() < end) {
      network.lose(some(1, 3) == 1 ? some(10, 60) : 100, server.port());
      std::this_thread::sleep_for(milliseconds{some(2000, 4000)});  // how long it lasts, is what is tested
      network.lose_nothing();
      std::vector<std::size_t> before;
      for (std::scoped_lock const hold{guard}; auto const& one_name : history)
        before.push_back(one_name.size());
      EXPECT_TRUE(eventually([&] {
        std::scoped_lock const hold{guard};
        auto all = true;
        for (std::size_t i = 0; i < names; ++i) all = all && history[i].size() > before[i] + 20;
        return all;
      })) << "somebody waits for a lock that nobody has";
    }
  }
  for (auto& one_name : history) {
    std::sort(one_name.begin(), one_name.end(), [](auto const& a, auto const& b) { return a.from < b.from; });
    EXPECT_EQ(judge(one_name), "");
    EXPECT_LT(longest_pause(one_name), how.ttl - 5s);
  }
}

}  // namespace
}  // namespace holdfast::test
