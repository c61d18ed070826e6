/// Any one allocation fails in a call that is given a function. What that function owns, such as the last
/// lease of another lock, may need the client when it ends.
#include "short_of_memory.hpp"

#include <holdfast/mutex.hpp>

#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <utility>

#include "support/deployment_under_test.hpp"
#include "support/long_timeouts.hpp"

namespace holdfast::test {
namespace {

class memory_of_a_function : public testing::Test {
 protected:
  /// `give` passes what owns a lease on, in a function. It ends with that function, at the latest when the
  /// lease of "orders" is over.
  void may_be_wanting(
      std::function<void(mutex& jobs, lease& orders, std::shared_ptr<lease> owned)> const& give) {
    for_each_allocation([&](std::int64_t n) {
      client tested_client{server.url(), with_long_timeouts({})};
      mutex kept{tested_client, "kept"};
      mutex jobs{tested_client, "jobs"};
      mutex other{tested_client, "orders", {.ttl = 60s, .max_hold = 30s}};
      auto orders = other.acquire();
      auto owned = std::make_shared<lease>(kept.acquire());
      auto const reached = run_short_of_memory(n, [&] { give(jobs, orders, std::move(owned)); });
      owned.reset();
      orders.release();
      EXPECT_TRUE(kept.try_acquire_for(wait_limit));
      EXPECT_TRUE(is_idle(tested_client));
      return reached;
    });
  }

  deployment_under_test server{};
};

TEST_F(memory_of_a_function, may_be_wanting_when_it_waits_for_a_lock) {
  may_be_wanting([](mutex& jobs, lease&, std::shared_ptr<lease> owned) {
    std::stop_source stop;
    jobs.async_acquire([owned = std::move(owned)](std::optional<lease> const&, std::exception_ptr const&) {},
                       stop.get_token());
  });
}

TEST_F(memory_of_a_function, may_be_wanting_when_it_waits_for_a_renewal) {
  may_be_wanting([](mutex&, lease& orders, std::shared_ptr<lease> owned) {
    orders.async_renew([owned = std::move(owned)](std::exception_ptr const&) {});
  });
}

TEST_F(memory_of_a_function, may_be_wanting_when_it_is_to_hear_of_a_loss) {
  may_be_wanting([](mutex&, lease& orders, std::shared_ptr<lease> owned) {
    orders.on_lost([owned = std::move(owned)](loss_cause) {});
  });
}

TEST_F(memory_of_a_function, may_be_wanting_when_it_is_to_hear_of_a_limit) {
  may_be_wanting([](mutex&, lease& orders, std::shared_ptr<lease> owned) {
    orders.on_limit_near(1s, [owned = std::move(owned)] {});
  });
}

}  // namespace
}  // namespace holdfast::test
