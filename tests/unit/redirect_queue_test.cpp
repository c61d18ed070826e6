#include "topology/redirect_queue.hpp"

#include <gtest/gtest.h>

#include <string>

namespace holdfast::topology {
namespace {

using namespace std::chrono_literals;

time_point at(std::chrono::milliseconds when) { return time_point{} + 1h + when; }

redirect_queue::batch parcel(std::string name, refusal::kind why = refusal::kind::other) {
  redirect_queue::batch result;
  auto& one = result.emplace_back().request;
  one.kept_for = why;
  one.bytes = std::move(name);
  return result;
}

std::string names(redirect_queue::batch const& those) {
  std::string result;
  for (auto const& one : those) result += one.request.bytes;
  return result;
}

constexpr auto never = [](redirect_queue::routed_request const&) { return time_point::max(); };

TEST(detours, keep_what_was_sent_elsewhere_ahead_of_what_came_later) {
  redirect_queue all;
  all.close(7);
  all.redirect(7, parcel("a"));
  all.add(7, parcel("c"));
  all.redirect(7, parcel("b"));
  all.add(7, parcel("d"));
  EXPECT_TRUE(all.closed(7));
  EXPECT_FALSE(all.closed(8));
  EXPECT_TRUE(all.take(7, at(0ms)).empty()) << "older ones may still come back";
  all.open(7);
  EXPECT_EQ(names(all.take(7, at(0ms))), "abcd");
  EXPECT_TRUE(all.empty());
}

TEST(detours, stay_closed_until_all_connections_have_been_heard) {
  redirect_queue all;
  all.close(7);
  all.close(7);
  all.redirect(7, parcel("a"));
  all.open(7);
  EXPECT_TRUE(all.take(7, at(0ms)).empty());
  all.open(7);
  EXPECT_EQ(names(all.take(7, at(0ms))), "a");
}

TEST(detours, try_again_when_the_first_of_the_slot_is_due) {
  redirect_queue all;
  all.keep(7, parcel("a", refusal::kind::not_yet), at(20ms));
  all.keep(7, parcel("b", refusal::kind::not_yet), at(10ms));
  all.keep(9, parcel("c", refusal::kind::not_yet), at(30ms));
  EXPECT_FALSE(all.closed(7)) << "later ones may overtake these";
  EXPECT_EQ(all.next(never), at(10ms));
  EXPECT_TRUE(all.due(at(9ms)).empty());
  EXPECT_EQ(all.due(at(10ms)), std::vector<std::uint16_t>{7});
  EXPECT_EQ(names(all.take(7, at(10ms))), "ab");
  EXPECT_EQ(all.next(never), at(30ms));
}

TEST(detours, hurry_those_that_waited_for_a_node_when_there_is_one) {
  redirect_queue all;
  all.keep(7, parcel("a", refusal::kind::unserved), at(20ms));
  all.keep(8, parcel("b", refusal::kind::unserved), at(20ms));
  all.keep(9, parcel("c", refusal::kind::not_yet), at(20ms));
  EXPECT_TRUE(all.any_unserved());
  all.hurry([](std::uint16_t slot) { return slot != 8; });
  EXPECT_EQ(all.due(at(0ms)), std::vector<std::uint16_t>{7});
}

TEST(detours, give_out_those_whose_time_is_up_and_keep_the_order_of_the_rest) {
  redirect_queue all;
  all.close(7);
  for (auto const* const name : {"a", "B", "c", "D"}) all.redirect(7, parcel(name));
  auto const limit = [](redirect_queue::routed_request const& one) {
    return one.request.bytes < "a" ? at(10ms) : time_point::max();
  };
  EXPECT_EQ(all.next(limit), at(10ms));
  EXPECT_TRUE(all.take_expired(at(9ms), limit).empty());
  auto const gone = all.take_expired(at(10ms), limit);
  EXPECT_EQ(names(gone), "BD");
  all.open(7);
  EXPECT_EQ(names(all.take(7, at(10ms))), "ac");
}

}  // namespace
}  // namespace holdfast::topology
