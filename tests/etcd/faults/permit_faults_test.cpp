// What becomes of permits and latches in moments that no test can hold real members in.

#include "store.hpp"
#include "support/eventually.hpp"
#include "support/failure_of.hpp"

#include <gmock/gmock.h>

#include <holdfast/client.hpp>
#include <holdfast/expiring_semaphore.hpp>
#include <holdfast/latch.hpp>
#include <holdfast/mutex.hpp>

#include <atomic>
#include <chrono>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace holdfast::test {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

class etcd_permit_faults : public testing::Test {
 protected:
  etcd_permit_faults() { the_store().set_terms(1, 1); }

  client etcd_{"etcd://memory", {.patience = wait_limit}};
  client other_{"etcd://memory", {.patience = wait_limit}};
};

/// Permits that nobody holds would be missing for as long as the client lives.
TEST_F(etcd_permit_faults, a_request_that_is_carried_out_behind_the_release_keeps_no_permits) {
  mutex lasting{etcd_, "permits_lasting", {.ttl = 3s}};
  auto const keeps_the_lease = lasting.acquire();
  expiring_semaphore slots{etcd_, "permits_late", 2, {.ttl = 3s}};
  the_store().hold_back_next_put();
  auto held = slots.acquire(2);
  ASSERT_TRUE(the_store().holds_back());
  EXPECT_EQ(held.release(), release_result::released);
  the_store().carry_out();
  ASSERT_THAT(the_store().keys("permits_late/"), SizeIs(1));
  expiring_semaphore elsewhere{other_, "permits_late", 2, {.ttl = 3s}};
  EXPECT_TRUE(elsewhere.try_acquire_for(wait_limit, 2));
  EXPECT_TRUE(keeps_the_lease.valid());
}

/// A copy of the request, too, finds that the place is there.
TEST_F(etcd_permit_faults, a_request_without_an_answer_takes_its_permits_once) {
  expiring_semaphore slots{etcd_, "permits_once", 3, {.ttl = 3s}};
  the_store().hold_back_next_put();
  auto const held = slots.acquire(2);
  the_store().carry_out();
  EXPECT_THAT(the_store().keys("permits_once/permit-"), SizeIs(1));
  EXPECT_EQ(slots.acquired(), 2);
}

/// Nobody may have permits by the number that counted when the request was made.
TEST_F(etcd_permit_faults, a_late_request_counts_with_the_number_of_that_moment) {
  expiring_semaphore slots{etcd_, "permits_number", 0, {.ttl = 3s}};
  expiring_semaphore elsewhere{other_, "permits_number", 0, {.ttl = 3s}};
  slots.set_permits(3);
  (void)elsewhere.acquire();  // it knows the number by now
  the_store().hold_back_next_put();
  std::optional<lease> three;
  std::jthread waiter{[&] { three = elsewhere.try_acquire_for(1s, 3); }};
  ASSERT_TRUE(eventually([] { return the_store().holds_back(); }));
  slots.set_permits(2);
  the_store().carry_out();
  waiter.join();
  EXPECT_FALSE(three);
  EXPECT_THAT(the_store().keys("permits_number/permit-"), IsEmpty());
  EXPECT_TRUE(slots.try_acquire(2));
}

/// The number that somebody else has set meanwhile stays.
TEST_F(etcd_permit_faults, a_late_request_changes_no_number) {
  expiring_semaphore slots{etcd_, "permits_set", 0, {.ttl = 3s}};
  expiring_semaphore elsewhere{other_, "permits_set", 0, {.ttl = 3s}};
  elsewhere.set_permits(4);
  the_store().hold_back_next_put();
  slots.set_permits(5);
  ASSERT_TRUE(the_store().holds_back());
  elsewhere.set_permits(4);
  the_store().carry_out();
  EXPECT_EQ(slots.permits(), 4);
}

/// Nobody is told of anything here, and asks again when its watch has ended; long before the re-check.
TEST_F(etcd_permit_faults, watches_that_end_leave_no_waiter_behind) {
  client seldom{"etcd://memory", {.patience = wait_limit, .recheck = 30s}};
  expiring_semaphore slots{etcd_, "permits_watch", 1, {.ttl = 3s}};
  expiring_semaphore elsewhere{seldom, "permits_watch", 1, {.ttl = 3s}};
  auto held = slots.acquire();
  std::atomic<bool> entered = false;
  std::jthread const waiter{[&] { entered = elsewhere.try_acquire_for(50s).has_value(); }};
  ASSERT_TRUE(eventually([] { return the_store().keys("permits_watch/").size() == 2; }));
  EXPECT_EQ(held.release(), release_result::released);
  EXPECT_TRUE(eventually(20s, [&] {
    the_store().end_watches();
    return entered.load();
  }));
}

TEST_F(etcd_permit_faults, watches_that_end_leave_nobody_before_a_latch) {
  client seldom{"etcd://memory", {.patience = wait_limit, .recheck = 30s}};
  latch opens{etcd_, "latch_watch"};
  latch elsewhere{seldom, "latch_watch"};
  ASSERT_TRUE(opens.try_set_count(1));
  std::atomic<bool> through = false;
  std::jthread const waiter{[&] { through = elsewhere.wait_for(50s); }};
  ASSERT_TRUE(eventually([&] { return seldom.stats().waits == 1; }));
  opens.count_down();
  EXPECT_TRUE(eventually(20s, [&] {
    the_store().end_watches();
    return through.load();
  }));
}

TEST_F(etcd_permit_faults, a_late_count_does_not_count_for_the_next_latch) {
  latch opens{etcd_, "latch_late"};
  ASSERT_TRUE(opens.try_set_count(2));
  the_store().hold_back_next_put();
  EXPECT_TRUE(opens.count_down("one"));
  ASSERT_TRUE(the_store().holds_back());
  EXPECT_EQ(opens.count(), 1);
  EXPECT_TRUE(opens.open());
  ASSERT_TRUE(opens.try_set_count(2));
  the_store().carry_out();
  EXPECT_EQ(opens.count(), 2);
  EXPECT_TRUE(opens.open());
  EXPECT_THAT(the_store().keys("latch_late/"), IsEmpty());
}

/// FOUND 457. Whoever waits for it would wait for ever.
TEST_F(etcd_permit_faults, a_late_copy_of_a_request_that_set_a_latch_does_not_close_it_again) {
  latch opens{etcd_, "latch_anew"};
  the_store().hold_back_next_put();
  ASSERT_TRUE(opens.try_set_count(1));
  ASSERT_TRUE(the_store().holds_back());
  opens.count_down();
  the_store().carry_out();
  EXPECT_EQ(opens.count(), 0);
  EXPECT_THAT(the_store().keys("latch_anew/"), IsEmpty());
}

/// The copy that is sent again comes when all have counted already.
TEST_F(etcd_permit_faults, a_latch_that_was_set_and_opened_before_the_answer_came_was_set) {
  latch opens{etcd_, "latch_both"};
  the_store().next_put(store::fate::lost, etcd::remove{.key = "latch_both/latch"});
  EXPECT_TRUE(opens.try_set_count(1));
  EXPECT_EQ(opens.count(), 0);
  EXPECT_TRUE(opens.try_set_count(2));
  EXPECT_EQ(opens.count(), 2);
  EXPECT_TRUE(opens.open());
  EXPECT_THAT(the_store().keys("latch_both/"), IsEmpty());
}

/// FOUND 463.
TEST_F(etcd_permit_faults, the_last_count_that_is_sent_again_leaves_no_keys) {
  latch opens{etcd_, "latch_last"};
  ASSERT_TRUE(opens.try_set_count(1));
  the_store().next_put(store::fate::lost);
  opens.count_down();
  EXPECT_THAT(the_store().keys("latch_last/"), IsEmpty());
}

/// FOUND 463.
TEST_F(etcd_permit_faults, a_count_that_came_behind_the_time_of_the_latch_is_none) {
  latch opens{etcd_, "latch_time", {.expires_after = 90s}};
  ASSERT_TRUE(opens.try_set_count(2));
  the_store().next_put(store::fate::held_back, etcd::remove{.key = "latch_time/latch-time"});
  EXPECT_EQ(code_of([&] { opens.count_down(); }), errc::expired);
}

/// FOUND 474.
TEST_F(etcd_permit_faults, a_count_that_nobody_knows_of_is_no_success) {
  latch opens{etcd_, "latch_unknown"};
  ASSERT_TRUE(opens.try_set_count(2));
  etcd::put const anew{.key = "latch_unknown/latch", .value = "holdfast latch 3 another:r1"};
  the_store().next_put(store::fate::held_back, anew);
  EXPECT_EQ(code_of([&] { opens.count_down(); }), errc::unreachable);
  EXPECT_EQ(opens.count(), 3);
}

/// FOUND 459.
TEST_F(etcd_permit_faults, permits_are_not_added_twice) {
  expiring_semaphore slots{etcd_, "permits_added", 0, {.ttl = 3s}};
  slots.set_permits(4);
  etcd::put const by_another{.key = "permits_added/size", .value = "holdfast size 7 another:r1"};
  the_store().next_put(store::fate::lost, by_another);
  EXPECT_EQ(code_of([&] { slots.add_permits(2); }), errc::unreachable);
  EXPECT_EQ(slots.permits(), 7);
}

/// FOUND 460.
TEST_F(etcd_permit_faults, a_try_among_many_gets_one_of_the_free_permits) {
  expiring_semaphore slots{etcd_, "permits_many", 20, {.ttl = 3s}};
  std::vector<std::string> others;
  for (int i = 0; i != 7; ++i) others.push_back("permits_many/permit-20-1-1-" + std::to_string(i));
  the_store().put_behind_reads(others);
  EXPECT_TRUE(slots.try_acquire());
  the_store().put_behind_reads({});
}

/// FOUND 462.
TEST_F(etcd_permit_faults, a_try_leaves_its_place_if_the_number_was_lowered_meanwhile) {
  expiring_semaphore slots{etcd_, "permits_less", 0, {.ttl = 3s}};
  slots.set_permits(3);
  auto const two = slots.acquire(2);
  etcd::put const less{.key = "permits_less/size", .value = "holdfast size 2 another:r1"};
  the_store().next_put(store::fate::lost, less);
  EXPECT_FALSE(slots.try_acquire());
  EXPECT_THAT(the_store().keys("permits_less/permit-"), SizeIs(1));
}

/// FOUND 461.
TEST_F(etcd_permit_faults, a_place_that_is_wanted_again_is_not_swept_away) {
  expiring_semaphore slots{etcd_, "permits_again", 0, {.ttl = 3s}};
  slots.set_permits(3);
  (void)slots.acquire();  // it knows the number by now
  auto const set = [](std::string const& text) {
    return etcd::put{.key = "permits_again/size", .value = "holdfast size " + text};
  };
  the_store().next_put(store::fate::held_back, set("2 another:r1"));
  the_store().next_put(store::fate::answered);  // the copy
  the_store().next_put(store::fate::held_back, set("3 another:r2"));
  auto const held = slots.acquire();
  auto const until = [&] { return std::chrono::steady_clock::now() + held.remaining(); };
  auto const first = until();
  EXPECT_TRUE(eventually([&] { return until() > first + 1s; }));  // two keep-alives, with what goes along
  EXPECT_EQ(held.lost_because(), loss_cause::none);
  EXPECT_THAT(the_store().keys("permits_again/permit-3-"), SizeIs(1));
}

/// FOUND 473. What sweeps away the place that was left behind is itself late.
TEST_F(etcd_permit_faults, a_late_sweep_takes_no_place_away_that_is_wanted_again) {
  mutex lasting{etcd_, "lasting_swept", {.ttl = 3s}};
  auto const keeps_the_lease = lasting.acquire();
  expiring_semaphore slots{etcd_, "permits_swept", 0, {.ttl = 3s}};
  slots.set_permits(3);
  (void)slots.acquire();  // it knows the number by now
  auto const set = [](std::string const& text) {
    return etcd::put{.key = "permits_swept/size", .value = "holdfast size " + text};
  };
  the_store().next_put(store::fate::held_back, set("2 another:r1"));
  the_store().next_put(store::fate::answered);  // the copy
  the_store().next_put(store::fate::held_back, set("3 another:r2"));
  auto held = slots.acquire();
  the_store().next_removal(store::fate::held_back);
  ASSERT_TRUE(eventually([] { return the_store().are_decided(); }));
  the_store().carry_out();
  EXPECT_THAT(the_store().keys("permits_swept/permit-3-"), SizeIs(1));
  EXPECT_EQ(held.release(), release_result::released);
}

/// FOUND 476.
TEST_F(etcd_permit_faults, a_latch_whose_time_was_over_before_it_was_put_is_set_anew) {
  latch opens{etcd_, "latch_short", {.expires_after = 90s}};
  for (int i = 0; i != 2; ++i) the_store().next_put(store::fate::no_lease);
  EXPECT_TRUE(opens.try_set_count(2));
  EXPECT_EQ(opens.count(), 2);
  latch never{etcd_, "latch_never", {.expires_after = 90s}};
  for (int i = 0; i != 3; ++i) the_store().next_put(store::fate::no_lease);
  EXPECT_EQ(code_of([&] { (void)never.try_set_count(2); }), errc::refused);
}

}  // namespace
}  // namespace holdfast::test
