/// RPermitExpirableSemaphore and expiring_semaphore: permits with ids, given back by whoever knows one.
#include "beside_redisson.hpp"

#include <holdfast/expiring_semaphore.hpp>
#include <holdfast/inspect.hpp>

#include <optional>

namespace holdfast::test {
namespace {

using testing::Eq;
using testing::Ne;
using testing::SizeIs;

constexpr auto permit_channel = "redisson_sc:{license}";

class redisson_permit_leases : public beside_each_redisson {
 protected:
  [[nodiscard]] std::future<std::optional<lease>> we_wait() {
    return meanwhile([this] { return listening_ones_.try_acquire_for(long_enough); });
  }

  expiring_semaphore ours_{redis_, "license"};
  expiring_semaphore listening_ones_{listening_, "license"};
};

INSTANTIATE_TEST_SUITE_P(all, redisson_permit_leases,
                         testing::Values(redisson_version::current, redisson_version::v3_27_2),
                         name_of_version);

TEST_P(redisson_permit_leases, are_counted_alike_by_both) {
  redisson java{server_, GetParam()};
  auto const theirs = java.permits("license");
  EXPECT_EQ(theirs.set(3), "true");
  EXPECT_FALSE(ours_.try_set_permits(9));
  auto const mine = ours_.acquire();
  auto const id = theirs.acquire(60s).answer();
  EXPECT_EQ(ours_.available(), 1);
  EXPECT_EQ(ours_.acquired(), 2);
  EXPECT_EQ(ours_.permits(), 3);
  EXPECT_EQ(theirs.available(), "1");
  ours_.add_permits(-1);
  EXPECT_FALSE(ours_.try_acquire());
  EXPECT_EQ(theirs.try_acquire(1s), "none");
  ours_.add_permits(1);
  EXPECT_EQ(theirs.try_acquire(1s).answer().size(), 32u);
}

TEST_P(redisson_permit_leases, of_theirs_are_given_back_by_us_and_wake_them) {
  redisson java{server_, GetParam()};
  auto const theirs = java.permits("license");
  EXPECT_EQ(theirs.set(1), "true");
  auto const id = theirs.acquire().answer();
  auto const waiting = theirs.by(2).acquire();
  EXPECT_TRUE(listen(permit_channel));
  EXPECT_EQ(ours_.release(id), release_result::released);
  EXPECT_THAT(waiting.answer(), SizeIs(32));
  EXPECT_EQ(ours_.release(id), release_result::lost);
  EXPECT_EQ(theirs.try_release(id), "false");
  EXPECT_EQ(ours_.available(), 0);
}

TEST_P(redisson_permit_leases, of_ours_are_given_back_by_them_and_we_are_told) {
  redisson java{server_, GetParam()};
  auto const theirs = java.permits("license");
  expiring_semaphore mine{redis_, "license", {.ttl = 6s}};
  EXPECT_TRUE(mine.try_set_permits(1));
  auto permit = mine.acquire();
  ASSERT_THAT(permit.owner(), SizeIs(32));
  auto waiting = we_wait();
  EXPECT_TRUE(listen(permit_channel));
  EXPECT_EQ(theirs.release(permit.owner()), "ok");
  auto const next = soon(waiting);
  ASSERT_TRUE(next);
  EXPECT_THAT(next->owner(), Ne(permit.owner()));
  EXPECT_TRUE(eventually(patience, [&] { return permit.lost().stop_requested(); }));
  EXPECT_THAT(permit.lost_because(), Eq(loss_cause::key_gone));
  EXPECT_EQ(permit.release(), release_result::lost);
  EXPECT_EQ(theirs.available(), "0") << "it isn't given back twice";
}

TEST_P(redisson_permit_leases, wake_us_when_they_release) {
  redisson java{server_, GetParam()};
  auto const theirs = java.permits("license");
  EXPECT_TRUE(ours_.try_set_permits(1));
  auto const id = theirs.acquire().answer();
  auto waiting = we_wait();
  EXPECT_TRUE(listen(permit_channel));
  EXPECT_FALSE(is_over(waiting));
  EXPECT_EQ(theirs.release(id), "ok");
  EXPECT_TRUE(soon(waiting));
}

TEST_P(redisson_permit_leases, wake_them_when_we_release) {
  redisson java{server_, GetParam()};
  redisson other{server_, GetParam()};
  EXPECT_TRUE(ours_.try_set_permits(2));
  auto one = ours_.acquire();
  auto two = ours_.acquire();
  auto const they = java.permits("license").acquire();
  auto const others = other.permits("license").try_acquire(60s);
  EXPECT_TRUE(listen(permit_channel, 2));
  EXPECT_FALSE(they.is_answered() || others.is_answered());
  EXPECT_EQ(one.release(), release_result::released);
  EXPECT_EQ(two.release(), release_result::released);
  EXPECT_THAT(they.answer(), SizeIs(32));
  EXPECT_THAT(others.answer(), SizeIs(32));
}

TEST_P(redisson_permit_leases, of_ours_are_renewed_past_two_ttls) {
  redisson java{server_, GetParam()};
  expiring_semaphore mine{redis_, "license", {.ttl = 5s}};
  EXPECT_TRUE(mine.try_set_permits(1));
  auto permit = mine.acquire();
  EXPECT_EQ(java.permits("license").try_acquire(10500ms), "none");
  EXPECT_TRUE(permit.valid());
  EXPECT_EQ(permit.release(), release_result::released);
  EXPECT_EQ(java.permits("license").available(), "1");
}

TEST_P(redisson_permit_leases, of_theirs_that_died_come_back_to_us) {
  redisson java{server_, GetParam()};
  redisson killed{server_, GetParam()};
  EXPECT_TRUE(ours_.try_set_permits(1));
  auto const id = killed.permits("license").acquire(2s).answer();
  auto waiting = we_wait();
  EXPECT_TRUE(listen(permit_channel));
  killed.kill9();
  auto permit = soon(waiting);
  ASSERT_TRUE(permit);
  EXPECT_EQ(java.permits("license").try_release(id), "false");
  EXPECT_EQ(permit->release(), release_result::released);
  EXPECT_EQ(ours_.available(), 1);
}

TEST_P(redisson_permit_leases, of_ours_that_died_come_back_to_them) {
  redisson java{server_, GetParam()};
  EXPECT_TRUE(ours_.try_set_permits(1));
  auto dead = our_process(a_permit.title, "license", 2s);
  EXPECT_EQ(dead.ask("acquire").rfind("held ", 0), 0u);
  auto const they_wait = java.permits("license").acquire();
  EXPECT_TRUE(listen(permit_channel));
  dead.kill9();
  EXPECT_THAT(they_wait.answer(), SizeIs(32));
  EXPECT_EQ(ours_.available(), 0);
}

TEST_P(redisson_permit_leases, are_not_kept_for_the_dead_who_waited) {
  redisson java{server_, GetParam()};
  redisson killed{server_, GetParam()};
  EXPECT_TRUE(ours_.try_set_permits(1));
  auto permit = ours_.acquire();
  auto const dead = killed.permits("license").acquire();
  auto our_dead = our_process(a_permit.title, "license", 30s);
  our_dead.say("acquire");
  auto const waiting = java.permits("license").acquire();
  EXPECT_TRUE(listen(permit_channel, 3));
  killed.kill9();
  our_dead.kill9();
  EXPECT_EQ(permit.release(), release_result::released);
  EXPECT_THAT(waiting.answer(), SizeIs(32));
}

TEST_P(redisson_permit_leases, that_we_take_by_force_wake_them) {
  redisson java{server_, GetParam()};
  auto const theirs = java.permits("license");
  EXPECT_EQ(theirs.set(2), "true");
  auto const id = theirs.acquire().answer();
  auto const kept = theirs.acquire().answer();
  auto const waiting = theirs.by(2).acquire();
  EXPECT_TRUE(listen(permit_channel));
  EXPECT_EQ(force_release(redis_, "license", {.owner = id}), force_result::deleted);
  EXPECT_THAT(waiting.answer(), SizeIs(32));
  EXPECT_EQ(theirs.try_release(id), "false");
  EXPECT_EQ(theirs.release(kept), "ok");
}

}  // namespace
}  // namespace holdfast::test
