/// RPermitExpirableSemaphore and expiring_semaphore: permits with ids, which every client that knows one can
/// give back.
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
  [[nodiscard]] std::future<std::optional<lease>> start_waiter() {
    return run_async([this] { return listening_permits_.try_acquire_for(acquire_timeout); });
  }

  expiring_semaphore permits_{redis_, "license", {.wire = wire::redisson}};
  expiring_semaphore listening_permits_{listening_, "license", {.wire = wire::redisson}};
};

INSTANTIATE_TEST_SUITE_P(all, redisson_permit_leases,
                         testing::Values(redisson_version::current, redisson_version::v3_27_2),
                         name_of_version);

TEST_P(redisson_permit_leases, are_counted_alike_by_both) {
  redisson java{server_, GetParam()};
  auto const java_permits = java.permits("license");
  EXPECT_EQ(java_permits.set(3), "true");
  EXPECT_FALSE(permits_.try_set_permits(9));
  auto const lease = permits_.acquire();
  auto const id = java_permits.acquire(60s).answer();
  EXPECT_EQ(permits_.available(), 1);
  EXPECT_EQ(permits_.acquired(), 2);
  EXPECT_EQ(permits_.permits(), 3);
  EXPECT_EQ(java_permits.available(), "1");
  permits_.add_permits(-1);
  EXPECT_FALSE(permits_.try_acquire());
  EXPECT_EQ(java_permits.try_acquire(1s), "none");
  permits_.add_permits(1);
  EXPECT_EQ(java_permits.try_acquire(1s).answer().size(), 32u);
}

TEST_P(redisson_permit_leases, of_theirs_are_given_back_by_us_and_wake_them) {
  redisson java{server_, GetParam()};
  auto const java_permits = java.permits("license");
  EXPECT_EQ(java_permits.set(1), "true");
  auto const id = java_permits.acquire().answer();
  auto const waiting = java_permits.by(2).acquire();
  EXPECT_TRUE(are_listening(permit_channel));
  EXPECT_EQ(permits_.release(id), release_result::released);
  EXPECT_THAT(waiting.answer(), SizeIs(32));
  EXPECT_EQ(permits_.release(id), release_result::lost);
  EXPECT_EQ(java_permits.try_release(id), "false");
  EXPECT_EQ(permits_.available(), 0);
}

TEST_P(redisson_permit_leases, of_ours_are_given_back_by_them_and_we_are_told) {
  redisson java{server_, GetParam()};
  auto const java_permits = java.permits("license");
  expiring_semaphore holdfast_permits{redis_, "license", {.ttl = 6s, .wire = wire::redisson}};
  EXPECT_TRUE(holdfast_permits.try_set_permits(1));
  auto permit = holdfast_permits.acquire();
  ASSERT_THAT(permit.owner(), SizeIs(32));
  auto waiting = start_waiter();
  EXPECT_TRUE(are_listening(permit_channel));
  EXPECT_EQ(java_permits.release(permit.owner()), "ok");
  auto const next = await_result(waiting);
  ASSERT_TRUE(next);
  EXPECT_THAT(next->owner(), Ne(permit.owner()));
  EXPECT_TRUE(eventually(time_limit, [&] { return permit.lost().stop_requested(); }));
  EXPECT_THAT(permit.lost_because(), Eq(loss_cause::key_gone));
  EXPECT_EQ(permit.release(), release_result::lost);
  EXPECT_EQ(java_permits.available(), "0") << "it isn't given back twice";
}

TEST_P(redisson_permit_leases, wake_us_when_they_release) {
  redisson java{server_, GetParam()};
  auto const java_permits = java.permits("license");
  EXPECT_TRUE(permits_.try_set_permits(1));
  auto const id = java_permits.acquire().answer();
  auto waiting = start_waiter();
  EXPECT_TRUE(are_listening(permit_channel));
  EXPECT_FALSE(is_done(waiting));
  EXPECT_EQ(java_permits.release(id), "ok");
  EXPECT_TRUE(await_result(waiting));
}

TEST_P(redisson_permit_leases, wake_them_when_we_release) {
  redisson java{server_, GetParam()};
  redisson other{server_, GetParam()};
  EXPECT_TRUE(permits_.try_set_permits(2));
  auto first_permit = permits_.acquire();
  auto second_permit = permits_.acquire();
  auto const java_waiter = java.permits("license").acquire();
  auto const other_waiter = other.permits("license").try_acquire(60s);
  EXPECT_TRUE(are_listening(permit_channel, 2));
  EXPECT_FALSE(java_waiter.is_answered() || other_waiter.is_answered());
  EXPECT_EQ(first_permit.release(), release_result::released);
  EXPECT_EQ(second_permit.release(), release_result::released);
  EXPECT_THAT(java_waiter.answer(), SizeIs(32));
  EXPECT_THAT(other_waiter.answer(), SizeIs(32));
}

TEST_P(redisson_permit_leases, of_ours_are_renewed_past_two_ttls) {
  redisson java{server_, GetParam()};
  expiring_semaphore holdfast_permits{redis_, "license", {.ttl = 5s, .wire = wire::redisson}};
  EXPECT_TRUE(holdfast_permits.try_set_permits(1));
  auto permit = holdfast_permits.acquire();
  EXPECT_EQ(java.permits("license").try_acquire(10500ms), "none");
  EXPECT_TRUE(permit.valid());
  EXPECT_EQ(permit.release(), release_result::released);
  EXPECT_EQ(java.permits("license").available(), "1");
}

TEST_P(redisson_permit_leases, of_theirs_that_died_come_back_to_us) {
  redisson java{server_, GetParam()};
  redisson killed{server_, GetParam()};
  EXPECT_TRUE(permits_.try_set_permits(1));
  auto const id = killed.permits("license").acquire(2s).answer();
  auto waiting = start_waiter();
  EXPECT_TRUE(are_listening(permit_channel));
  killed.kill9();
  auto permit = await_result(waiting);
  ASSERT_TRUE(permit);
  EXPECT_EQ(java.permits("license").try_release(id), "false");
  EXPECT_EQ(permit->release(), release_result::released);
  EXPECT_EQ(permits_.available(), 1);
}

TEST_P(redisson_permit_leases, of_ours_that_died_come_back_to_them) {
  redisson java{server_, GetParam()};
  EXPECT_TRUE(permits_.try_set_permits(1));
  auto dead = holdfast_process(expiring_permit.title, "license", 2s);
  EXPECT_EQ(dead.reply_to("acquire").rfind("held ", 0), 0u);
  auto const java_waiter = java.permits("license").acquire();
  EXPECT_TRUE(are_listening(permit_channel));
  dead.kill9();
  EXPECT_THAT(java_waiter.answer(), SizeIs(32));
  EXPECT_EQ(permits_.available(), 0);
}

TEST_P(redisson_permit_leases, are_not_kept_for_the_dead_who_waited) {
  redisson java{server_, GetParam()};
  redisson killed{server_, GetParam()};
  EXPECT_TRUE(permits_.try_set_permits(1));
  auto permit = permits_.acquire();
  auto const dead = killed.permits("license").acquire();
  auto dead_process = holdfast_process(expiring_permit.title, "license", 30s);
  dead_process.write_line("acquire");
  auto const waiting = java.permits("license").acquire();
  EXPECT_TRUE(are_listening(permit_channel, 3));
  killed.kill9();
  dead_process.kill9();
  EXPECT_EQ(permit.release(), release_result::released);
  EXPECT_THAT(waiting.answer(), SizeIs(32));
}

TEST_P(redisson_permit_leases, that_we_take_by_force_wake_them) {
  redisson java{server_, GetParam()};
  auto const java_permits = java.permits("license");
  EXPECT_EQ(java_permits.set(2), "true");
  auto const id = java_permits.acquire().answer();
  auto const kept = java_permits.acquire().answer();
  auto const waiting = java_permits.by(2).acquire();
  EXPECT_TRUE(are_listening(permit_channel));
  EXPECT_EQ(force_release(redis_, "license", {.owner = id}), force_result::deleted);
  EXPECT_THAT(waiting.answer(), SizeIs(32));
  EXPECT_EQ(java_permits.try_release(id), "false");
  EXPECT_EQ(java_permits.release(kept), "ok");
}

}  // namespace
}  // namespace holdfast::test
