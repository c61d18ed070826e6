/// An election that is handed over at the request of another process.
#include "electing.hpp"

#include <holdfast/inspect.hpp>

#include <thread>

namespace holdfast::test {
namespace {

TEST_F(electing, is_handed_over_when_the_leader_is_asked_from_elsewhere) {
  auto leading = first_.campaign("a");
  pending second;
  pending third;
  ASSERT_TRUE(both_campaign(second, third));
  auto const id = id_of(third_client_);
  auto const lost = leading.lost();
  std::jthread const resigning{[&] {
    EXPECT_TRUE(eventually([&] { return lost.stop_requested(); }));
    leading.release();
  }};
  auto asking = connect();
  EXPECT_EQ(ask_to_hand_over(asking, "e", id, 1min), hand_over_result::handed_over);
  ASSERT_TRUE(eventually([&] { return third.done(); }));
  EXPECT_FALSE(second.done());
  EXPECT_EQ(value_of(first_), "c");
  EXPECT_EQ(ask_to_hand_over(asking, "e", id), hand_over_result::handed_over) << "it leads already";
}

TEST_F(electing, is_handed_over_later_if_the_leader_does_not_resign_in_time) {
  auto leading = first_.campaign("a");
  pending second;
  pending third;
  ASSERT_TRUE(both_campaign(second, third));
  EXPECT_EQ(ask_to_hand_over(first_client_, "e", id_of(third_client_), 1ms), hand_over_result::unanswered);
  EXPECT_FALSE(second.done() || third.done());
  leading.release();
  ASSERT_TRUE(eventually([&] { return third.done(); }));
  EXPECT_FALSE(second.done());
}

TEST_F(electing, is_handed_over_to_nobody_who_does_not_wait) {
  std::string const stranger = "11111111-1111-4111-8111-111111111111:7";
  EXPECT_EQ(ask_to_hand_over(second_client_, "e", stranger), hand_over_result::no_leader);
  auto const leading = first_.campaign("a");
  EXPECT_EQ(ask_to_hand_over(second_client_, "e", stranger), hand_over_result::not_waiting);
  EXPECT_TRUE(leading.valid());
  EXPECT_EQ(code_of([&] { (void)ask_to_hand_over(second_client_, "e", "web-2"); }),
            std::errc::invalid_argument);
  EXPECT_EQ(code_of([&] { (void)ask_to_hand_over(second_client_, "", stranger); }),
            std::errc::invalid_argument);
  raw_.command({"SET", "number", "holdfast_latch 1 1 0"});
  EXPECT_EQ(code_of([&] { (void)ask_to_hand_over(second_client_, "number", stranger); }), errc::wrong_type);
}

}  // namespace
}  // namespace holdfast::test
