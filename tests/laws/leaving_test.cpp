/// L4 and L1: whoever leaves, for whatever reason, leaves nothing and passes an unused wake-up on.
#include "law.hpp"

#include <thread>

namespace holdfast::test {
namespace {

auto const nothing = std::vector<std::string>{};

class leaving : public law {
 protected:
  /// 150 times: the lock is released and its first waiter cancelled at about the same moment, a little
  /// earlier or later each time. The second waiter must get it without having to ask by itself.
  void race(client& of_first, client& of_second) {
    auto holder = connect();
    auto const held = lock(holder);
    auto const first = lock(of_first);
    auto const second = lock(of_second);
    // A lock that is handed over is had for two seconds until it is renewed or given back. Where that takes
    // the machine longer, the next one finds it by its own clock; that may happen, but not again and again.
    auto slow_rounds = 0;
    for (auto round = 0; round < 150; ++round) {
      auto const rechecks = of_second.stats().rechecks;
      auto mine = held->acquire();
      std::stop_source stop;
      pending cancelled;
      pending waiting;
      // Told that it is busy; or in the place of the round before, which was just being given up.
      auto const before = of_first.stats();
      first->async_acquire(cancelled.handler(), stop.get_token());
      ASSERT_TRUE(eventually([&] {
        auto const now = of_first.stats();
        return now.waits > before.waits || now.rechecks > before.rechecks;
      }));
      second->async_acquire(waiting.handler());
      auto const expected = &of_first == &of_second ? 2u : 1u;
      ASSERT_TRUE(eventually([&] { return of_second.stats().waiting_now >= expected; }));
      {
        std::atomic<bool> go = false;
        auto const canceller = std::jthread{[&] {
          while (!go) std::this_thread::yield();
          for (auto const until = boot_now() + round * 2'000; boot_now() < until;) std::this_thread::yield();
          stop.request_stop();
        }};
        go = true;
        mine.release();
      }
      ASSERT_TRUE(eventually([&] { return cancelled.done(); })) << "round " << round;
      std::optional<lease> got;
      auto const code = code_of([&] { got = cancelled.take(); });
      EXPECT_TRUE(got || code == errc::cancelled) << code.message();
      if (got) got->release();
      ASSERT_TRUE(eventually([&] { return waiting.done(); }))
          << "round " << round << ": the wake-up was lost";
      auto last = waiting.take();
      ASSERT_TRUE(last);
      auto const released = last->release() == release_result::released;
      if (!released || of_second.stats().rechecks > rechecks) ++slow_rounds;
    }
    // On Redisson's wire everybody hears of it, and one that hands the lock on asks again after a moment; so
    // does, of several masters, whoever finds the votes split.
    if (GetParam().wake != wake::poll && !GetParam().on_redisson() &&
        topology_under_test() != topology::quorum) {
      EXPECT_LE(slow_rounds, 2) << "a wake-up was not passed on";
    }
    EXPECT_EQ(residue(), nothing);
  }
};
HOLDFAST_LAW(leaving);

TEST_P(leaving, passes_the_wake_up_on_to_another_process_when_cancelled_at_that_moment) {
  auto first = connect({.recheck = 3s});
  auto second = connect({.recheck = 3s});
  race(first, second);
}

TEST_P(leaving, passes_the_wake_up_on_inside_the_process_when_cancelled_at_that_moment) {
  auto both = connect({.recheck = 3s});
  race(both, both);
}

TEST_P(leaving, leaves_nothing_after_a_time_out) {
  auto holder = connect();
  auto mine = lock(holder)->acquire();
  auto const before = residue();
  auto redis = connect();
  // Who is answered only when its time is up has tried, and not waited.
  EXPECT_TRUE(eventually([&] {
    EXPECT_FALSE(lock(redis)->try_acquire_for(150ms));
    return redis.stats().waits == 1;
  }));
  EXPECT_TRUE(eventually([&] { return residue() == before; }));
  EXPECT_EQ(redis.stats().waiting_now, 0u);
  EXPECT_EQ(redis.stats().timed_out, 1u);
  mine.release();
  EXPECT_EQ(residue(), nothing);
}

TEST_P(leaving, leaves_nothing_after_cancellation_at_any_moment) {
  auto holder = connect();
  auto mine = lock(holder)->acquire();
  auto const before = residue();
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
  EXPECT_TRUE(eventually([&] { return residue() == before; }));
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
    std::optional<lease> got;
    auto const code = code_of([&] { got = p.take(); });
    EXPECT_TRUE(got || code == errc::cancelled);
    got.reset();
    EXPECT_TRUE(eventually([&] { return residue().empty(); })) << "round " << round;
  }
  EXPECT_EQ(redis.stats().held_now, 0u);
}

TEST_P(leaving, leaves_nothing_when_an_exception_ends_the_holder) {
  auto redis = connect();
  try {
    auto const mine = lock(redis)->acquire();
    throw 1;
  } catch (int) {
    EXPECT_EQ(residue(), nothing);
  }
}

TEST_P(leaving, leaves_nothing_when_the_client_is_destroyed_with_leases_and_waiters) {
  auto holder = connect();
  auto other = lock(holder, {}, "other")->acquire();
  lease outliving;
  pending waiter;
  {
    auto redis = connect();
    outliving = lock(redis)->acquire();
    auto const waiting = lock(redis, {}, "other");
    waiting->async_acquire(waiter.handler());
    ASSERT_TRUE(eventually([&] { return redis.stats().waits == 1; }));
  }
  EXPECT_FALSE(outliving.valid());
  EXPECT_EQ(outliving.lost_because(), loss_cause::closed);
  EXPECT_TRUE(eventually([&] { return outliving.lost().stop_requested(); }));
  ASSERT_TRUE(waiter.done());
  auto const code = code_of([&] { waiter.take(); });
  EXPECT_TRUE(code == errc::closed || code == errc::cancelled) << code.message();
  other.release();
  EXPECT_TRUE(eventually([&] { return residue().empty(); }));
}

TEST_P(leaving, lets_a_blocked_caller_go_when_the_client_is_destroyed) {
  auto holder = connect();
  auto const mine = lock(holder)->acquire();
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
