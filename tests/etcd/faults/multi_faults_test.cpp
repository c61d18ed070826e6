// What becomes of locks over several names in moments that no test can hold real members in.

#include "multi_faults.hpp"
#include "store.hpp"
#include "support/eventually.hpp"

#include <gmock/gmock.h>

#include <holdfast/client.hpp>
#include <holdfast/multi_mutex.hpp>
#include <holdfast/mutex.hpp>

#include <string>
#include <thread>

#include "etcd/stepping_aside.hpp"

namespace holdfast::test {
namespace {

using etcd::stepping_aside;

TEST(stepping_aside, changes_each_time_that_the_wait_has_doubled) {
  EXPECT_FALSE(stepping_aside{0s}.aside);
  EXPECT_FALSE(stepping_aside{999ms}.aside);
  EXPECT_TRUE(stepping_aside{1s}.aside);
  EXPECT_TRUE(stepping_aside{1999ms}.aside);
  EXPECT_FALSE(stepping_aside{2s}.aside);
  EXPECT_FALSE(stepping_aside{3999ms}.aside);
  EXPECT_TRUE(stepping_aside{4s}.aside);
  EXPECT_FALSE(stepping_aside{10s}.aside);
  EXPECT_EQ(stepping_aside{0s}.left, 1s);
  EXPECT_EQ(stepping_aside{1s}.left, 1s);
  EXPECT_EQ(stepping_aside{2500ms}.left, 1500ms);
  EXPECT_EQ(stepping_aside{5s}.left, 3s);
}

TEST_F(etcd_multi_faults, a_request_that_is_carried_out_behind_the_release_leaves_no_key) {
  mutex lasting{etcd_, "multi_lasting", {.ttl = 3s}};
  auto const keeps_the_lease = lasting.acquire();
  multi_mutex both{etcd_, {"late_a", "late_b"}, {.ttl = 3s}};
  the_store().hold_back_next_put();
  auto held = both.acquire();
  ASSERT_TRUE(the_store().holds_back());
  EXPECT_EQ(held.release(), release_result::released);
  the_store().carry_out();
  ASSERT_EQ(places("late_a"), 1);
  ASSERT_EQ(places("late_b"), 1);
  EXPECT_TRUE(eventually([] { return places("late_a") + places("late_b") == 0; }));
  EXPECT_TRUE(keeps_the_lease.valid());
  EXPECT_TRUE(both.try_acquire());
}

TEST_F(etcd_multi_faults, a_try_that_is_carried_out_behind_a_busy_answer_leaves_no_key) {
  mutex lasting{etcd_, "multi_lasting_try", {.ttl = 3s}};
  auto const keeps_the_lease = lasting.acquire();
  multi_mutex both{etcd_, {"try_a", "try_b"}, {.ttl = 3s}};
  the_store().hold_back_next_put("try_b/1");
  EXPECT_FALSE(both.try_acquire());
  ASSERT_TRUE(the_store().holds_back());
  EXPECT_EQ(places("try_a"), 0);
  the_store().remove("try_b/1");
  the_store().carry_out();
  ASSERT_EQ(places("try_a"), 1);
  EXPECT_TRUE(eventually([] { return places("try_a") + places("try_b") == 0; }));
  EXPECT_TRUE(keeps_the_lease.valid());
  EXPECT_TRUE(both.try_acquire());
}

TEST_F(etcd_multi_faults, a_request_without_an_answer_takes_the_names_once) {
  multi_mutex both{etcd_, {"once_a", "once_b"}, {.ttl = 3s}};
  for (auto const tries : {false, true}) {
    the_store().next_put(store::fate::lost);
    auto held = tries ? both.try_acquire() : both.acquire();
    ASSERT_TRUE(the_store().are_decided());
    ASSERT_TRUE(held);
    EXPECT_EQ(places("once_a"), 1);
    EXPECT_EQ(places("once_b"), 1);
    EXPECT_EQ(held->token("once_a"), held->token("once_b"));
    held->renew();
    EXPECT_EQ(held->release(), release_result::released);
    EXPECT_EQ(places("once_a") + places("once_b"), 0);
  }
}

TEST_F(etcd_multi_faults, a_release_without_an_answer_has_released) {
  multi_mutex both{etcd_, {"freed_a", "freed_b"}, {.ttl = 3s}};
  auto held = both.acquire();
  the_store().next_removal(store::fate::lost);
  EXPECT_EQ(held.release(), release_result::released);
  ASSERT_TRUE(the_store().are_decided());
  EXPECT_EQ(places("freed_a") + places("freed_b"), 0);
}

TEST_F(etcd_multi_faults, a_late_release_takes_nothing_from_the_next_owner) {
  multi_mutex both{etcd_, {"next_a", "next_b"}, {.ttl = 3s}};
  auto held = both.acquire();
  the_store().next_removal(store::fate::held_back);
  EXPECT_EQ(held.release(), release_result::released);
  ASSERT_TRUE(the_store().holds_back());
  auto next = both.acquire();
  the_store().carry_out();
  next.renew();
  EXPECT_TRUE(next.valid());
  EXPECT_EQ(places("next_a"), 1);
  EXPECT_EQ(places("next_b"), 1);
  EXPECT_EQ(next.release(), release_result::released);
}

TEST_F(etcd_multi_faults, the_names_that_are_left_go_back_when_one_is_gone) {
  for (auto const answered : {true, false}) {
    multi_mutex both{etcd_, {"left_a", "left_b", "left_c"}, {.ttl = 3s}};
    auto held = both.acquire();
    the_store().remove(the_store().keys("left_b/").at(0));
    if (!answered) the_store().next_removal(store::fate::lost);
    EXPECT_EQ(held.release(), release_result::lost);
    EXPECT_EQ(places("left_a") + places("left_c"), 0);
  }
}

/// It hears of that when it looks for its turn.
TEST_F(etcd_multi_faults, a_waiter_whose_key_was_deleted_queues_up_again) {
  auto busy = mutex(other_, "again_a").acquire();
  waiter both{etcd_, "again"};
  ASSERT_TRUE(eventually([] { return places("again_b") == 1; }));
  for (auto const& each : the_store().keys("again_b/")) the_store().remove(each);
  ASSERT_TRUE(eventually([] { return places("again_b") == 1; }));
  EXPECT_FALSE(both.entered());
  EXPECT_EQ(busy.release(), release_result::released);
  EXPECT_TRUE(eventually([&] { return both.entered(); }));
  EXPECT_EQ(places("again_a"), 1);
  EXPECT_EQ(places("again_b"), 1);
  both.go();
  EXPECT_EQ(places("again_a") + places("again_b"), 0);
}

TEST_F(etcd_multi_faults, a_waiter_steps_aside_though_the_answer_to_that_is_lost) {
  auto busy = mutex(other_, "aside_a").acquire();
  the_store().next_removal(store::fate::lost);
  waiter both{etcd_, "aside"};
  ASSERT_TRUE(eventually([] { return the_store().are_decided(); }));
  EXPECT_TRUE(eventually([] { return places("aside_b") == 0; }));
  EXPECT_TRUE(mutex(other_, "aside_b").try_acquire());
  EXPECT_EQ(busy.release(), release_result::released);
  EXPECT_TRUE(eventually([&] { return both.entered(); }));
  both.go();
  EXPECT_EQ(places("aside_a") + places("aside_b"), 0);
}

TEST_F(etcd_multi_faults, a_late_step_aside_takes_no_place_away_that_was_made_since) {
  auto busy = mutex(other_, "step_a").acquire();
  the_store().next_removal(store::fate::held_back);
  waiter both{etcd_, "step"};
  ASSERT_TRUE(eventually([] { return the_store().holds_back(); }));
  ASSERT_TRUE(eventually([] { return places("step_b") == 0; }));
  ASSERT_TRUE(eventually([] { return places("step_b") == 1; }));
  the_store().carry_out();
  EXPECT_EQ(places("step_b"), 1);
  EXPECT_EQ(busy.release(), release_result::released);
  EXPECT_TRUE(eventually([&] { return both.entered(); }));
  both.go();
  EXPECT_EQ(places("step_a") + places("step_b"), 0);
}

/// Keys that it doesn't know of would hold up others, though it stands aside for them.
TEST_F(etcd_multi_faults, a_late_copy_makes_no_place_for_good_of_who_has_stepped_aside) {
  auto busy = mutex(other_, "copy_a").acquire();
  the_store().hold_back_next_put();
  waiter both{etcd_, "copy"};
  ASSERT_TRUE(eventually([] { return the_store().holds_back() && places("copy_b") == 1; }));
  ASSERT_TRUE(eventually([] { return places("copy_b") == 0; }));
  the_store().carry_out();
  ASSERT_EQ(places("copy_b"), 1);
  EXPECT_TRUE(mutex(other_, "copy_b").try_acquire_for(wait_limit));
  EXPECT_EQ(busy.release(), release_result::released);
  EXPECT_TRUE(eventually([&] { return both.entered(); }));
  both.go();
  EXPECT_TRUE(eventually([] { return places("copy_a") + places("copy_b") == 0; }));
}

TEST_F(etcd_multi_faults, leaves_no_key_of_a_waiter_that_has_stepped_aside_when_a_copy_comes_late) {
  mutex lasting{etcd_, "multi_lasting_aside", {.ttl = 3s}};
  auto const keeps_the_lease = lasting.acquire();
  auto busy = mutex(other_, "gone_a").acquire();
  the_store().hold_back_next_put();
  std::jthread leaves{[&] {
    multi_mutex both{etcd_, {"gone_a", "gone_b"}, {.ttl = 3s}};
    EXPECT_FALSE(both.try_acquire_for(1500ms));
  }};
  ASSERT_TRUE(eventually([] { return the_store().holds_back(); }));
  leaves.join();
  the_store().carry_out();
  EXPECT_TRUE(eventually([] { return places("gone_a") == 1 && places("gone_b") == 0; }));
  EXPECT_TRUE(keeps_the_lease.valid());
}

}  // namespace
}  // namespace holdfast::test
