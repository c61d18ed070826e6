#include "topology/redirect_queue.hpp"

#include <gtest/gtest.h>

#include <string>

namespace holdfast::topology {
namespace {

using namespace std::chrono_literals;

time_point time_at(std::chrono::milliseconds offset) { return time_point{} + 1h + offset; }

redirect_queue::batch batch_of(std::string name, refusal::kind reason = refusal::kind::other) {
  redirect_queue::batch result;
  auto& request = result.emplace_back().request;
  request.kept_for = reason;
  request.bytes = std::move(name);
  return result;
}

std::string names(redirect_queue::batch const& requests) {
  std::string result;
  for (auto const& entry : requests) result += entry.request.bytes;
  return result;
}

constexpr auto never = [](redirect_queue::routed_request const&) { return time_point::max(); };

TEST(redirect_queue, keeps_what_was_sent_elsewhere_ahead_of_what_came_later) {
  redirect_queue queue;
  queue.close(7);
  queue.redirect(7, batch_of("a"));
  queue.add(7, batch_of("c"));
  queue.redirect(7, batch_of("b"));
  queue.add(7, batch_of("d"));
  EXPECT_TRUE(queue.closed(7));
  EXPECT_FALSE(queue.closed(8));
  EXPECT_TRUE(queue.take(7, time_at(0ms)).empty()) << "older ones may still come back";
  queue.open(7);
  EXPECT_EQ(names(queue.take(7, time_at(0ms))), "abcd");
  EXPECT_TRUE(queue.empty());
}

TEST(redirect_queue, stays_closed_until_all_connections_have_been_heard) {
  redirect_queue queue;
  queue.close(7);
  queue.close(7);
  queue.redirect(7, batch_of("a"));
  queue.open(7);
  EXPECT_TRUE(queue.take(7, time_at(0ms)).empty());
  queue.open(7);
  EXPECT_EQ(names(queue.take(7, time_at(0ms))), "a");
}

TEST(redirect_queue, tries_again_when_the_first_of_the_slot_is_due) {
  redirect_queue queue;
  queue.hold_back(7, batch_of("a", refusal::kind::not_yet), time_at(20ms));
  queue.hold_back(7, batch_of("b", refusal::kind::not_yet), time_at(10ms));
  queue.hold_back(9, batch_of("c", refusal::kind::not_yet), time_at(30ms));
  EXPECT_FALSE(queue.closed(7)) << "later ones may overtake these";
  EXPECT_EQ(queue.next(never), time_at(10ms));
  EXPECT_TRUE(queue.due(time_at(9ms)).empty());
  EXPECT_EQ(queue.due(time_at(10ms)), std::vector<std::uint16_t>{7});
  EXPECT_EQ(names(queue.take(7, time_at(10ms))), "ab");
  EXPECT_EQ(queue.next(never), time_at(30ms));
}

TEST(redirect_queue, hurries_those_that_waited_for_a_node_when_there_is_one) {
  redirect_queue queue;
  queue.hold_back(7, batch_of("a", refusal::kind::unserved), time_at(20ms));
  queue.hold_back(8, batch_of("b", refusal::kind::unserved), time_at(20ms));
  queue.hold_back(9, batch_of("c", refusal::kind::not_yet), time_at(20ms));
  EXPECT_TRUE(queue.any_unserved());
  queue.hurry([](std::uint16_t slot) { return slot != 8; });
  EXPECT_EQ(queue.due(time_at(0ms)), std::vector<std::uint16_t>{7});
}

TEST(redirect_queue, gives_out_those_whose_time_is_up_and_keeps_the_order_of_the_rest) {
  redirect_queue queue;
  queue.close(7);
  for (auto const* const name : {"a", "B", "c", "D"}) queue.redirect(7, batch_of(name));
  auto const limit = [](redirect_queue::routed_request const& entry) {
    return entry.request.bytes < "a" ? time_at(10ms) : time_point::max();
  };
  EXPECT_EQ(queue.next(limit), time_at(10ms));
  EXPECT_TRUE(queue.take_expired(time_at(9ms), limit).empty());
  auto const expired = queue.take_expired(time_at(10ms), limit);
  EXPECT_EQ(names(expired), "BD");
  queue.open(7);
  EXPECT_EQ(names(queue.take(7, time_at(10ms))), "ac");
}

}  // namespace
}  // namespace holdfast::topology
