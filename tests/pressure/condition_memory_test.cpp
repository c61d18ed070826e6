/// Any one allocation fails while a lease is given back to wait for a notification.
#include "short_of_memory.hpp"

#include "support/deployment_under_test.hpp"
#include "support/long_timeouts.hpp"

#include <holdfast/condition.hpp>
#include <holdfast/mutex.hpp>

namespace holdfast::test {
namespace {

/// `wait` waits once.
template <class Wait>
void expect_waits_without_memory(Wait wait) {
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
      wait(changed, held);
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

TEST(memory_of_a_condition, may_be_wanting_at_any_time) {
  expect_waits_without_memory([](condition& changed, lease& held) {
    changed.wait(held);
    (void)changed.wait_for(held, 5ms);
  });
}

TEST(memory_of_a_condition, may_be_wanting_while_no_thread_waits) {
  expect_waits_without_memory([](condition& changed, lease& held) {
    for (auto const time : {std::chrono::milliseconds{wait_limit}, 5ms}) {
      static std::atomic<int> told;  // its last user is the callback
      int const before = told;
      changed.async_wait_for(std::move(held), time,
                             [&held](lease back, std::cv_status, std::exception_ptr const& failure) {
                               if (failure) expect_memory_failure(failure);
                               held = std::move(back);
                               ++told;
                               told.notify_all();
                             });
      told.wait(before);
      if (!held.valid()) return;
    }
  });
}

}  // namespace
}  // namespace holdfast::test
