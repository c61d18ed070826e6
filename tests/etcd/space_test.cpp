// A cluster whose space is used up: nothing can be put, but what is there can be deleted.

#include "members.hpp"
#include "support/eventually.hpp"

#include <gmock/gmock.h>

#include <holdfast/client.hpp>
#include <holdfast/inspect.hpp>
#include <holdfast/mutex.hpp>

#include <atomic>
#include <thread>

namespace holdfast::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

/// So long that no test sees a key go with its lease, or be swept with a keep-alive.
constexpr lock_options long_lived{.ttl = 90s};

client_options patient() { return {.patience = wait_limit, .recheck = 30s}; }

class etcd_without_space : public testing::Test {
 protected:
  /// The acquisition is refused, and that says what to do.
  template <class Acquire>
  static void expect_refused(Acquire acquire) {
    try {
      acquire();
      FAIL() << "it was acquired";
    } catch (error const& refusal) {
      EXPECT_EQ(refusal.code(), errc::refused);
      EXPECT_THAT(refusal.what(), AllOf(HasSubstr("database space exceeded"), HasSubstr("alarm disarm")));
    }
  }

  etcd_cluster small_{{.args = {"--quota-backend-bytes=1000000"}}};
};

TEST_F(etcd_without_space, grants_no_lock_until_there_is_space_again) {
  client without_lease{small_.url(), patient()};
  client with_lease{small_.url(), patient()};
  mutex first{without_lease, "first", long_lived};
  mutex second{with_lease, "second", long_lived};
  (void)second.acquire().release();
  small_.use_up_space();
  expect_refused([&] { (void)first.acquire(); });
  expect_refused([&] { (void)second.acquire(); });
  expect_refused([&] { (void)second.try_acquire(); });
  small_.make_space();
  EXPECT_TRUE(first.acquire().valid());
  EXPECT_TRUE(second.acquire().valid());
}

TEST_F(etcd_without_space, keeps_what_is_held_and_takes_it_back) {
  client etcd{small_.url(), patient()};
  mutex lock{etcd, "held", {.ttl = 3s}};
  auto held = lock.acquire();
  small_.use_up_space();
  auto const before = etcd.stats().renewals;
  EXPECT_TRUE(eventually([&] { return etcd.stats().renewals >= before + 4; }));
  expect_refused([&] { (void)force_release(etcd, "held"); });  // asking changes the key
  EXPECT_TRUE(held.valid());
  EXPECT_EQ(held.release(), release_result::released);
  EXPECT_THAT(small_.keys("held/"), IsEmpty());
}

TEST_F(etcd_without_space, grants_a_lock_to_those_that_have_queued_up) {
  client holds{small_.url(), patient()};
  client waits{small_.url(), patient()};
  mutex here{holds, "queue", long_lived};
  mutex there{waits, "queue", long_lived};
  auto held = here.acquire();
  std::atomic<bool> entered = false;
  std::jthread waiter{[&] {
    EXPECT_EQ(there.acquire().release(), release_result::released);
    entered = true;
  }};
  ASSERT_TRUE(eventually([&] { return small_.keys("queue/").size() == 2; }));
  small_.use_up_space();
  EXPECT_EQ(held.release(), release_result::released);
  EXPECT_TRUE(eventually([&] { return entered.load(); }));
  EXPECT_THAT(small_.keys("queue/"), IsEmpty());
}

/// FOUND 418: the request that would have passed the lock on was refused, and the release with it.
TEST_F(etcd_without_space, takes_back_a_lock_that_another_caller_of_the_process_waits_for) {
  client etcd{small_.url(), patient()};
  mutex lock{etcd, "passed", long_lived};
  auto held = lock.acquire();
  std::jthread waiter{[&] { expect_refused([&] { (void)lock.acquire(); }); }};
  ASSERT_TRUE(eventually([&] { return etcd.stats().waiting_now == 1; }));
  small_.use_up_space();
  EXPECT_EQ(held.release(), release_result::released);
  EXPECT_THAT(small_.keys("passed/"), IsEmpty());
}

}  // namespace
}  // namespace holdfast::test
