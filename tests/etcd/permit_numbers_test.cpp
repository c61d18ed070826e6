// How many permits there are on three members of etcd, and who is seen to have them.

#include "permits_fixture.hpp"

#include <gmock/gmock.h>

#include <holdfast/inspect.hpp>
#include <holdfast/mutex.hpp>
#include <holdfast/semaphore.hpp>

#include <string>
#include <vector>

namespace holdfast::test {
namespace {

using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::SizeIs;

TEST_F(etcd_permits, refuses_another_number_while_permits_are_out) {
  expiring_semaphore here{first_, "numbers", 5};
  expiring_semaphore there{second_, "numbers", 3};
  auto held = here.acquire();
  for (auto const& text :
       {message_of([&] { (void)there.acquire(); }), message_of([&] { (void)there.try_acquire(); })})
    EXPECT_THAT(text, AllOf(HasSubstr("\"numbers\" has 5 permits, not 3"), HasSubstr("set_permits")));
  EXPECT_EQ(places("numbers"), 1);
  EXPECT_EQ(held.release(), release_result::released);
  // Nothing is left of the other number.
  EXPECT_TRUE(there.try_acquire(3));
}

TEST_F(etcd_permits, counts_by_what_the_others_say_if_it_was_not_told) {
  expiring_semaphore told{first_, "untold", 2};
  expiring_semaphore untold{second_, "untold"};
  EXPECT_FALSE(untold.try_acquire());
  EXPECT_EQ(untold.last_busy()->permits, -1);
  auto const held = told.acquire();
  EXPECT_TRUE(untold.try_acquire());
  EXPECT_FALSE(untold.try_acquire(2));
}

TEST_F(etcd_permits, keeps_a_number_that_was_set) {
  expiring_semaphore here{first_, "set"};
  expiring_semaphore there{second_, "set", 9};
  EXPECT_TRUE(here.try_set_permits(2));
  EXPECT_FALSE(here.try_set_permits(3));
  EXPECT_EQ(there.permits(), 2);
  auto one = there.acquire();
  auto two = there.acquire();
  EXPECT_FALSE(there.try_acquire());
  here.add_permits(1);
  EXPECT_EQ(here.permits(), 3);
  auto three = there.try_acquire();
  ASSERT_TRUE(three);
  here.set_permits(1);
  EXPECT_EQ(here.available(), 0);  // as far as the order tells: see docs/etcd.md
  EXPECT_FALSE(there.try_acquire());
  EXPECT_EQ(one.release(), release_result::released);
  EXPECT_EQ(two.release(), release_result::released);
  EXPECT_FALSE(there.try_acquire());
  EXPECT_EQ(three->release(), release_result::released);
  EXPECT_TRUE(there.try_acquire());
  EXPECT_FALSE(here.try_set_permits(5));
  here.add_permits(-5);
  EXPECT_EQ(here.permits(), 0);
  three_etcds().ctl({"del", "permits/set/size"});
}

TEST_F(etcd_permits, tells_waiters_of_more_permits) {
  expiring_semaphore here{first_, "more", 1};
  auto const held = here.acquire();
  caller waiter{"more", 1, 1};
  ASSERT_TRUE(come_to_be("more", 2));
  here.set_permits(2);
  EXPECT_TRUE(eventually([&] { return waiter.holds(); }));
  three_etcds().ctl({"del", "permits/more/size"});
}

/// Who wants more than there are holds up nobody, and hears when there are more.
TEST_F(etcd_permits, waits_without_a_place_for_more_than_there_are) {
  expiring_semaphore here{first_, "too_many"};
  here.set_permits(2);
  caller many{"too_many", 2, 3};
  caller none{"too_many", 2, 1};
  ASSERT_TRUE(eventually([&] { return none.holds(); }));
  EXPECT_FALSE(many.holds());
  EXPECT_TRUE(here.try_acquire());
  here.set_permits(4);
  EXPECT_TRUE(eventually([&] { return many.holds(); }));
  three_etcds().ctl({"del", "permits/too_many/size"});
}

/// A waiter that was in the queue when there were enough.
TEST_F(etcd_permits, gives_up_its_place_when_there_are_fewer_than_it_wants) {
  expiring_semaphore here{first_, "fewer"};
  here.set_permits(3);
  auto held = here.acquire();
  caller many{"fewer", 3, 3};
  ASSERT_TRUE(come_to_be("fewer", 2));
  here.set_permits(2);
  ASSERT_TRUE(come_to_be("fewer", 1));
  EXPECT_TRUE(expiring_semaphore(second_, "fewer").try_acquire());
  here.set_permits(4);
  EXPECT_TRUE(eventually([&] { return many.holds(); }));
  three_etcds().ctl({"del", "permits/fewer/size"});
}

TEST_F(etcd_permits, is_no_lock_and_a_lock_is_no_semaphore) {
  expiring_semaphore slots{first_, "kinds", 2};
  mutex lock{second_, "kinds"};
  {
    auto const held = slots.acquire();
    EXPECT_THAT(message_of([&] { (void)lock.acquire(); }), HasSubstr("is a semaphore"));
    ASSERT_TRUE(eventually([] { return three_etcds().keys("permits/kinds/").size() == 1; }));
    EXPECT_TRUE(slots.try_acquire());
  }
  ASSERT_TRUE(come_to_be("kinds", 0));
  auto const locked = lock.acquire();
  for (auto const& text :
       {message_of([&] { (void)slots.acquire(); }), message_of([&] { slots.set_permits(3); }),
        message_of([&] { (void)slots.available(); })})
    EXPECT_THAT(text, HasSubstr("there is a lock"));
  EXPECT_TRUE(locked.valid());
  three_etcds().ctl({"put", "permits/stray/size", "7"});
  EXPECT_THAT(message_of([&] { (void)expiring_semaphore(first_, "stray", 2).acquire(); }),
              HasSubstr("permits/stray/size"));
  three_etcds().ctl({"del", "permits/stray/size"});
}

TEST_F(etcd_permits, says_who_holds_them_and_how_many_wait) {
  expiring_semaphore here{first_, "busy", 3};
  expiring_semaphore there{second_, "busy", 3};
  auto const held = here.acquire(2);
  EXPECT_FALSE(there.try_acquire(2));
  auto const busy = there.last_busy();
  ASSERT_TRUE(busy);
  EXPECT_EQ(busy->holder.owner, held.owner());
  EXPECT_EQ(busy->permits, 3);
  EXPECT_EQ(busy->taken, 2);
  EXPECT_EQ(busy->wanted, 2);
  caller waiter{"busy", 3, 3};
  ASSERT_TRUE(come_to_be("busy", 2));
  EXPECT_FALSE(there.try_acquire_for(200ms));
  EXPECT_EQ(there.last_busy()->ahead, 1);
}

TEST_F(etcd_permits, gives_a_permit_back_by_its_id) {
  expiring_semaphore here{first_, "by_id", 1};
  expiring_semaphore there{second_, "by_id", 1};
  auto held = here.acquire();
  caller waiter{"by_id", 1, 1};
  ASSERT_TRUE(come_to_be("by_id", 2));
  EXPECT_EQ(there.release(held.owner()), release_result::released);
  EXPECT_TRUE(eventually([&] { return waiter.holds(); }));
  EXPECT_EQ(there.release(held.owner()), release_result::lost);
  EXPECT_EQ(held.release(), release_result::lost);
}

TEST_F(etcd_permits, tells_a_holder_that_its_key_is_gone) {
  expiring_semaphore slots{first_, "deleted", 1, {.ttl = 60s, .renew_every = 25s}};
  auto held = slots.acquire();
  held.renew();
  three_etcds().ctl({"del", "--prefix", "permits/deleted/"});
  EXPECT_TRUE(eventually([&] { return held.lost_because() == loss_cause::key_gone; }));
  EXPECT_TRUE(slots.try_acquire());
}

TEST_F(etcd_permits, shows_its_permits_and_takes_them_by_force) {
  expiring_semaphore here{first_, "seen", 3};
  auto one = here.acquire(2);
  auto two = expiring_semaphore(second_, "seen", 3).acquire();
  caller waiter{"seen", 3, 2};
  ASSERT_TRUE(come_to_be("seen", 3));
  auto const seen = inspect(third_, "seen");
  EXPECT_EQ(seen.kind, lock_kind::permits);
  EXPECT_EQ(seen.permits, 3);
  EXPECT_EQ(seen.available, 0);
  EXPECT_EQ(seen.holding, 2);
  EXPECT_EQ(seen.waiting, 1);
  ASSERT_THAT(seen.holders, SizeIs(2));
  EXPECT_THAT(seen.holders, Each(Field(&hold_info::side, hold_side::permit)));
  EXPECT_EQ(seen.holders[0].process.owner, one.owner());
  EXPECT_EQ(seen.holders[0].count, 2);
  EXPECT_EQ(seen.holders[1].token, two.token());
  ASSERT_THAT(seen.queue, SizeIs(1));
  EXPECT_EQ(seen.queue[0].count, 2);
  std::vector<std::string> names;
  for_each_lock(third_, "se*", [&](lock_state const& each) {
    names.push_back(each.name);
    return true;
  });
  EXPECT_THAT(names, ElementsAre("seen"));
  EXPECT_EQ(force_release(third_, "seen", {.grace = 0ms, .owner = one.owner()}), force_result::deleted);
  EXPECT_TRUE(eventually([&] { return one.lost_because() != loss_cause::none; }));
  EXPECT_TRUE(eventually([&] { return waiter.holds(); }));
  EXPECT_TRUE(two.valid());
}

TEST_F(etcd_permits, are_not_there_without_a_lease) {
  EXPECT_THAT(message_of([&] { semaphore{first_, "lasting", 3}; }), HasSubstr("expiring_semaphore"));
}

}  // namespace
}  // namespace holdfast::test
