/// Any one allocation fails while a lease is given back to wait for a notification.
#include "short_of_memory.hpp"

#include "support/deployment_under_test.hpp"
#include "support/long_timeouts.hpp"

#include <holdfast/condition.hpp>
#include <holdfast/mutex.hpp>

namespace holdfast::test {
namespace {

TEST(memory_of_a_condition, may_be_wanting_at_any_time) {
  deployment_under_test const server;
  client other_client{server.url(), with_long_timeouts({})};
  for_each_allocation([&](std::int64_t n) {
    auto const name = "orders:" + std::to_string(n);
    client tested_client{server.url(), with_long_timeouts({})};
    mutex m{tested_client, name};
    condition changed{tested_client, name};
    condition changed_elsewhere{other_client, name};
    std::atomic<bool> over = false;
    std::jthread const notifier{[&] {
      uncounted_thread const notifier_uncounted;
      while (!over) {
        (void)changed_elsewhere.notify_one();
        std::this_thread::sleep_for(1ms);
      }
    }};
    std::atomic<int> lost = 0;
    auto held = m.acquire();
    held.on_lost([&lost](loss_cause) { ++lost; });
    auto const reached = run_short_of_memory(n, [&] {
      changed.wait(held);
      (void)changed.wait_for(held, 5ms);
      (void)changed.notify_all();
    });
    over = true;
    EXPECT_TRUE(eventually([&] { return lost == (held.valid() ? 0 : 1); }));
    held = lease{};
    EXPECT_TRUE(is_idle(tested_client));
    auto again = m.try_acquire_for(wait_limit);
    EXPECT_TRUE(again) << "nobody can have it";
    return reached;
  });
}

}  // namespace
}  // namespace holdfast::test
