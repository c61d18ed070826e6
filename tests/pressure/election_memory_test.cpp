/// Any one allocation of an election fails: as in memory_test.cpp. An observer hears of the next change all
/// the same.
#include "short_of_memory.hpp"

#include <holdfast/election.hpp>

#include "support/deployment_under_test.hpp"
#include "support/long_timeouts.hpp"

namespace holdfast::test {
namespace {

TEST(memory_of_an_election, may_be_wanting_for_campaigns_looks_and_observers) {
  deployment_under_test server{};
  auto raw = server.raw();
  client other_client{server.url(), with_long_timeouts({})};
  for_each_allocation([&](std::int64_t n) {
    auto const name = "orders:" + std::to_string(n);
    client tested_client{server.url(), with_long_timeouts({})};
    election tested{tested_client, name};
    election other{other_client, name};
    std::atomic<std::int64_t> last = -1;  // the last term; 0: nobody leads
    std::atomic<int> outcomes = 0;
    auto begun = 0;
    leader_observer observer;
    auto observed = false;
    auto const reached = run_short_of_memory(n, [&] {
      observer = tested.observe([&last](auto const& leader) { last = leader ? leader->term : 0; });
      observed = true;
      auto leading = tested.campaign("a");
      EXPECT_TRUE(tested.leader());
      tested.async_campaign("b",
                            [&outcomes](std::optional<lease>, std::exception_ptr const&) { ++outcomes; });
      ++begun;
      EXPECT_TRUE(tested.candidates().empty()) << "it waits here, not there";
      EXPECT_FALSE(tested.resign_to(leading, "nobody"));
      leading.release();
    });
    EXPECT_TRUE(eventually([&] { return outcomes == begun; }));
    EXPECT_TRUE(is_idle(tested_client));
    auto const next = other.try_campaign_for("next", wait_limit);
    EXPECT_TRUE(next);
    if (observed && next) {
      EXPECT_TRUE(eventually([&] { return last == next->token(); })) << "the observer hears nothing any more";
    }
    return reached;
  });
}

}  // namespace
}  // namespace holdfast::test
