/// What holds for every exclusive lock on Redisson's wire, whichever side holds it and whichever waits.
#include "beside_redisson.hpp"

#include <holdfast/inspect.hpp>

#include <tuple>

namespace holdfast::test {
namespace {

using testing::AnyOf;
using testing::IsEmpty;

struct exclusive_kind {
  std::string_view title;
  their_lock (redisson::*theirs)(std::string name);
  std::string_view ours;      ///< a title of the registry
  std::string_view shown_in;  ///< the channel or queue of those who wait; empty: there is neither

  friend std::ostream& operator<<(std::ostream& out, exclusive_kind const& k) { return out << k.title; }
};

constexpr exclusive_kind plain{"RLock", &redisson::lock, "mutex_inbox", "redisson_lock__channel:{orders}"};
constexpr exclusive_kind fair{"RFairLock", &redisson::fair_lock, "fair_mutex_inbox",
                              "redisson_lock_queue:{orders}"};
constexpr exclusive_kind writer{"RWriteLock", &redisson::write_lock, "shared_mutex_inbox",
                                "redisson_rwlock:{orders}"};
constexpr exclusive_kind spinning{"RSpinLock", &redisson::spin_lock, "mutex_poll", ""};

using versioned_kind = std::tuple<redisson_version, exclusive_kind>;

class redisson_exclusive : public beside_redisson, public testing::WithParamInterface<versioned_kind> {
 protected:
  [[nodiscard]] redisson_version version() const override { return std::get<0>(GetParam()); }
  [[nodiscard]] static exclusive_kind const& what() { return std::get<1>(GetParam()); }

  [[nodiscard]] their_lock theirs(redisson& java, std::string name = "orders") {
    return (java.*what().theirs)(std::move(name));
  }
  [[nodiscard]] std::unique_ptr<any_lock> ours(client& redis, std::chrono::milliseconds ttl = 30s,
                                               std::string name = "orders") {
    auto const& subject = subject_titled(what().ours);
    return subject.make(redis, std::move(name), {.ttl = ttl, .wake = subject.wake});
  }
  [[nodiscard]] worker our_process(std::chrono::milliseconds ttl) const {
    return beside_redisson::our_process(what().ours, "orders", ttl);
  }

  /// So many processes wait, and sleep; of those that spin, that somebody goes on asking.
  [[nodiscard]] bool wait(std::int64_t processes = 1) {
    std::string const where{what().shown_in};
    if (where.empty()) {
      auto const before = commands_run();
      return eventually(patience, [&] { return commands_run() >= before + 3; });
    }
    if (what().title == fair.title) {
      return eventually(patience, [&] { return std::ssize(list(where)) == processes; }) && all_is_quiet();
    }
    return listen(where, processes);
  }
};

std::string name_of_both(testing::TestParamInfo<versioned_kind> const& of) {
  return std::string{std::get<1>(of.param).title} +
         (std::get<0>(of.param) == redisson_version::current ? "_current" : "_v3_27_2");
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
  auto const lock = ours(listening_);
  EXPECT_EQ(theirs(java).lock(), "ok");
  EXPECT_FALSE(lock->try_acquire_for(0s));
  auto waiting = meanwhile([&] { return lock->try_acquire_for(long_enough); });
  EXPECT_TRUE(wait());
  EXPECT_FALSE(is_over(waiting));
  EXPECT_EQ(theirs(java).unlock(), "ok");
  auto const mine = soon(waiting);
  ASSERT_TRUE(mine);
  EXPECT_TRUE(hash("orders").contains(mine->owner()));
  EXPECT_EQ(theirs(java).try_lock(), "false");
}

TEST_P(redisson_exclusive, is_theirs_as_soon_as_we_release) {
  redisson java{server_, version()};
  auto mine = ours(redis_)->acquire();
  EXPECT_EQ(theirs(java).try_lock(), "false");
  auto const waiting = theirs(java).lock();
  EXPECT_TRUE(wait());
  EXPECT_FALSE(waiting.is_answered());
  EXPECT_EQ(mine.release(), release_result::released);
  EXPECT_EQ(waiting, "ok");
  EXPECT_FALSE(ours(redis_)->try_acquire_for(0s));
  EXPECT_EQ(theirs(java).unlock(), "ok");
  EXPECT_THAT(keys(), IsEmpty());
}

TEST_P(redisson_exclusive, is_given_up_by_either_when_the_time_to_wait_is_over) {
  redisson java{server_, version()};
  {
    auto const mine = ours(redis_)->acquire();
    EXPECT_EQ(theirs(java).try_lock(1s), "false");
    EXPECT_EQ(theirs(java).by(2).try_lock(1s, 30s), "false");
  }
  EXPECT_THAT(keys(), IsEmpty());
  EXPECT_EQ(theirs(java).lock(), "ok");
  EXPECT_FALSE(ours(redis_)->try_acquire_for(300ms));
  EXPECT_TRUE(eventually(patience, [&] { return std::ssize(keys()) == 1; })) << "nobody waits any more";
  EXPECT_EQ(theirs(java).unlock(), "ok");
  EXPECT_TRUE(ours(redis_)->try_acquire_for(0s));
}

TEST_P(redisson_exclusive, that_they_hold_twice_is_ours_after_both_unlocks) {
  redisson java{server_, version()};
  auto const lock = ours(listening_);
  EXPECT_EQ(theirs(java).lock(), "ok");
  EXPECT_EQ(theirs(java).lock(), "ok");
  EXPECT_EQ(theirs(java).hold_count(), "2");
  auto waiting = meanwhile([&] { return lock->try_acquire_for(long_enough); });
  EXPECT_TRUE(wait());
  EXPECT_EQ(theirs(java).unlock(), "ok");
  EXPECT_TRUE(always(300ms, [&] { return !is_over(waiting); }));
  EXPECT_EQ(theirs(java).unlock(), "ok");
  EXPECT_TRUE(soon(waiting));
}

/// The older version sometimes misses a message, and sleeps until the end of the ttl that it saw: so that is
/// short.
TEST_P(redisson_exclusive, loses_no_increment_of_a_counter_to_a_mixed_crowd) {
  redisson java{server_, version(), 10s};
  auto one = our_process(10s);
  auto two = our_process(10s);
  auto const order = "increment " + server_.socket_path() + " counter 50";
  one.say(order);
  two.say(order);
  auto const first = theirs(java).increment("counter", 50);
  auto const second = theirs(java).by(2).increment("counter", 50);
  EXPECT_EQ(one.hear(90s), "ok");
  EXPECT_EQ(two.hear(90s), "ok");
  EXPECT_EQ(first.answer(90s), "ok");
  EXPECT_EQ(second.answer(90s), "ok");
  EXPECT_EQ(raw_.get("counter"), "200");
}

TEST_P(redisson_exclusive, is_renewed_by_both_sides_past_two_ttls) {
  redisson java{server_, version(), 5s};
  auto const mine = ours(redis_, 5s, "ours")->acquire();
  EXPECT_EQ(theirs(java, "theirs").lock(), "ok");
  auto const they_wait = theirs(java, "ours").by(2).try_lock(10500ms);
  EXPECT_FALSE(ours(redis_, 5s, "theirs")->try_acquire_for(10500ms));
  EXPECT_EQ(they_wait, "false");
  EXPECT_TRUE(mine.valid());
  EXPECT_EQ(theirs(java, "theirs").is_held(), "true");
}

TEST_P(redisson_exclusive, is_ours_when_the_ttl_is_over_of_one_of_theirs_that_was_killed) {
  redisson java{server_, version(), 3s};
  EXPECT_EQ(theirs(java).lock(), "ok");
  auto const lock = ours(redis_);
  auto waiting = meanwhile([&] { return lock->try_acquire_for(long_enough); });
  EXPECT_TRUE(wait());
  java.kill9();
  EXPECT_TRUE(soon(waiting));
}

TEST_P(redisson_exclusive, is_theirs_when_the_ttl_is_over_of_one_of_ours_that_was_killed) {
  redisson java{server_, version()};
  auto mine = our_process(3s);
  EXPECT_EQ(mine.ask("acquire").rfind("held ", 0), 0u);
  auto const waiting = theirs(java).lock();
  EXPECT_TRUE(wait());
  mine.kill9();
  if (version() == redisson_version::v3_27_2 && what().title == fair.title) {
    // It may have found the lock still held at the end of the ttl that it saw, and sleeps until it is told
    // then: FOUND.md. To unlock what nobody holds tells it; to unlock what it holds is an error.
    EXPECT_TRUE(eventually(patience, [&] { return raw_.pttl("orders") < 0 || waiting.is_answered(); }));
    theirs(java).by(2).unlock().answer();
  }
  EXPECT_EQ(waiting, "ok");
}

/// The dead one may have been the first of a fair queue, and counts as alive for ten times its recheck.
TEST_P(redisson_exclusive, goes_past_one_of_ours_that_was_killed_while_it_waited) {
  redisson java{server_, version(), 3s};
  EXPECT_EQ(theirs(java).lock(), "ok");
  auto dead = our_process(30s);
  dead.say("acquire");
  EXPECT_TRUE(wait());
  dead.kill9();
  auto const waiting = theirs(java).by(2).try_lock(60s);
  EXPECT_TRUE(wait(what().title == fair.title ? 2 : 1));
  EXPECT_EQ(theirs(java).unlock(), "ok");
  EXPECT_EQ(waiting.answer(45s), "true");
}

/// One of theirs in a fair queue counts as alive for as long as it said it would wait.
TEST_P(redisson_exclusive, goes_past_one_of_theirs_that_was_killed_while_it_waited) {
  redisson java{server_, version()};
  auto mine = ours(redis_, 3s)->acquire();
  auto const dead = theirs(java).try_lock(5s);
  EXPECT_TRUE(wait());
  java.kill9();
  auto const lock = ours(listening_);
  auto waiting = meanwhile([&] { return lock->try_acquire_for(long_enough); });
  EXPECT_TRUE(wait(what().title == fair.title ? 2 : 1));
  EXPECT_EQ(mine.release(), release_result::released);
  EXPECT_TRUE(soon(waiting));
}

TEST_P(redisson_exclusive, that_they_force_open_is_lost_to_us_and_we_are_told_at_the_next_renewal) {
  redisson java{server_, version()};
  auto gone = ours(redis_, 6s)->acquire();
  auto taken = ours(redis_, 6s, "taken")->acquire();
  EXPECT_EQ(theirs(java, "taken").force_unlock(), "true");
  EXPECT_EQ(theirs(java, "taken").lock(), "ok");
  EXPECT_EQ(theirs(java).force_unlock(), "true");
  for (auto const* const mine : {&gone, &taken}) {
    EXPECT_TRUE(eventually(patience, [&] { return mine->lost().stop_requested(); }));
  }
  EXPECT_EQ(gone.lost_because(), loss_cause::key_gone);
  EXPECT_THAT(taken.lost_because(), AnyOf(loss_cause::taken_over, loss_cause::key_gone));
  EXPECT_EQ(taken.release(), release_result::lost);
  EXPECT_EQ(theirs(java, "taken").is_held(), "true");
}

TEST_P(redisson_exclusive, that_we_force_open_goes_to_who_waits_however_often_they_held_it) {
  redisson java{server_, version()};
  EXPECT_EQ(theirs(java).lock(), "ok");
  EXPECT_EQ(theirs(java).lock(), "ok");
  auto const waiting = theirs(java).by(2).lock();
  EXPECT_TRUE(wait());
  auto const seen = inspect(redis_, "orders");
  ASSERT_EQ(seen.holders.size(), 1u);
  EXPECT_EQ(seen.holders.front().count, 2);
  EXPECT_EQ(force_release(redis_, "orders"), force_result::deleted);
  EXPECT_EQ(waiting, "ok");
  EXPECT_EQ(theirs(java).unlock().answer().rfind("error IllegalMonitorStateException: ", 0), 0u);
  EXPECT_EQ(theirs(java).by(2).unlock(), "ok");
  EXPECT_TRUE(eventually([&] { return keys().empty(); })) << "the question stands for two seconds";
}

}  // namespace
}  // namespace holdfast::test
