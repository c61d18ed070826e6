/// Allocations fail while threads wait that look for deadlocks: all are found when there is memory again, but
/// those of callers for whom there was none as they began to wait.
#include "short_of_memory.hpp"

#include <holdfast/mutex.hpp>

#include "support/deployment_under_test.hpp"
#include "support/leftovers.hpp"
#include "support/long_timeouts.hpp"

#include <future>
#include <random>
#include <vector>

namespace holdfast::test {
namespace {

TEST(memory_of_a_deadlock, may_be_wanting_again_and_again_before_it_is_found) {
  uncounted_thread const uncounted;
  deployment_under_test server{};
  auto raw = server.raw();
  auto const seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::minstd_rand random{seed};
  {
    client redis{server.url(), with_long_timeouts({})};
    std::vector<std::future<std::error_code>> waits;
    for (auto i = 0; i < 8; ++i) {
      waits.push_back(std::async(std::launch::async, [&redis, i] {
        mutex orders{redis, "orders:" + std::to_string(i), {.detect_deadlock = true}};
        auto const held = orders.acquire();
        try {
          auto const again = orders.try_acquire_for(wait_limit);
        } catch (std::system_error const& failure) {
          return failure.code();
        }
        return std::error_code{};
      }));
    }
    ASSERT_TRUE(eventually([&] { return redis.stats().held_now == 8 && redis.stats().waiting_now == 8; }));
    auto const until = std::chrono::steady_clock::now() + 3s;
    while (std::chrono::steady_clock::now() < until) {
      nth_allocation const failing{static_cast<std::int64_t>(random() % 50), [] { throw std::bad_alloc{}; }};
      std::this_thread::sleep_for(5ms);
    }
    for (auto& each : waits) {
      auto const ended_with = each.get();
      EXPECT_TRUE(ended_with == errc::deadlock || ended_with == std::errc::not_enough_memory) << ended_with;
    }
  }
  EXPECT_TRUE(eventually([&] { return leftover_keys(raw).empty(); }));
}

}  // namespace
}  // namespace holdfast::test
