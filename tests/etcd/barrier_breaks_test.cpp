// Barriers of Holdfast on etcd whose generations break.

#include "barriers_fixture.hpp"
#include "holder.hpp"
#include "support/failure_of.hpp"

#include <gmock/gmock.h>

#include <holdfast/barrier.hpp>
#include <holdfast/client.hpp>
#include <holdfast/inspect.hpp>

#include <unistd.h>

#include <chrono>
#include <optional>
#include <string>
#include <thread>

namespace holdfast::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

TEST_F(etcd_barrier, is_broken_for_all_when_one_is_cancelled_and_begins_again) {
  barrier here{first_, "cancelled", 3};
  client labelled{three_etcds().url(prefix_), {.label = "nightly import", .patience = wait_limit}};
  barrier there{labelled, "cancelled", 3};
  std::stop_source stop;
  auto first = arrive(here);
  auto leaving = arrive(there, stop.get_token());
  ASSERT_TRUE(have_arrived("cancelled", 2));
  auto const generation = inspect(first_, "cancelled").generation.value_or(0);
  stop.request_stop();
  EXPECT_EQ(leaving.get().failed.code, errc::cancelled);
  auto const told = first.get().failed;
  EXPECT_EQ(told.code, errc::broken);
  EXPECT_THAT(told.message,
              AllOf(HasSubstr("generation " + std::to_string(generation)),
                    HasSubstr("the barrier \"cancelled\" is broken"),
                    HasSubstr("pid " + std::to_string(getpid()) + " 'nightly import' has left")));
  EXPECT_TRUE(have_arrived("cancelled", 0));
  auto again = arrive(here);
  auto others = arrive(there);
  ASSERT_TRUE(have_arrived("cancelled", 2));
  EXPECT_EQ(here.arrive_and_wait(), generation + 1);
  EXPECT_EQ(again.get().generation, generation + 1);
  EXPECT_EQ(others.get().generation, generation + 1);
}

TEST_F(etcd_barrier, is_broken_for_all_when_the_time_of_one_is_up) {
  barrier here{first_, "time", 3};
  barrier there{second_, "time", 3};
  auto first = arrive(here);
  ASSERT_TRUE(have_arrived("time", 1));
  EXPECT_EQ(there.try_arrive_and_wait_for(200ms), std::nullopt);
  auto const told = first.get().failed;
  EXPECT_EQ(told.code, errc::broken);
  EXPECT_THAT(told.message, HasSubstr("has waited for as long as it wanted to"));
  EXPECT_TRUE(have_arrived("time", 0));
}

/// The last one arrives at the moment at which the time of the other is up.
TEST_F(etcd_barrier, opens_for_both_or_for_neither_when_a_time_is_up) {
  constexpr auto time = 40ms;
  barrier waits{first_, "both", 2};
  barrier comes_last{second_, "both", 2};
  (void)comes_last.try_arrive_and_wait_for(0s);
  (void)waits.try_arrive_and_wait_for(0s);
  int opened = 0;
  for (int i = 0; i != 60; ++i) {
    auto const start = std::chrono::steady_clock::now();
    auto first = std::async(std::launch::async, [&] { return waits.try_arrive_and_wait_for(time); });
    std::this_thread::sleep_until(start + time - 15ms + i * 300us);
    auto const second = comes_last.try_arrive_and_wait_for(0s);
    auto const both = first.get();
    ASSERT_EQ(both, second) << i;
    opened += both ? 1 : 0;
  }
  RecordProperty("opened", opened);
  EXPECT_TRUE(have_arrived("both", 0));
}

TEST_F(etcd_barrier, breaks_nothing_for_one_that_does_not_want_to_wait) {
  barrier here{first_, "tries", 2};
  barrier there{second_, "tries", 2};
  EXPECT_EQ(there.try_arrive_and_wait_for(0s), std::nullopt);
  EXPECT_THAT(three_etcds().keys("barriers/tries/"), IsEmpty());
  auto first = arrive(here);
  ASSERT_TRUE(have_arrived("tries", 1));
  barrier three{second_, "tries", 3};
  EXPECT_EQ(code_of([&] { (void)three.try_arrive_and_wait_for(0s); }), errc::wrong_type);
  auto const generation = there.try_arrive_and_wait_for(0s);
  ASSERT_TRUE(generation);
  EXPECT_EQ(first.get().generation, *generation);
}

TEST_F(etcd_barrier, is_broken_by_a_killed_participant_whose_name_it_tells) {
  barrier here{first_, "killed", 3, {.ttl = 60s}};
  barrier there{second_, "killed", 3, {.ttl = 60s}};
  auto first = arrive(here);
  auto second = arrive(there);
  ASSERT_TRUE(have_arrived("killed", 2));
  arriver_process other{three_etcds().url(prefix_), "killed", 4, 2s};
  EXPECT_THAT(other.read_line(), AllOf(HasSubstr("in use for 3 parties"), HasSubstr("this one is for 4")));
  barrier of_four{first_, "dying", 4, {.ttl = 60s}};
  auto third = arrive(of_four);
  auto fourth = arrive(of_four);
  ASSERT_TRUE(have_arrived("dying", 2));
  arriver_process dying{three_etcds().url(prefix_), "dying", 4, 2s};
  ASSERT_TRUE(have_arrived("dying", 3));
  auto const pid = std::to_string(dying.pid());
  dying.kill9();
  for (auto* const each : {&third, &fourth}) {
    auto const told = each->get().failed;
    EXPECT_EQ(told.code, errc::broken);
    EXPECT_THAT(told.message, AllOf(HasSubstr("wasn't heard of"), HasSubstr("pid " + pid)));
  }
  EXPECT_EQ(first_.stats().rechecks, 0u);  // a watch has told it
  EXPECT_TRUE(have_arrived("dying", 0));
  EXPECT_FALSE(is_done(first) || is_done(second));
  EXPECT_EQ(here.arrive_and_wait(), first.get().generation);
  EXPECT_GT(second.get().generation, 0);
}

TEST_F(etcd_barrier, is_broken_by_a_frozen_participant_which_is_told_when_it_is_back) {
  barrier here{first_, "frozen", 3};
  auto waiting = arrive(here);
  ASSERT_TRUE(have_arrived("frozen", 1));
  arriver_process other{three_etcds().url(prefix_), "frozen", 3, 2s};
  ASSERT_TRUE(have_arrived("frozen", 2));
  other.freeze();
  EXPECT_THAT(waiting.get().failed.message, HasSubstr("wasn't heard of"));
  auto first = arrive(here);
  auto second = arrive(here);
  ASSERT_TRUE(have_arrived("frozen", 2));
  other.thaw();
  EXPECT_THAT(other.read_line(), AllOf(HasSubstr("is broken"), HasSubstr("wasn't heard of")));
  EXPECT_GT(here.arrive_and_wait(), 0);
  EXPECT_GT(first.get().generation, 0);
  EXPECT_GT(second.get().generation, 0);
}

TEST_F(etcd_barrier, is_broken_when_the_client_of_one_ends) {
  barrier here{first_, "ends", 3};
  auto first = arrive(here);
  client third = another();
  barrier theirs{third, "ends", 3};
  auto leaving = arrive(theirs);
  ASSERT_TRUE(have_arrived("ends", 2));
  EXPECT_TRUE(third.shutdown(wait_limit));
  EXPECT_EQ(leaving.get().failed.code, errc::closed);
  EXPECT_EQ(first.get().failed.code, errc::broken);
}

}  // namespace
}  // namespace holdfast::test
