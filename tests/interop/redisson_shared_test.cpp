/// RReadWriteLock and shared_mutex: readers of both sides, and writers that wait for them.
#include "beside_redisson.hpp"

#include <holdfast/inspect.hpp>
#include <holdfast/shared_mutex.hpp>

#include <optional>

namespace holdfast::test {
namespace {

using testing::IsEmpty;
using testing::Pair;
using testing::UnorderedElementsAre;

constexpr auto shared_channel = "redisson_rwlock:{prices}";

class redisson_shared : public beside_each_redisson {
 protected:
  [[nodiscard]] static r_lock java_reader(redisson& java) { return java.read_lock("prices"); }
  [[nodiscard]] static r_lock java_writer(redisson& java) { return java.write_lock("prices"); }
  [[nodiscard]] std::future<std::optional<lease>> start_writer() {
    return run_async([this] { return mutex_.try_acquire_for(acquire_timeout); });
  }
  [[nodiscard]] std::future<std::optional<lease>> start_reader() {
    return run_async([this] { return mutex_.try_acquire_shared_for(acquire_timeout); });
  }

  shared_mutex mutex_{listening_, "prices", {.wire = wire::redisson}};
  shared_mutex second_mutex_{redis_, "prices", {.wire = wire::redisson}};
};

INSTANTIATE_TEST_SUITE_P(all, redisson_shared,
                         testing::Values(redisson_version::current, redisson_version::v3_27_2),
                         name_of_version);

TEST_P(redisson_shared, is_read_by_both_together_and_written_by_neither) {
  redisson java{server_, GetParam()};
  EXPECT_EQ(java_reader(java).lock(), "ok");
  auto const reading = mutex_.try_acquire_shared();
  ASSERT_TRUE(reading);
  auto const reading_too = second_mutex_.try_acquire_shared();
  ASSERT_TRUE(reading_too);
  EXPECT_EQ(java_reader(java).by(2).try_lock(), "true");
  EXPECT_THAT(hash("prices"), UnorderedElementsAre(Pair("mode", "read"), Pair(reading->owner(), "1"),
                                                   Pair(java_reader(java).owner(), "1"),
                                                   Pair(java_reader(java).by(2).owner(), "1"),
                                                   Pair(reading_too->owner(), "1")));
  EXPECT_FALSE(second_mutex_.try_acquire());
  EXPECT_EQ(java_writer(java).by(3).try_lock(), "false");
}

TEST_P(redisson_shared, is_written_by_us_when_their_last_reader_has_gone) {
  redisson java{server_, GetParam()};
  EXPECT_EQ(java_reader(java).lock(), "ok");
  EXPECT_EQ(java_reader(java).lock(), "ok");
  EXPECT_EQ(java_reader(java).by(2).lock(), "ok");
  EXPECT_EQ(java_reader(java).hold_count(), "2");
  auto waiting = start_writer();
  EXPECT_TRUE(are_listening(shared_channel));
  EXPECT_EQ(java_reader(java).unlock(), "ok");
  EXPECT_EQ(java_reader(java).unlock(), "ok");
  EXPECT_TRUE(always(300ms, [&] { return !is_done(waiting); }));
  EXPECT_EQ(java_reader(java).by(2).unlock(), "ok");
  EXPECT_TRUE(await_result(waiting));
  EXPECT_THAT(keys(), IsEmpty());
}

TEST_P(redisson_shared, is_written_by_them_when_our_last_reader_has_gone) {
  redisson java{server_, GetParam()};
  auto first = mutex_.acquire_shared();
  auto second = second_mutex_.acquire_shared();
  auto const waiting = java_writer(java).lock();
  EXPECT_TRUE(are_listening(shared_channel));
  EXPECT_EQ(first.release(), release_result::released);
  EXPECT_TRUE(always(300ms, [&] { return !waiting.is_answered(); }));
  EXPECT_EQ(second.release(), release_result::released);
  EXPECT_EQ(waiting, "ok");
  EXPECT_FALSE(second_mutex_.try_acquire_shared());
  EXPECT_EQ(java_writer(java).unlock(), "ok");
  EXPECT_THAT(keys(), IsEmpty());
}

TEST_P(redisson_shared, is_read_by_all_of_us_when_their_writer_has_gone) {
  redisson java{server_, GetParam()};
  EXPECT_EQ(java_writer(java).lock(), "ok");
  auto first = start_reader();
  auto second = start_reader();
  EXPECT_TRUE(are_listening(shared_channel));
  EXPECT_FALSE(is_done(first) || is_done(second));
  EXPECT_EQ(java_writer(java).unlock(), "ok");
  auto const first_lease = await_result(first);
  auto const second_lease = await_result(second);
  EXPECT_TRUE(first_lease && second_lease && first_lease->valid() && second_lease->valid());
}

TEST_P(redisson_shared, is_read_by_all_of_them_when_our_writer_has_gone) {
  redisson java{server_, GetParam()};
  redisson other{server_, GetParam()};
  auto lease = mutex_.acquire();
  auto const first = java_reader(java).lock();
  auto const second = java_reader(java).by(2).lock();
  auto const third = java_reader(other).lock();
  EXPECT_TRUE(are_listening(shared_channel, 2));
  EXPECT_TRUE(always(300ms, [&] { return !second.is_answered(); }));
  EXPECT_EQ(lease.release(), release_result::released);
  EXPECT_EQ(first, "ok");
  EXPECT_EQ(second, "ok");
  EXPECT_EQ(third, "ok");
}

TEST_P(redisson_shared, that_we_downgrade_lets_their_readers_in_at_once_and_no_writer) {
  redisson java{server_, GetParam()};
  redisson other{server_, GetParam()};
  auto writing = mutex_.acquire();
  auto const waiting_reader = java_reader(java).lock();
  EXPECT_TRUE(are_listening(shared_channel));
  auto reading = mutex_.downgrade(std::move(writing));
  EXPECT_EQ(waiting_reader, "ok");
  EXPECT_EQ(java_writer(java).by(3).try_lock(), "false");
  auto const waiting_writer = java_writer(other).lock();
  EXPECT_TRUE(are_listening(shared_channel));
  EXPECT_EQ(java_reader(java).unlock(), "ok");
  EXPECT_EQ(reading.release(), release_result::released);
  EXPECT_EQ(waiting_writer, "ok");
}

/// Redisson publishes nothing here; waiters of Holdfast check again every second.
TEST_P(redisson_shared, that_they_downgrade_lets_our_readers_in_long_before_the_ttl) {
  redisson java{server_, GetParam()};
  EXPECT_EQ(java_writer(java).lock(), "ok");
  auto waiting = run_async([&] { return second_mutex_.try_acquire_shared_for(acquire_timeout); });
  EXPECT_TRUE(are_listening(shared_channel));
  EXPECT_EQ(java_reader(java).lock(), "ok");
  EXPECT_FALSE(is_done(waiting));
  EXPECT_EQ(java_writer(java).unlock(), "ok");
  EXPECT_TRUE(await_result(waiting));
  EXPECT_FALSE(mutex_.try_acquire());
}

TEST_P(redisson_shared, has_its_readers_renewed_by_both_sides_past_two_ttls) {
  redisson java{server_, GetParam(), 5s};
  auto const lease = shared_mutex{redis_, "prices", {.ttl = 5s, .wire = wire::redisson}}.acquire_shared();
  EXPECT_EQ(java_reader(java).lock(), "ok");
  EXPECT_EQ(java.read_lock("theirs").lock(), "ok");
  auto const java_waiter = java_writer(java).by(2).try_lock(10500ms);
  EXPECT_FALSE(shared_mutex(redis_, "theirs", {.wire = wire::redisson}).try_acquire_for(10500ms));
  EXPECT_EQ(java_waiter, "false");
  EXPECT_TRUE(lease.valid());
  EXPECT_EQ(java_reader(java).is_held(), "true");
}

TEST_P(redisson_shared, is_written_by_us_when_the_ttl_is_over_of_a_reader_of_theirs_that_was_killed) {
  redisson java{server_, GetParam(), 3s};
  EXPECT_EQ(java_reader(java).lock(), "ok");
  auto waiting = run_async([&] { return second_mutex_.try_acquire_for(acquire_timeout); });
  EXPECT_TRUE(are_listening(shared_channel));
  java.kill9();
  EXPECT_TRUE(await_result(waiting));
}

TEST_P(redisson_shared, is_written_by_them_when_the_ttl_is_over_of_a_reader_of_ours_that_was_killed) {
  redisson java{server_, GetParam()};
  auto holder = holdfast_process(redisson_reader.title, "prices", 3s);
  EXPECT_EQ(holder.reply_to("acquire").rfind("held ", 0), 0u);
  auto const waiting = java_writer(java).lock();
  EXPECT_TRUE(are_listening(shared_channel));
  holder.kill9();
  EXPECT_EQ(waiting, "ok");
}

TEST_P(redisson_shared, goes_on_with_the_readers_that_are_left_when_one_of_either_side_is_killed) {
  redisson killed{server_, GetParam(), 3s};
  redisson java{server_, GetParam(), 5s};
  auto dead = holdfast_process(redisson_reader.title, "prices", 3s);
  auto lease = shared_mutex{redis_, "prices", {.ttl = 5s, .wire = wire::redisson}}.acquire_shared();
  EXPECT_EQ(java_reader(java).lock(), "ok");
  EXPECT_EQ(java_reader(killed).lock(), "ok");
  EXPECT_EQ(dead.reply_to("acquire").rfind("held ", 0), 0u);
  killed.kill9();
  dead.kill9();
  EXPECT_EQ(java_writer(java).by(2).try_lock(4s), "false");
  EXPECT_TRUE(lease.valid());
  EXPECT_EQ(java_reader(java).is_held(), "true");
  auto waiting = run_async([&] { return second_mutex_.try_acquire_for(acquire_timeout); });
  EXPECT_EQ(java_reader(java).unlock(), "ok");
  EXPECT_EQ(lease.release(), release_result::released);
  EXPECT_TRUE(await_result(waiting));
}

TEST_P(redisson_shared, whose_readers_they_force_out_is_lost_to_us_and_we_are_told) {
  redisson java{server_, GetParam()};
  auto lease = shared_mutex{redis_, "prices", {.ttl = 6s, .wire = wire::redisson}}.acquire_shared();
  EXPECT_EQ(java_writer(java).force_unlock(), "false");
  EXPECT_EQ(java_reader(java).force_unlock(), "true");
  EXPECT_TRUE(eventually(time_limit, [&] { return lease.lost().stop_requested(); }));
  EXPECT_EQ(lease.lost_because(), loss_cause::key_gone);
  EXPECT_EQ(lease.release(), release_result::lost);
}

TEST_P(redisson_shared, whose_readers_we_force_out_one_by_one_is_written_then) {
  redisson java{server_, GetParam()};
  EXPECT_EQ(java_reader(java).lock(), "ok");
  EXPECT_EQ(java_reader(java).by(2).lock(), "ok");
  auto const first = java_reader(java).owner();
  auto const second = java_reader(java).by(2).owner();
  auto const waiting = java_writer(java).by(3).lock();
  EXPECT_TRUE(are_listening(shared_channel));
  EXPECT_EQ(force_release(redis_, "prices", {.owner = first}), force_result::deleted);
  EXPECT_TRUE(always(300ms, [&] { return !waiting.is_answered(); }));
  EXPECT_EQ(force_release(redis_, "prices", {.owner = second}), force_result::deleted);
  EXPECT_EQ(waiting, "ok");
}

}  // namespace
}  // namespace holdfast::test
