#include "engine/quorum/round_times.hpp"

#include <gtest/gtest.h>

namespace holdfast::engine {
namespace {

using namespace std::chrono_literals;

TEST(round_times, leave_a_slow_master_twice_its_usual_time) {
  EXPECT_EQ(time_to_answer(30s, 1ms), 3s);
  EXPECT_EQ(time_to_answer(100ms, 1ms), 25ms);
  EXPECT_EQ(time_to_answer(100ms, 40ms), 80ms);
}

TEST(round_times, grow_for_the_contender_that_is_ahead) {
  EXPECT_EQ(pause_ahead(1, 0ns), 100us);
  EXPECT_EQ(pause_ahead(2, 0ns), 200us);
  EXPECT_EQ(pause_ahead(3, 500us), 2ms);
  EXPECT_EQ(pause_ahead(4, 10ms), 5ms);
}

TEST(round_times, spread_the_contenders_that_made_way_where_no_queue_orders_them) {
  EXPECT_EQ(pause_behind(true, 7), 0ms);
  EXPECT_EQ(pause_behind(false, 7), 27ms);
  EXPECT_EQ(pause_behind(false, 39), 27ms);
}

}  // namespace
}  // namespace holdfast::engine
