/// When the trace of a holder is said to others, and when not.

#include <gtest/gtest.h>

#include <chrono>
#include <holdfast/inspect.hpp>
#include <holdfast/mutex.hpp>
#include <holdfast/observer.hpp>
#include <holdfast/testing.hpp>
#include <memory>
#include <string>
#include <vector>

namespace holdfast {
namespace {

using namespace std::chrono_literals;

struct tracer final : observer {
  [[nodiscard]] std::string_view name() const noexcept override { return "tracer"; }
  void on_event(lock_event const& /*event*/) override {}
  [[nodiscard]] std::string trace() override { return traced; }

  std::string traced{"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"};
};

struct holder_in_memory : testing::Test {
  [[nodiscard]] std::string seen(std::string const& name = "orders") {
    return inspect(other, name).holder.trace;
  }

  memory::manual_clock time;
  memory::deployment servers;
  std::shared_ptr<tracer> hears = std::make_shared<tracer>();
  client redis = servers.connect({.observer = hears});
  client other = servers.connect();
};

TEST_F(holder_in_memory, says_its_trace_after_half_a_second) {
  mutex m{redis, "orders"};
  auto held = m.acquire();
  time.advance(499ms);
  EXPECT_EQ(seen(), "");
  time.advance(1ms);
  EXPECT_EQ(seen(), hears->traced);
  time.advance(1h);
  EXPECT_EQ(seen(), hears->traced);
}

TEST_F(holder_in_memory, is_asked_again_by_a_waiter_who_saw_it_before) {
  mutex m{redis, "orders"};
  mutex waiting{other, "orders"};
  auto held = m.acquire();
  EXPECT_FALSE(waiting.try_acquire());
  EXPECT_EQ(waiting.last_busy()->holder.trace, "");
  time.advance(1s);
  EXPECT_EQ(waiting.last_busy()->holder.trace, hears->traced);
}

TEST_F(holder_in_memory, says_it_again_when_its_record_was_lost) {
  mutex m{redis, "orders"};
  auto held = m.acquire();
  time.advance(1s);
  ASSERT_EQ(seen(), hears->traced);
  ASSERT_TRUE(servers.lose("holdfast_client:" + redis.uuid()));
  ASSERT_EQ(seen(), "");
  time.advance(21s);
  EXPECT_EQ(seen(), hears->traced);
}

TEST_F(holder_in_memory, says_sixteen_and_more_when_those_have_ended) {
  std::vector<lease> leases;
  for (auto i = 0; i != 17; ++i) {
    mutex m{redis, "orders" + std::to_string(i)};
    leases.push_back(m.acquire());
  }
  time.advance(1s);
  EXPECT_EQ(seen("orders0"), hears->traced);
  EXPECT_EQ(seen("orders15"), hears->traced);
  EXPECT_EQ(seen("orders16"), "");
  leases.front().release();
  time.advance(500ms);
  EXPECT_EQ(seen("orders16"), hears->traced);
}

TEST_F(holder_in_memory, says_nothing_that_is_no_traceparent) {
  hears->traced = "checkout";
  mutex m{redis, "orders"};
  auto const held = m.acquire();
  time.advance(1s);
  EXPECT_EQ(seen(), "");
}

}  // namespace
}  // namespace holdfast
