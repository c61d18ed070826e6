/// Any one allocation of an upgrade fails: as in memory_test.cpp. The upgrade lease is never lost by that.
#include "short_of_memory.hpp"

#include <holdfast/shared_mutex.hpp>

#include <atomic>

#include "support/deployment_under_test.hpp"
#include "support/long_timeouts.hpp"

namespace holdfast::test {
namespace {

TEST(memory_of_an_upgrade, may_be_wanting_for_both_kinds_of_wait) {
  deployment_under_test server{};
  auto raw = server.raw();
  client other_client{server.url(), with_long_timeouts({})};
  for_each_allocation([&](std::int64_t n) {
    auto const name = "orders:" + std::to_string(n);
    client tested_client{server.url(), with_long_timeouts({})};
    shared_mutex tested{tested_client, name};
    shared_mutex other{other_client, name};
    auto held = tested.acquire_upgrade();
    lease returned;
    std::atomic<bool> over = false;
    auto begun = false;
    auto const reached = run_short_of_memory(n, [&] {
      tested.upgrade(held);
      held = tested.downgrade_to_upgrade(std::move(held));
      tested.async_upgrade(std::move(held), [&](lease mine, bool, std::exception_ptr const&) {
        returned = std::move(mine);
        over = true;
      });
      begun = true;
    });
    EXPECT_TRUE(eventually([&] { return over == begun; }));
    (begun ? returned : held).release();
    EXPECT_TRUE(other.try_acquire_for(wait_limit)) << "something is left";
    EXPECT_TRUE(is_idle(tested_client));
    return reached;
  });
}

}  // namespace
}  // namespace holdfast::test
