/// L4 and L1: a caller that leaves, for any reason, leaves nothing and passes an unused wake-up on.
#include "law.hpp"

#include <thread>

namespace holdfast::test {
namespace {

auto const nothing = std::vector<std::string>{};

class leaving : public law {
 protected:
  /// Releases the lock and cancels its first waiter at about the same moment, 150 times, a little earlier or
  /// later each time. The second waiter must get the lock without a recheck.
  void race(client& first_client, client& second_client) {
    auto holder = connect();
    auto const holder_lock = lock(holder);
    auto const first = lock(first_client);
    auto const second = lock(second_client);
    // A lock that is handed over is granted for two seconds until it is renewed or released. Where that takes
    // the machine longer, the next waiter finds the lock by its own clock, which must not happen repeatedly.
    auto slow_rounds = 0;
    for (auto round = 0; round < 150; ++round) {
      auto const rechecks = second_client.stats().rechecks;
      auto held_lease = holder_lock->acquire();
      std::stop_source stop;
      pending cancelled;
      pending waiting;
      // The reply was busy; or the caller took the position of the round before, which was being given up.
      auto const before = first_client.stats();
      first->async_acquire(cancelled.handler(), stop.get_token());
      ASSERT_TRUE(eventually([&] {
        auto const now = first_client.stats();
        return now.waits > before.waits || now.rechecks > before.rechecks;
      }));
      second->async_acquire(waiting.handler());
      auto const expected = &first_client == &second_client ? 2u : 1u;
      ASSERT_TRUE(eventually([&] { return second_client.stats().waiting_now >= expected; }));
      {
        std::atomic<bool> go = false;
        auto const canceller = std::jthread{[&] {
          while (!go) std::this_thread::yield();
          for (auto const until = boot_now() + round * 2'000; boot_now() < until;) std::this_thread::yield();
          stop.request_stop();
        }};
        go = true;
        held_lease.release();
      }
      ASSERT_TRUE(eventually([&] { return cancelled.done(); })) << "round " << round;
      std::optional<lease> acquired;
      auto const code = code_of([&] { acquired = cancelled.take(); });
      EXPECT_TRUE(acquired || code == errc::cancelled) << code.message();
      if (acquired) acquired->release();
      ASSERT_TRUE(eventually([&] { return waiting.done(); }))
          << "round " << round << ": the wake-up was lost";
      auto last = waiting.take();
      ASSERT_TRUE(last);
      auto const released = last->release() == release_result::released;
      if (!released || second_client.stats().rechecks > rechecks) ++slow_rounds;
    }
    // On Redisson's wire all waiters are notified, and a client that hands the lock on tries again after a
    // moment. With several masters, a client that finds the votes split does so, too.
    if (GetParam().wake != wake::poll && !GetParam().on_redisson() &&
        topology_under_test() != topology::quorum) {
      EXPECT_LE(slow_rounds, 2) << "a wake-up was not passed on";
    }
    // The caller that was cancelled last may still be giving up its position.
    EXPECT_TRUE(nothing_left_behind(raw_));
  }
};
HOLDFAST_LAW(leaving);

TEST_P(leaving, passes_the_wake_up_on_to_another_process_when_cancelled_at_that_moment) {
  auto first = connect({.recheck = 3s});
  auto second = connect({.recheck = 3s});
  race(first, second);
}

TEST_P(leaving, passes_the_wake_up_on_inside_the_process_when_cancelled_at_that_moment) {
  auto redis = connect({.recheck = 3s});
  race(redis, redis);
}

TEST_P(leaving, leaves_nothing_after_a_time_out) {
  auto holder = connect();
  auto lease = lock(holder)->acquire();
  auto const before = leftover_keys(raw_);
  auto redis = connect();
  // A caller whose reply comes only after its deadline has tried, and not waited.
  EXPECT_TRUE(eventually([&] {
    EXPECT_FALSE(lock(redis)->try_acquire_for(150ms));
    return redis.stats().waits == 1;
  }));
  EXPECT_TRUE(eventually([&] { return leftover_keys(raw_) == before; }));
  EXPECT_EQ(redis.stats().waiting_now, 0u);
  EXPECT_EQ(redis.stats().timed_out, 1u);
  lease.release();
  EXPECT_TRUE(nothing_left_behind(raw_)) << "of a caller, also one whose reply came after its deadline";
}

TEST_P(leaving, leaves_nothing_after_cancellation_at_any_moment) {
  auto holder = connect();
  auto lease = lock(holder)->acquire();
  auto const before = leftover_keys(raw_);
  auto redis = connect();
  auto const wanted = lock(redis);
  for (auto round = 0; round < 100; ++round) {
    std::stop_source stop;
    auto const canceller = std::jthread{[&stop, round] {
      for (auto const until = boot_now() + round * 10'000; boot_now() < until;) std::this_thread::yield();
      stop.request_stop();
    }};
    EXPECT_EQ(code_of([&] { (void)wanted->acquire(stop.get_token()); }), errc::cancelled);
  }
  EXPECT_TRUE(eventually([&] { return leftover_keys(raw_) == before; }));
  EXPECT_EQ(redis.stats().waiting_now, 0u);
}

TEST_P(leaving, releases_what_an_acquisition_got_after_it_was_cancelled) {
  auto redis = connect();
  auto const wanted = lock(redis);
  for (auto round = 0; round < 100; ++round) {
    std::stop_source stop;
    pending p;
    wanted->async_acquire(p.handler(), stop.get_token());
    for (auto const until = boot_now() + round * 2'000; boot_now() < until;) std::this_thread::yield();
    stop.request_stop();
    ASSERT_TRUE(eventually([&] { return p.done(); }));
    std::optional<lease> acquired;
    auto const code = code_of([&] { acquired = p.take(); });
    EXPECT_TRUE(acquired || code == errc::cancelled);
    acquired.reset();
    EXPECT_TRUE(eventually([&] { return leftover_keys(raw_).empty(); })) << "round " << round;
  }
  EXPECT_EQ(redis.stats().held_now, 0u);
}

TEST_P(leaving, leaves_nothing_when_an_exception_ends_the_holder) {
  auto redis = connect();
  try {
    auto const lease = lock(redis)->acquire();
    throw 1;
  } catch (int) {
    EXPECT_EQ(leftover_keys(raw_), nothing);
  }
}

TEST_P(leaving, leaves_nothing_when_the_client_is_destroyed_with_leases_and_waiters) {
  auto holder = connect();
  auto other_lease = lock(holder, {}, "other")->acquire();
  lease outliving;
  pending waiter;
  {
    auto redis = connect();
    outliving = lock(redis)->acquire();
    auto const waiting_lock = lock(redis, {}, "other");
    waiting_lock->async_acquire(waiter.handler());
    ASSERT_TRUE(eventually([&] { return redis.stats().waits == 1; }));
  }
  EXPECT_FALSE(outliving.valid());
  EXPECT_EQ(outliving.lost_because(), loss_cause::closed);
  EXPECT_TRUE(eventually([&] { return outliving.lost().stop_requested(); }));
  ASSERT_TRUE(waiter.done());
  auto const code = code_of([&] { waiter.take(); });
  EXPECT_TRUE(code == errc::closed || code == errc::cancelled) << code.message();
  other_lease.release();
  EXPECT_TRUE(eventually([&] { return leftover_keys(raw_).empty(); }));
}

TEST_P(leaving, lets_a_blocked_caller_go_when_the_client_is_destroyed) {
  auto holder = connect();
  auto const lease = lock(holder)->acquire();
  auto redis = std::make_optional(connect());
  auto const wanted = lock(*redis);
  std::error_code code;
  {
    auto const caller = std::jthread{[&] { code = code_of([&] { (void)wanted->acquire(); }); }};
    ASSERT_TRUE(eventually([&] { return redis->stats().waits == 1; }));
    redis.reset();
  }
  EXPECT_EQ(code, errc::closed);
}

}  // namespace
}  // namespace holdfast::test
