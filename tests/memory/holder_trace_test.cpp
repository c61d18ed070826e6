/// When the trace of a holder is said to others, and when not.

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <holdfast/inspect.hpp>
#include <holdfast/mutex.hpp>
#include <holdfast/shared_mutex.hpp>
#include <string>
#include <vector>

#include "memory/tracing.hpp"

namespace holdfast {
namespace {

using namespace std::chrono_literals;

class holder_in_memory : public tracing_in_memory {
 protected:
  /// The one that is written half a second behind the grant.
  void refuse_first_record(std::string const& refusal) {
    time.advance(400ms);
    auto const refused = servers.refuse(refusal);
    time.advance(200ms);
  }
  /// What so many reports, a tenth of a second after each other, cost in requests.
  [[nodiscard]] std::uint64_t commands_of_reports(int count, mutex& of) {
    auto const before = other.stats().commands;
    for (; count != 0; --count) {
      (void)of.last_busy();
      time.advance(100ms);
    }
    return other.stats().commands - before;
  }
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
  ASSERT_TRUE(servers.lose(record()));
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

TEST_F(holder_in_memory, says_it_when_the_server_has_refused_it_once) {
  mutex m{redis, "orders"};
  auto const held = m.acquire();
  refuse_first_record("OOM command not allowed when used memory > 'maxmemory'.");
  time.advance(21s);
  EXPECT_EQ(seen(), hears->traced);
}

TEST_F(holder_in_memory, says_it_when_the_right_was_granted_later) {
  mutex m{redis, "orders"};
  auto const held = m.acquire();
  refuse_first_record("NOPERM this user has no permissions");
  time.advance(11min);
  EXPECT_EQ(seen(), hears->traced);
}

TEST_F(holder_in_memory, says_it_of_a_writer_that_has_become_a_reader) {
  shared_mutex m{redis, "orders"};
  auto writing = m.acquire();
  time.advance(1s);
  auto const reading = m.downgrade(std::move(writing));
  for (auto const wait : {0s, 21s}) {
    time.advance(wait);
    auto const holders = inspect(other, "orders").holders;
    ASSERT_EQ(holders.size(), 1u);
    EXPECT_EQ(holders[0].process.trace, hears->traced);
  }
}

TEST_F(holder_in_memory, says_nothing_of_a_reader_that_others_may_join) {
  shared_mutex m{redis, "orders"};
  auto const reading = m.downgrade(m.acquire());
  time.advance(21s);
  auto const holders = inspect(other, "orders").holders;
  ASSERT_EQ(holders.size(), 1u);
  EXPECT_EQ(holders[0].process.trace, "");
}

TEST_F(holder_in_memory, costs_those_it_blocks_nothing_while_its_work_has_no_traces) {
  hears->traced.clear();
  mutex m{redis, "orders"};
  mutex waiting{other, "orders"};
  auto const held = m.acquire();
  EXPECT_FALSE(waiting.try_acquire());
  EXPECT_LE(commands_of_reports(150, waiting), 1u);
}

TEST_F(holder_in_memory, is_named_to_those_who_knew_it_before_its_first_trace) {
  hears->traced.clear();
  mutex m{redis, "orders"};
  mutex waiting{other, "orders"};
  {
    auto const held = m.acquire();
    EXPECT_FALSE(waiting.try_acquire());
    (void)waiting.last_busy();
  }
  hears->traced = a_trace;
  auto const held = m.acquire();
  EXPECT_FALSE(waiting.try_acquire());
  time.advance(21s);
  EXPECT_EQ(waiting.last_busy()->holder.trace, a_trace);
}

TEST_F(holder_in_memory, is_not_asked_for_again_and_again_when_its_record_is_gone) {
  mutex m{redis, "orders"};
  mutex waiting{other, "orders"};
  auto held = m.acquire();
  EXPECT_FALSE(waiting.try_acquire());
  EXPECT_FALSE(waiting.last_busy()->holder.host.empty());
  time.advance(600ms);
  ASSERT_TRUE(servers.lose(record()));
  EXPECT_LE(commands_of_reports(100, waiting), 1u);
  EXPECT_FALSE(waiting.last_busy()->holder.host.empty()) << "what was known";
}

}  // namespace
}  // namespace holdfast
