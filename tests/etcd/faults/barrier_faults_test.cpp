// Requests of barriers that are lost, sent twice, or carried out late.

#include "etcd/arrivals.hpp"
#include "store.hpp"
#include "support/eventually.hpp"
#include "support/failure_of.hpp"

#include <gmock/gmock.h>

#include <holdfast/barrier.hpp>
#include <holdfast/client.hpp>
#include <holdfast/inspect.hpp>

#include <chrono>
#include <cstdint>
#include <future>
#include <string>
#include <vector>

namespace holdfast::test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using fate = store::fate;

constexpr auto url = "etcd://memory";

/// Nobody is told of changes there: whoever waits looks again soon.
class etcd_barrier_faults : public testing::Test {
 protected:
  etcd_barrier_faults() {
    the_store().set_terms(1, 1);
    auto first = arrive(here_);
    (void)there_.arrive_and_wait();  // the barrier is made
    last_ = first.get().generation;
  }

  [[nodiscard]] std::vector<std::string> slots() const {
    return the_store().keys(name_ + "/barrier-arrived-");
  }
  [[nodiscard]] std::vector<std::string> here() const { return the_store().keys(name_ + "/barrier-here-"); }
  [[nodiscard]] bool have_arrived(std::size_t count) const {
    return eventually([&] { return slots().size() == count && here().size() == count; });
  }
  /// Two go on together, in the generation behind the last one, and leave nothing.
  void expect_that_it_goes_on(std::int64_t generation) {
    auto first = arrive(here_);
    EXPECT_TRUE(have_arrived(1)) << "what came late counts for nothing";
    EXPECT_EQ(there_.arrive_and_wait(), generation);
    EXPECT_EQ(first.get().generation, generation);
    EXPECT_TRUE(have_arrived(0));
  }

  static std::string new_name() {
    static int number = 0;
    return "barrier_" + std::to_string(++number);
  }

  std::string const name_ = new_name();
  client_options const options_{.patience = wait_limit, .recheck = 30ms};
  client one_{url, options_};
  client other_{url, options_};
  barrier here_{one_, name_, 2};
  barrier there_{other_, name_, 2};
  std::int64_t last_ = 0;
};

TEST_F(etcd_barrier_faults, an_arrival_whose_answer_is_lost_counts_once) {
  the_store().next_put(fate::lost);
  auto first = arrive(here_);
  ASSERT_TRUE(have_arrived(1));
  EXPECT_EQ(there_.arrive_and_wait(), last_ + 1);
  EXPECT_EQ(first.get().generation, last_ + 1);
  EXPECT_TRUE(have_arrived(0));
}

TEST_F(etcd_barrier_faults, an_arrival_whose_answer_is_lost_knows_of_its_generation_when_others_have_ended) {
  // The other one opens the generation, and two more begin and end, before the answer comes.
  the_store().next_put(fate::lost);
  auto first = arrive(here_);
  barrier ahead{other_, name_, 2};
  EXPECT_EQ(ahead.arrive_and_wait(), last_ + 1);
  auto second = arrive(there_);
  EXPECT_EQ(ahead.arrive_and_wait(), last_ + 2);
  EXPECT_EQ(second.get().generation, last_ + 2);
  EXPECT_EQ(first.get().generation, last_ + 1);
  EXPECT_TRUE(have_arrived(0));
}

TEST_F(etcd_barrier_faults, the_last_arrival_opens_once_though_its_answer_is_lost) {
  auto first = arrive(here_);
  ASSERT_TRUE(have_arrived(1));
  the_store().next_put(fate::lost);
  auto last = arrive(there_);
  EXPECT_EQ(first.get().generation, last_ + 1);
  EXPECT_EQ(last.get().generation, last_ + 1);
  EXPECT_TRUE(have_arrived(0));
  expect_that_it_goes_on(last_ + 2);
}

TEST_F(etcd_barrier_faults, a_late_copy_of_an_arrival_counts_for_no_later_generation) {
  the_store().next_put(fate::held_back);
  auto first = arrive(here_);
  ASSERT_TRUE(have_arrived(1));
  ASSERT_TRUE(the_store().holds_back());
  EXPECT_EQ(there_.arrive_and_wait(), last_ + 1);
  EXPECT_EQ(first.get().generation, last_ + 1);
  ASSERT_TRUE(have_arrived(0));
  the_store().carry_out();
  EXPECT_THAT(slots(), IsEmpty());
  EXPECT_THAT(here(), IsEmpty());
  expect_that_it_goes_on(last_ + 2);
}

TEST_F(etcd_barrier_faults, a_late_copy_of_the_last_arrival_opens_nothing) {
  auto first = arrive(here_);
  ASSERT_TRUE(have_arrived(1));
  the_store().next_put(fate::held_back);
  EXPECT_EQ(there_.arrive_and_wait(), last_ + 1);
  EXPECT_EQ(first.get().generation, last_ + 1);
  auto waiting = arrive(here_);
  ASSERT_TRUE(have_arrived(1));
  the_store().carry_out();
  EXPECT_THAT(slots(), SizeIs(1));
  EXPECT_EQ(there_.arrive_and_wait(), last_ + 2);
  EXPECT_EQ(waiting.get().generation, last_ + 2);
}

TEST_F(etcd_barrier_faults, a_late_copy_of_an_arrival_that_was_given_up_counts_for_nothing) {
  std::stop_source stop;
  the_store().next_put(fate::held_back);
  auto leaving = arrive(here_, stop.get_token());
  ASSERT_TRUE(eventually([] { return the_store().holds_back(); }));
  stop.request_stop();
  EXPECT_EQ(leaving.get().failed.code, errc::cancelled);
  // A second copy has arrived meanwhile, and its generation is broken.
  ASSERT_TRUE(eventually([&] { return inspect(other_, name_).generation == last_ + 2; }));
  the_store().carry_out();
  EXPECT_THAT(slots(), IsEmpty());
  expect_that_it_goes_on(last_ + 2);
}

/// Nothing is known of it when it fails.
TEST_F(etcd_barrier_faults, an_arrival_without_an_answer_breaks_its_generation_and_counts_for_no_other) {
  client impatient{url, {.connect_timeout = 200ms, .reply_timeout = 200ms, .recheck = 30ms}};
  barrier fails{impatient, name_, 3};
  barrier waits{other_, name_, 3};
  auto waiting = arrive(waits);
  ASSERT_TRUE(have_arrived(1));
  for (int i = 0; i != 12; ++i) the_store().next_put(fate::held_back);
  EXPECT_EQ(code_of([&] { (void)fails.arrive_and_wait(); }), errc::unreachable);
  auto const told = waiting.get().failed;
  EXPECT_EQ(told.code, errc::broken);
  EXPECT_THAT(told.message, HasSubstr("has left"));
  ASSERT_TRUE(the_store().holds_back());
  the_store().carry_out();
  EXPECT_TRUE(have_arrived(0));
}

TEST_F(etcd_barrier_faults, a_time_that_is_up_before_there_is_an_answer_breaks_the_generation) {
  barrier first{one_, name_, 3};
  barrier second{other_, name_, 3};
  auto waiting = arrive(second);
  ASSERT_TRUE(have_arrived(1));
  the_store().next_put(fate::held_back);
  EXPECT_EQ(first.try_arrive_and_wait_for(5ms), std::nullopt);
  EXPECT_THAT(waiting.get().failed.message, HasSubstr("has waited for as long as it wanted to"));
  the_store().carry_out();
  EXPECT_TRUE(have_arrived(0));
}

TEST_F(etcd_barrier_faults, a_request_that_leaves_breaks_once_though_its_answer_is_lost) {
  std::stop_source stop;
  barrier first{one_, name_, 3};
  barrier second{other_, name_, 3};
  auto waiting = arrive(second);
  ASSERT_TRUE(have_arrived(1));
  auto leaving = arrive(first, stop.get_token());
  ASSERT_TRUE(have_arrived(2));
  the_store().next_put(fate::lost);
  stop.request_stop();
  EXPECT_EQ(leaving.get().failed.code, errc::cancelled);
  EXPECT_THAT(waiting.get().failed.message, HasSubstr("has left"));
  ASSERT_TRUE(have_arrived(0));
  auto again = arrive(second);
  auto others = arrive(first);
  ASSERT_TRUE(have_arrived(2));
  // The number of parties has changed, and one generation was broken.
  EXPECT_EQ(first.arrive_and_wait(), last_ + 3);
  EXPECT_EQ(again.get().generation, last_ + 3);
  EXPECT_EQ(others.get().generation, last_ + 3);
}

TEST_F(etcd_barrier_faults, the_opening_is_recorded_once_by_whoever_sees_that_all_have_arrived) {
  auto first = arrive(here_);
  ASSERT_TRUE(have_arrived(1));
  // The other one arrives, and dies before it has said so.
  auto const slot = slots().front().back() == '1' ? "2" : "1";
  auto const prefix = here().front().substr(0, here().front().size() - 1);
  the_store().put_behind_reads({name_ + "/barrier-arrived-" + slot, prefix + slot});
  EXPECT_EQ(first.get().generation, last_ + 1);
  EXPECT_TRUE(eventually([&] { return here() == std::vector{prefix + slot}; }));
  the_store().remove(prefix + slot);
  expect_that_it_goes_on(last_ + 2);
}

TEST_F(etcd_barrier_faults, one_that_has_died_breaks_the_generation_also_for_who_comes_later) {
  barrier first{one_, name_, 3};
  barrier second{other_, name_, 3};
  auto waiting = arrive(first);
  ASSERT_TRUE(have_arrived(1));
  auto dying = arrive(second);
  ASSERT_TRUE(have_arrived(2));
  auto const lease = the_store().lease_of(here().back());
  auto const other_lease = the_store().lease_of(here().front());
  ASSERT_NE(lease, other_lease);
  the_store().revoke(lease);
  EXPECT_THAT(waiting.get().failed.message, HasSubstr("wasn't heard of"));
  EXPECT_THAT(dying.get().failed.message, HasSubstr("wasn't heard of"));
  EXPECT_TRUE(have_arrived(0));
}

TEST_F(etcd_barrier_faults, an_arrival_is_made_anew_under_another_lease_when_its_own_has_ended) {
  auto first = arrive(here_);
  ASSERT_TRUE(have_arrived(1));
  auto const lease = the_store().lease_of(here().front());
  EXPECT_EQ(there_.arrive_and_wait(), last_ + 1);
  EXPECT_EQ(first.get().generation, last_ + 1);
  ASSERT_TRUE(have_arrived(0));
  the_store().revoke(lease);
  expect_that_it_goes_on(last_ + 2);
}

TEST_F(etcd_barrier_faults, a_barrier_whose_lease_has_ended_is_lost_and_begins_anew) {
  auto first = arrive(here_);
  ASSERT_TRUE(have_arrived(1));
  the_store().revoke(the_store().lease_of(name_ + "/barrier"));
  EXPECT_THAT(first.get().failed.message, HasSubstr("the server has lost who had arrived"));
  auto next = arrive(here_);
  ASSERT_TRUE(have_arrived(1));
  auto const generation = there_.arrive_and_wait();
  EXPECT_GT(generation, last_);
  EXPECT_EQ(next.get().generation, generation);
}

}  // namespace
}  // namespace holdfast::test
