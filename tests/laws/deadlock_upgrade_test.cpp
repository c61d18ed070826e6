/// lock_options::detect_deadlock: circles through upgrade leases, and through who waits to upgrade one.
#include "deadlocking.hpp"

#include <holdfast/deadlock.hpp>
#include <holdfast/shared_mutex.hpp>

#include <gmock/gmock.h>

namespace holdfast::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class deadlock_of_upgrades : public deadlock {
 protected:
  /// Has the upgrade lease of the first, and waits for that of the second.
  static party take_upgrades(shared_mutex& first, shared_mutex& second) {
    return party{[&first] { return first.acquire_upgrade(); },
                 [&second] { return second.acquire_upgrade(); }};
  }

  shared_mutex x_of_one_{one_, "x", detecting};
  shared_mutex x_of_two_{two_, "x", detecting};
  mutex m_of_one_{one_, "m", detecting};
  mutex m_of_two_{two_, "m", detecting};
};

TEST_F(deadlock_of_upgrades, is_one_of_two_upgrade_leases_in_opposite_order) {
  shared_mutex y_of_one{one_, "y", detecting};
  shared_mutex y_of_two{two_, "y", detecting};
  auto const reader = shared_mutex{three_, "x", detecting}.acquire_shared();
  auto first = take_upgrades(x_of_one_, y_of_one);
  auto second = take_upgrades(y_of_two, x_of_two_);
  expect_a_circle({&first, &second});
  EXPECT_THAT(message_, AllOf(HasSubstr("'two' waits for \"x\", held by "),
                              HasSubstr("'one', which waits for \"y\", held by ")));
}

TEST_F(deadlock_of_upgrades, is_one_of_an_upgrade_lease_and_another_lock) {
  party first{[&] { return x_of_one_.acquire_upgrade(); }, [&] { return m_of_one_.acquire(); }};
  party second{[&] { return m_of_two_.acquire(); }, [&] { return x_of_two_.acquire_upgrade(); }};
  expect_a_circle({&first, &second});
}

TEST_F(deadlock_of_upgrades, is_one_if_a_reader_waits_for_what_the_upgrader_holds) {
  lease upgrading;
  party first{[&] {
                upgrading = x_of_one_.acquire_upgrade();
                return m_of_one_.acquire();
              },
              [&] { return x_of_one_.try_upgrade_for(upgrading, wait_limit); }};
  party second{[&] { return x_of_two_.acquire_shared(); }, [&] { return m_of_two_.acquire(); }};
  first.wait_for_second();
  ASSERT_TRUE(is_said(2)) << "beside both of its locks";
  second.wait_for_second();
  EXPECT_EQ(second.outcome().code, errc::deadlock) << "it is the younger one, and lets the other upgrade";
  auto const upgrade = first.outcome();
  EXPECT_FALSE(upgrade.code) << upgrade;
  EXPECT_GT(upgrading.token(), 0);
  EXPECT_FALSE(x_of_two_.try_acquire_shared()) << "it writes";
  EXPECT_TRUE(is_said(0));
}

TEST_F(deadlock_of_upgrades, leaves_who_waited_to_upgrade_its_lease_as_it_was) {
  lease upgrading;
  failure failed;
  party first{[&] { return x_of_one_.acquire_shared(); }, [&] { return m_of_one_.acquire(); }};
  party second{[&] {
                 upgrading = x_of_two_.acquire_upgrade();
                 return m_of_two_.acquire();
               },
               [&] {
                 failed = failure_of([&] { x_of_two_.upgrade(upgrading); });
                 return true;
               }};
  first.wait_for_second();
  ASSERT_TRUE(is_said(1));
  second.wait_for_second();
  EXPECT_FALSE(second.outcome().code);
  EXPECT_EQ(failed.code, errc::deadlock) << failed;
  EXPECT_THAT(failed.message, HasSubstr("'two' waits for \"x\", held by "));
  EXPECT_FALSE(first.outcome().code) << "the other one gave m back";
  EXPECT_TRUE(upgrading.valid());
  EXPECT_NO_THROW(upgrading.renew());
  EXPECT_TRUE(x_of_two_.try_upgrade(upgrading));
  EXPECT_TRUE(is_said(0));
}

TEST_F(deadlock_of_upgrades, is_one_if_a_reader_wants_the_upgrade_lease_of_one_that_waits_for_readers) {
  lease upgrading;
  party first{[&] { return upgrading = x_of_one_.acquire_upgrade(), 0; },
              [&] { return x_of_one_.try_upgrade_for(upgrading, wait_limit); }};
  party second{[&] { return x_of_two_.acquire_shared(); }, [&] { return x_of_two_.acquire_upgrade(); }};
  expect_a_circle({&first, &second});
}

TEST_F(deadlock_of_upgrades, is_none_of_one_that_waits_for_readers_with_its_own_lease) {
  auto reading = x_of_two_.acquire_shared();
  auto const other = m_of_two_.acquire();
  auto waits_for_upgrade = std::async(std::launch::async, [&] {
    auto upgrading = x_of_one_.acquire_upgrade();
    bool upgraded = true;
    auto const outcome = failure_of([&] { upgraded = x_of_one_.try_upgrade_for(upgrading, 6500ms); });
    EXPECT_FALSE(outcome.code) << outcome;
    EXPECT_FALSE(upgraded);
    return upgrading.valid();
  });
  EXPECT_TRUE(waits_for_upgrade.get());
  EXPECT_TRUE(find_deadlocks(three_).empty());
}

}  // namespace
}  // namespace holdfast::test
