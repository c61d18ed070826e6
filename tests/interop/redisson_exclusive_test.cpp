/// Properties of every exclusive lock on Redisson's wire, with holder and waiter on either side.
#include "beside_redisson.hpp"

#include <holdfast/inspect.hpp>

#include <tuple>

namespace holdfast::test {
namespace {

using testing::AnyOf;
using testing::IsEmpty;

struct exclusive_kind {
  std::string_view title;
  r_lock (redisson::*java_lock)(std::string name);
  std::string_view subject_title;     ///< a title of a subject
  std::string_view channel_or_queue;  ///< the channel or queue of the waiters; empty: there is neither

  friend std::ostream& operator<<(std::ostream& out, exclusive_kind const& k) { return out << k.title; }
};

constexpr exclusive_kind plain{"RLock", &redisson::lock, "mutex_inbox", "redisson_lock__channel:{orders}"};
constexpr exclusive_kind fair{"RFairLock", &redisson::fair_lock, "fair_mutex_inbox",
                              "redisson_lock_queue:{orders}"};
constexpr exclusive_kind writer{"RWriteLock", &redisson::write_lock, "shared_mutex_redisson",
                                "redisson_rwlock:{orders}"};
constexpr exclusive_kind spinning{"RSpinLock", &redisson::spin_lock, "mutex_poll", ""};

using versioned_kind = std::tuple<redisson_version, exclusive_kind>;

class redisson_exclusive : public beside_redisson, public testing::WithParamInterface<versioned_kind> {
 protected:
  [[nodiscard]] redisson_version version() const override { return std::get<0>(GetParam()); }
  [[nodiscard]] static exclusive_kind const& kind() { return std::get<1>(GetParam()); }

  [[nodiscard]] r_lock java_lock(redisson& java, std::string name = "orders") {
    return (java.*kind().java_lock)(std::move(name));
  }
  [[nodiscard]] std::unique_ptr<any_lock> holdfast_lock(client& redis, std::chrono::milliseconds ttl = 30s,
                                                        std::string name = "orders") {
    auto const& subject = subject_titled(kind().subject_title);
    return subject.make(redis, std::move(name), {.ttl = ttl, .wake = subject.wake});
  }
  [[nodiscard]] worker holdfast_process(std::chrono::milliseconds ttl) const {
    return beside_redisson::holdfast_process(kind().subject_title, "orders", ttl);
  }

  /// Whether `processes` processes wait, and sleep; for spin locks, whether some process goes on sending
  /// requests.
  [[nodiscard]] bool are_waiting(std::int64_t processes = 1) {
    std::string const channel_or_queue{kind().channel_or_queue};
    if (channel_or_queue.empty()) {
      auto const before = commands_run();
      return eventually(time_limit, [&] { return commands_run() >= before + 3; });
    }
    if (kind().title == fair.title) {
      return eventually(time_limit, [&] { return std::ssize(list(channel_or_queue)) == processes; }) &&
             is_idle();
    }
    return are_listening(channel_or_queue, processes);
  }
};

std::string name_of_both(testing::TestParamInfo<versioned_kind> const& info) {
  return std::string{std::get<1>(info.param).title} +
         (std::get<0>(info.param) == redisson_version::current ? "_current" : "_v3_27_2");
}

INSTANTIATE_TEST_SUITE_P(current, redisson_exclusive,
                         testing::Combine(testing::Values(redisson_version::current),
                                          testing::Values(plain, fair, writer, spinning)),
                         name_of_both);
INSTANTIATE_TEST_SUITE_P(old, redisson_exclusive,
                         testing::Combine(testing::Values(redisson_version::v3_27_2),
                                          testing::Values(plain, fair, writer)),
                         name_of_both);

TEST_P(redisson_exclusive, is_ours_as_soon_as_they_unlock) {
  redisson java{server_, version()};
  auto const lock = holdfast_lock(listening_);
  EXPECT_EQ(java_lock(java).lock(), "ok");
  EXPECT_FALSE(lock->try_acquire_for(0s));
  auto waiting = run_async([&] { return lock->try_acquire_for(acquire_timeout); });
  EXPECT_TRUE(are_waiting());
  EXPECT_FALSE(is_done(waiting));
  EXPECT_EQ(java_lock(java).unlock(), "ok");
  auto const lease = await_result(waiting);
  ASSERT_TRUE(lease);
  EXPECT_TRUE(hash("orders").contains(lease->owner()));
  EXPECT_EQ(java_lock(java).try_lock(), "false");
}

TEST_P(redisson_exclusive, is_theirs_as_soon_as_we_release) {
  redisson java{server_, version()};
  auto lease = holdfast_lock(redis_)->acquire();
  EXPECT_EQ(java_lock(java).try_lock(), "false");
  auto const waiting = java_lock(java).lock();
  EXPECT_TRUE(are_waiting());
  EXPECT_FALSE(waiting.is_answered());
  EXPECT_EQ(lease.release(), release_result::released);
  EXPECT_EQ(waiting, "ok");
  EXPECT_FALSE(holdfast_lock(redis_)->try_acquire_for(0s));
  EXPECT_EQ(java_lock(java).unlock(), "ok");
  EXPECT_THAT(keys(), IsEmpty());
}

TEST_P(redisson_exclusive, is_given_up_by_either_when_the_time_to_wait_is_over) {
  redisson java{server_, version()};
  {
    auto const lease = holdfast_lock(redis_)->acquire();
    EXPECT_EQ(java_lock(java).try_lock(1s), "false");
    EXPECT_EQ(java_lock(java).by(2).try_lock(1s, 30s), "false");
  }
  EXPECT_THAT(keys(), IsEmpty());
  EXPECT_EQ(java_lock(java).lock(), "ok");
  EXPECT_FALSE(holdfast_lock(redis_)->try_acquire_for(300ms));
  EXPECT_TRUE(eventually(time_limit, [&] { return std::ssize(keys()) == 1; })) << "nobody waits any more";
  EXPECT_EQ(java_lock(java).unlock(), "ok");
  EXPECT_TRUE(holdfast_lock(redis_)->try_acquire_for(0s));
}

TEST_P(redisson_exclusive, that_they_hold_twice_is_ours_after_both_unlocks) {
  redisson java{server_, version()};
  auto const lock = holdfast_lock(listening_);
  EXPECT_EQ(java_lock(java).lock(), "ok");
  EXPECT_EQ(java_lock(java).lock(), "ok");
  EXPECT_EQ(java_lock(java).hold_count(), "2");
  auto waiting = run_async([&] { return lock->try_acquire_for(acquire_timeout); });
  EXPECT_TRUE(are_waiting());
  EXPECT_EQ(java_lock(java).unlock(), "ok");
  EXPECT_TRUE(always(300ms, [&] { return !is_done(waiting); }));
  EXPECT_EQ(java_lock(java).unlock(), "ok");
  EXPECT_TRUE(await_result(waiting));
}

/// The older version sometimes misses a message, and sleeps until the end of the ttl that it has read: so
/// this ttl is short.
TEST_P(redisson_exclusive, loses_no_increment_of_a_counter_to_a_mixed_crowd) {
  redisson java{server_, version(), 10s};
  auto first_process = holdfast_process(10s);
  auto second_process = holdfast_process(10s);
  auto const order = "increment " + server_.socket_path() + " counter 50";
  first_process.write_line(order);
  second_process.write_line(order);
  auto const first = java_lock(java).increment("counter", 50);
  auto const second = java_lock(java).by(2).increment("counter", 50);
  EXPECT_EQ(first_process.read_line(90s), "ok");
  EXPECT_EQ(second_process.read_line(90s), "ok");
  EXPECT_EQ(first.answer(90s), "ok");
  EXPECT_EQ(second.answer(90s), "ok");
  EXPECT_EQ(raw_.get("counter"), "200");
}

TEST_P(redisson_exclusive, is_renewed_by_both_sides_past_two_ttls) {
  redisson java{server_, version(), 5s};
  auto const lease = holdfast_lock(redis_, 5s, "ours")->acquire();
  EXPECT_EQ(java_lock(java, "theirs").lock(), "ok");
  auto const java_waiter = java_lock(java, "ours").by(2).try_lock(10500ms);
  EXPECT_FALSE(holdfast_lock(redis_, 5s, "theirs")->try_acquire_for(10500ms));
  EXPECT_EQ(java_waiter, "false");
  EXPECT_TRUE(lease.valid());
  EXPECT_EQ(java_lock(java, "theirs").is_held(), "true");
}

TEST_P(redisson_exclusive, is_ours_when_the_ttl_is_over_of_one_of_theirs_that_was_killed) {
  redisson java{server_, version(), 3s};
  EXPECT_EQ(java_lock(java).lock(), "ok");
  auto const lock = holdfast_lock(redis_);
  auto waiting = run_async([&] { return lock->try_acquire_for(acquire_timeout); });
  EXPECT_TRUE(are_waiting());
  java.kill9();
  EXPECT_TRUE(await_result(waiting));
}

TEST_P(redisson_exclusive, is_theirs_when_the_ttl_is_over_of_one_of_ours_that_was_killed) {
  redisson java{server_, version()};
  auto holder = holdfast_process(3s);
  EXPECT_EQ(holder.reply_to("acquire").rfind("held ", 0), 0u);
  auto const waiting = java_lock(java).lock();
  EXPECT_TRUE(are_waiting());
  holder.kill9();
  if (version() == redisson_version::v3_27_2 && kind().title == fair.title) {
    // It may have found the lock still held at the end of the ttl that it had read, and then sleeps until the
    // next message: FOUND.md. The unlock of a free lock publishes one; the unlock of a lock of another owner
    // is an error.
    EXPECT_TRUE(eventually(time_limit, [&] { return raw_.pttl("orders") < 0 || waiting.is_answered(); }));
    java_lock(java).by(2).unlock().answer();
  }
  EXPECT_EQ(waiting, "ok");
}

/// The dead waiter may have been the first of a fair queue. It counts as alive for ten times its recheck.
TEST_P(redisson_exclusive, goes_past_one_of_ours_that_was_killed_while_it_waited) {
  redisson java{server_, version(), 3s};
  EXPECT_EQ(java_lock(java).lock(), "ok");
  auto dead = holdfast_process(30s);
  dead.write_line("acquire");
  EXPECT_TRUE(are_waiting());
  dead.kill9();
  auto const waiting = java_lock(java).by(2).try_lock(60s);
  EXPECT_TRUE(are_waiting(kind().title == fair.title ? 2 : 1));
  EXPECT_EQ(java_lock(java).unlock(), "ok");
  EXPECT_EQ(waiting.answer(45s), "true");
}

/// A waiter of Redisson in a fair queue counts as alive for the time that it announced.
TEST_P(redisson_exclusive, goes_past_one_of_theirs_that_was_killed_while_it_waited) {
  redisson java{server_, version()};
  auto lease = holdfast_lock(redis_, 3s)->acquire();
  auto const dead = java_lock(java).try_lock(5s);
  EXPECT_TRUE(are_waiting());
  java.kill9();
  auto const lock = holdfast_lock(listening_);
  auto waiting = run_async([&] { return lock->try_acquire_for(acquire_timeout); });
  EXPECT_TRUE(are_waiting(kind().title == fair.title ? 2 : 1));
  EXPECT_EQ(lease.release(), release_result::released);
  EXPECT_TRUE(await_result(waiting));
}

TEST_P(redisson_exclusive, that_they_force_open_is_lost_to_us_and_we_are_told_at_the_next_renewal) {
  redisson java{server_, version()};
  auto gone = holdfast_lock(redis_, 6s)->acquire();
  auto taken = holdfast_lock(redis_, 6s, "taken")->acquire();
  EXPECT_EQ(java_lock(java, "taken").force_unlock(), "true");
  EXPECT_EQ(java_lock(java, "taken").lock(), "ok");
  EXPECT_EQ(java_lock(java).force_unlock(), "true");
  for (auto const* const lease : {&gone, &taken}) {
    EXPECT_TRUE(eventually(time_limit, [&] { return lease->lost().stop_requested(); }));
  }
  EXPECT_EQ(gone.lost_because(), loss_cause::key_gone);
  EXPECT_THAT(taken.lost_because(), AnyOf(loss_cause::taken_over, loss_cause::key_gone));
  EXPECT_EQ(taken.release(), release_result::lost);
  EXPECT_EQ(java_lock(java, "taken").is_held(), "true");
}

TEST_P(redisson_exclusive, that_we_force_open_goes_to_who_waits_however_often_they_held_it) {
  redisson java{server_, version()};
  EXPECT_EQ(java_lock(java).lock(), "ok");
  EXPECT_EQ(java_lock(java).lock(), "ok");
  auto const waiting = java_lock(java).by(2).lock();
  EXPECT_TRUE(are_waiting());
  auto const snapshot = inspect(redis_, "orders");
  ASSERT_EQ(snapshot.holders.size(), 1u);
  EXPECT_EQ(snapshot.holders.front().count, 2);
  EXPECT_EQ(force_release(redis_, "orders"), force_result::deleted);
  EXPECT_EQ(waiting, "ok");
  EXPECT_EQ(java_lock(java).unlock().answer().rfind("error IllegalMonitorStateException: ", 0), 0u);
  EXPECT_EQ(java_lock(java).by(2).unlock(), "ok");
  EXPECT_TRUE(eventually([&] { return keys().empty(); })) << "the question stands for two seconds";
}

}  // namespace
}  // namespace holdfast::test
