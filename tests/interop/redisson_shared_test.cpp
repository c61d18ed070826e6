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
  [[nodiscard]] static their_lock their_reader(redisson& java) { return java.read_lock("prices"); }
  [[nodiscard]] static their_lock their_writer(redisson& java) { return java.write_lock("prices"); }
  [[nodiscard]] std::future<std::optional<lease>> we_wait_to_write() {
    return meanwhile([this] { return ours_.try_acquire_for(long_enough); });
  }
  [[nodiscard]] std::future<std::optional<lease>> we_wait_to_read() {
    return meanwhile([this] { return ours_.try_acquire_shared_for(long_enough); });
  }

  shared_mutex ours_{listening_, "prices"};
  shared_mutex other_of_ours_{redis_, "prices"};
};

INSTANTIATE_TEST_SUITE_P(all, redisson_shared,
                         testing::Values(redisson_version::current, redisson_version::v3_27_2),
                         name_of_version);

TEST_P(redisson_shared, is_read_by_both_together_and_written_by_neither) {
  redisson java{server_, GetParam()};
  EXPECT_EQ(their_reader(java).lock(), "ok");
  auto const reading = ours_.try_acquire_shared();
  ASSERT_TRUE(reading);
  auto const reading_too = other_of_ours_.try_acquire_shared();
  ASSERT_TRUE(reading_too);
  EXPECT_EQ(their_reader(java).by(2).try_lock(), "true");
  EXPECT_THAT(hash("prices"), UnorderedElementsAre(Pair("mode", "read"), Pair(reading->owner(), "1"),
                                                   Pair(their_reader(java).owner(), "1"),
                                                   Pair(their_reader(java).by(2).owner(), "1"),
                                                   Pair(reading_too->owner(), "1")));
  EXPECT_FALSE(other_of_ours_.try_acquire());
  EXPECT_EQ(their_writer(java).by(3).try_lock(), "false");
}

TEST_P(redisson_shared, is_written_by_us_when_their_last_reader_has_gone) {
  redisson java{server_, GetParam()};
  EXPECT_EQ(their_reader(java).lock(), "ok");
  EXPECT_EQ(their_reader(java).lock(), "ok");
  EXPECT_EQ(their_reader(java).by(2).lock(), "ok");
  EXPECT_EQ(their_reader(java).hold_count(), "2");
  auto waiting = we_wait_to_write();
  EXPECT_TRUE(listen(shared_channel));
  EXPECT_EQ(their_reader(java).unlock(), "ok");
  EXPECT_EQ(their_reader(java).unlock(), "ok");
  EXPECT_TRUE(always(300ms, [&] { return !is_over(waiting); }));
  EXPECT_EQ(their_reader(java).by(2).unlock(), "ok");
  EXPECT_TRUE(soon(waiting));
  EXPECT_THAT(keys(), IsEmpty());
}

TEST_P(redisson_shared, is_written_by_them_when_our_last_reader_has_gone) {
  redisson java{server_, GetParam()};
  auto first = ours_.acquire_shared();
  auto second = other_of_ours_.acquire_shared();
  auto const waiting = their_writer(java).lock();
  EXPECT_TRUE(listen(shared_channel));
  EXPECT_EQ(first.release(), release_result::released);
  EXPECT_TRUE(always(300ms, [&] { return !waiting.is_answered(); }));
  EXPECT_EQ(second.release(), release_result::released);
  EXPECT_EQ(waiting, "ok");
  EXPECT_FALSE(other_of_ours_.try_acquire_shared());
  EXPECT_EQ(their_writer(java).unlock(), "ok");
  EXPECT_THAT(keys(), IsEmpty());
}

TEST_P(redisson_shared, is_read_by_all_of_us_when_their_writer_has_gone) {
  redisson java{server_, GetParam()};
  EXPECT_EQ(their_writer(java).lock(), "ok");
  auto first = we_wait_to_read();
  auto second = we_wait_to_read();
  EXPECT_TRUE(listen(shared_channel));
  EXPECT_FALSE(is_over(first) || is_over(second));
  EXPECT_EQ(their_writer(java).unlock(), "ok");
  auto const one = soon(first);
  auto const two = soon(second);
  EXPECT_TRUE(one && two && one->valid() && two->valid());
}

TEST_P(redisson_shared, is_read_by_all_of_them_when_our_writer_has_gone) {
  redisson java{server_, GetParam()};
  redisson other{server_, GetParam()};
  auto mine = ours_.acquire();
  auto const first = their_reader(java).lock();
  auto const second = their_reader(java).by(2).lock();
  auto const third = their_reader(other).lock();
  EXPECT_TRUE(listen(shared_channel, 2));
  EXPECT_TRUE(always(300ms, [&] { return !second.is_answered(); }));
  EXPECT_EQ(mine.release(), release_result::released);
  EXPECT_EQ(first, "ok");
  EXPECT_EQ(second, "ok");
  EXPECT_EQ(third, "ok");
}

TEST_P(redisson_shared, that_we_downgrade_lets_their_readers_in_at_once_and_no_writer) {
  redisson java{server_, GetParam()};
  redisson other{server_, GetParam()};
  auto writing = ours_.acquire();
  auto const they_read = their_reader(java).lock();
  EXPECT_TRUE(listen(shared_channel));
  auto reading = ours_.downgrade(std::move(writing));
  EXPECT_EQ(they_read, "ok");
  EXPECT_EQ(their_writer(java).by(3).try_lock(), "false");
  auto const they_write = their_writer(other).lock();
  EXPECT_TRUE(listen(shared_channel));
  EXPECT_EQ(their_reader(java).unlock(), "ok");
  EXPECT_EQ(reading.release(), release_result::released);
  EXPECT_EQ(they_write, "ok");
}

/// They say nothing to those who wait; ours look again every second.
TEST_P(redisson_shared, that_they_downgrade_lets_our_readers_in_long_before_the_ttl) {
  redisson java{server_, GetParam()};
  EXPECT_EQ(their_writer(java).lock(), "ok");
  auto waiting = meanwhile([&] { return other_of_ours_.try_acquire_shared_for(long_enough); });
  EXPECT_TRUE(listen(shared_channel));
  EXPECT_EQ(their_reader(java).lock(), "ok");
  EXPECT_FALSE(is_over(waiting));
  EXPECT_EQ(their_writer(java).unlock(), "ok");
  EXPECT_TRUE(soon(waiting));
  EXPECT_FALSE(ours_.try_acquire());
}

TEST_P(redisson_shared, has_its_readers_renewed_by_both_sides_past_two_ttls) {
  redisson java{server_, GetParam(), 5s};
  auto const mine = shared_mutex{redis_, "prices", {.ttl = 5s}}.acquire_shared();
  EXPECT_EQ(their_reader(java).lock(), "ok");
  EXPECT_EQ(java.read_lock("theirs").lock(), "ok");
  auto const they_wait = their_writer(java).by(2).try_lock(10500ms);
  EXPECT_FALSE(shared_mutex(redis_, "theirs").try_acquire_for(10500ms));
  EXPECT_EQ(they_wait, "false");
  EXPECT_TRUE(mine.valid());
  EXPECT_EQ(their_reader(java).is_held(), "true");
}

TEST_P(redisson_shared, is_written_by_us_when_the_ttl_is_over_of_a_reader_of_theirs_that_was_killed) {
  redisson java{server_, GetParam(), 3s};
  EXPECT_EQ(their_reader(java).lock(), "ok");
  auto waiting = meanwhile([&] { return other_of_ours_.try_acquire_for(long_enough); });
  EXPECT_TRUE(listen(shared_channel));
  java.kill9();
  EXPECT_TRUE(soon(waiting));
}

TEST_P(redisson_shared, is_written_by_them_when_the_ttl_is_over_of_a_reader_of_ours_that_was_killed) {
  redisson java{server_, GetParam()};
  auto mine = our_process(shared_reader.title, "prices", 3s);
  EXPECT_EQ(mine.ask("acquire").rfind("held ", 0), 0u);
  auto const waiting = their_writer(java).lock();
  EXPECT_TRUE(listen(shared_channel));
  mine.kill9();
  EXPECT_EQ(waiting, "ok");
}

TEST_P(redisson_shared, goes_on_with_the_readers_that_are_left_when_one_of_either_side_is_killed) {
  redisson killed{server_, GetParam(), 3s};
  redisson java{server_, GetParam(), 5s};
  auto dead = our_process(shared_reader.title, "prices", 3s);
  auto mine = shared_mutex{redis_, "prices", {.ttl = 5s}}.acquire_shared();
  EXPECT_EQ(their_reader(java).lock(), "ok");
  EXPECT_EQ(their_reader(killed).lock(), "ok");
  EXPECT_EQ(dead.ask("acquire").rfind("held ", 0), 0u);
  killed.kill9();
  dead.kill9();
  EXPECT_EQ(their_writer(java).by(2).try_lock(4s), "false");
  EXPECT_TRUE(mine.valid());
  EXPECT_EQ(their_reader(java).is_held(), "true");
  auto waiting = meanwhile([&] { return other_of_ours_.try_acquire_for(long_enough); });
  EXPECT_EQ(their_reader(java).unlock(), "ok");
  EXPECT_EQ(mine.release(), release_result::released);
  EXPECT_TRUE(soon(waiting));
}

TEST_P(redisson_shared, whose_readers_they_force_out_is_lost_to_us_and_we_are_told) {
  redisson java{server_, GetParam()};
  auto mine = shared_mutex{redis_, "prices", {.ttl = 6s}}.acquire_shared();
  EXPECT_EQ(their_writer(java).force_unlock(), "false");
  EXPECT_EQ(their_reader(java).force_unlock(), "true");
  EXPECT_TRUE(eventually(patience, [&] { return mine.lost().stop_requested(); }));
  EXPECT_EQ(mine.lost_because(), loss_cause::key_gone);
  EXPECT_EQ(mine.release(), release_result::lost);
}

TEST_P(redisson_shared, whose_readers_we_force_out_one_by_one_is_written_then) {
  redisson java{server_, GetParam()};
  EXPECT_EQ(their_reader(java).lock(), "ok");
  EXPECT_EQ(their_reader(java).by(2).lock(), "ok");
  auto const first = their_reader(java).owner();
  auto const second = their_reader(java).by(2).owner();
  auto const waiting = their_writer(java).by(3).lock();
  EXPECT_TRUE(listen(shared_channel));
  EXPECT_EQ(force_release(redis_, "prices", {.owner = first}), force_result::deleted);
  EXPECT_TRUE(always(300ms, [&] { return !waiting.is_answered(); }));
  EXPECT_EQ(force_release(redis_, "prices", {.owner = second}), force_result::deleted);
  EXPECT_EQ(waiting, "ok");
}

}  // namespace
}  // namespace holdfast::test
