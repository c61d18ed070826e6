/// Deployments in memory, clocks and clients end in any order.

#include <gtest/gtest.h>

#include <chrono>
#include <holdfast/mutex.hpp>
#include <holdfast/testing.hpp>
#include <optional>
#include <stdexcept>
#include <string>

namespace holdfast {
namespace {

using namespace std::chrono_literals;

/// The clock stands still, so nothing here may wait for it.
struct ends_in_memory : testing::Test {
  memory::manual_clock time;
  std::optional<memory::deployment> servers{std::in_place};
};

TEST_F(ends_in_memory, a_client_with_a_lease_ends_after_its_deployment) {
  auto redis = servers->connect();
  mutex m{redis, "orders"};
  auto const held = m.acquire();
  servers.reset();
}

TEST_F(ends_in_memory, a_deployment_that_has_ended_says_so) {
  auto redis = servers->connect();
  mutex m{redis, "orders"};
  redis.connect();
  servers.reset();
  try {
    (void)m.try_acquire();
    FAIL() << "it got an answer";
  } catch (error const& refused) {
    EXPECT_NE(std::string{refused.what()}.find("has ended"), std::string::npos) << refused.what();
  }
}

TEST_F(ends_in_memory, a_deployment_ends_while_it_is_paused) {
  auto redis = servers->connect();
  mutex m{redis, "orders"};
  auto const held = m.acquire();
  auto const pause = servers->pause();
  servers.reset();
}

TEST_F(ends_in_memory, clients_are_those_of_the_next_deployment_of_that_name) {
  auto redis = servers->connect();
  mutex m{redis, "orders"};
  auto const held = m.acquire();
  servers.reset();
  servers.emplace();
  time.advance(5s);
  EXPECT_EQ(held.lost_because(), loss_cause::key_gone);
  EXPECT_TRUE(m.try_acquire());
}

TEST_F(ends_in_memory, a_connection_that_broke_is_tried_again_in_vain) {
  auto redis = servers->connect();
  mutex m{redis, "orders"};
  auto const held = m.acquire();
  servers->break_connections();
  servers.reset();
  time.advance(40s);
  EXPECT_EQ(held.lost_because(), loss_cause::unreachable);
}

TEST(clock_in_memory, may_end_before_the_clients) {
  memory::deployment servers;
  auto redis = servers.connect();
  mutex m{redis, "orders"};
  auto held = m.acquire();
  for (auto i = 0; i != 2; ++i) {
    memory::manual_clock time;
    time.advance(1min);
    EXPECT_TRUE(held.valid());
  }
  EXPECT_EQ(held.release(), release_result::released);
}

TEST(clock_in_memory, moves_forward_and_not_beyond_a_century) {
  memory::manual_clock time;
  EXPECT_THROW(time.advance(-1s), std::invalid_argument);
  EXPECT_THROW(time.advance(std::chrono::hours::max()), std::invalid_argument);
  time.advance(std::chrono::years{99});
  EXPECT_THROW(time.advance(std::chrono::years{2}), std::invalid_argument);
  EXPECT_EQ(time.elapsed(), std::chrono::years{99});
}

}  // namespace
}  // namespace holdfast
