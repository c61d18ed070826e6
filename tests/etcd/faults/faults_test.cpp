// What real members do in moments that no test can hold them in.

#include "store.hpp"
#include "support/eventually.hpp"

#include <gmock/gmock.h>

#include <holdfast/client.hpp>
#include <holdfast/mutex.hpp>

namespace holdfast::test {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

constexpr auto url = "etcd://memory";

class etcd_faults : public testing::Test {
 protected:
  etcd_faults() { the_store().set_terms(1, 1); }

  client etcd_{url, {.patience = wait_limit}};
};

/// FOUND 374.
TEST_F(etcd_faults, a_leader_that_was_replaced_extends_no_lease) {
  mutex lock{etcd_, "term", {.ttl = 2s}};
  auto const held = lock.acquire();
  // The keys are there in the new term, and the old leader says that the lease lives.
  the_store().set_terms(2, 1);
  ASSERT_TRUE(eventually([&] { return held.lost_because() != loss_cause::none; }));
  EXPECT_EQ(held.lost_because(), loss_cause::unreachable);
  EXPECT_LT(etcd_.stats().renewals, 100);  // FOUND 401: they are tried with pauses
}

TEST_F(etcd_faults, a_leader_of_the_same_term_extends_leases) {
  mutex lock{etcd_, "same_term", {.ttl = 9s}};
  auto const held = lock.acquire();
  auto const until = [&] { return std::chrono::steady_clock::now() + held.remaining(); };
  auto const first = until();
  the_store().set_terms(2, 2);
  EXPECT_TRUE(eventually([&] { return until() > first + 1s; }));
}

/// FOUND 376.
TEST_F(etcd_faults, a_request_that_is_carried_out_behind_the_release_leaves_no_key) {
  mutex lasting{etcd_, "lasting", {.ttl = 3s}};
  mutex lock{etcd_, "late", {.ttl = 3s}};
  auto other = lasting.acquire();
  auto const lease = the_store().lease_of("lasting/");
  the_store().hold_back_next_put();
  auto held = lock.acquire();
  ASSERT_TRUE(the_store().holds_back());
  ASSERT_EQ(the_store().lease_of("late/"), lease);
  EXPECT_EQ(held.release(), release_result::released);
  the_store().carry_out();
  ASSERT_THAT(the_store().keys("late/"), SizeIs(1));
  // The lease is kept alive for the other lock, so the key wouldn't end with it.
  EXPECT_TRUE(eventually([] { return the_store().keys("late/").empty(); }));
  EXPECT_TRUE(other.valid());

  auto next = lock.acquire();
  EXPECT_NE(the_store().lease_of("late/"), lease);
  EXPECT_EQ(next.release(), release_result::released);
  EXPECT_EQ(other.release(), release_result::released);
  EXPECT_TRUE(eventually([&] { return !the_store().has_lease(lease); }));
}

}  // namespace
}  // namespace holdfast::test
