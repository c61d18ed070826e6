/// Attempts that don't wait, beside acquisitions that wait, in one process.
#include "fault.hpp"

namespace holdfast::test {
namespace {

class who_only_tries : public fault {
 protected:
  /// An acquisition that doesn't wait.
  struct attempt : pending {
    explicit attempt(mutex& m) { m.async_try_acquire_for(0ns, handler()); }
  };

  flaky_proxy proxy_{server_.socket_path()};
  client redis_{proxy_.url(), with_long_timeouts()};
  mutex mutex_{redis_, "orders"};
};

TEST_F(who_only_tries, hears_that_it_is_busy_while_others_go_on_waiting) {
  client holder{server_.url(), with_long_timeouts()};
  mutex holder_mutex{holder, "orders"};
  auto holder_lease = holder_mutex.acquire();
  redis_.connect();
  proxy_.freeze();
  waiter first_waiter{mutex_};
  attempt first_attempt{mutex_};
  waiter second_waiter{mutex_};
  attempt second_attempt{mutex_};
  EXPECT_EQ(redis_.stats().waiting_now, 4u);
  proxy_.thaw();
  ASSERT_TRUE(eventually([&] { return first_attempt.done() && second_attempt.done(); }));
  EXPECT_FALSE(first_attempt.take());
  EXPECT_FALSE(second_attempt.take());
  EXPECT_EQ(redis_.stats().waiting_now, 2u);
  EXPECT_FALSE(first_waiter.done() || second_waiter.done());
  holder_lease.release();
  ASSERT_TRUE(eventually([&] { return first_waiter.done(); }));
  first_waiter.take().release();
  ASSERT_TRUE(eventually([&] { return second_waiter.done(); }));
  EXPECT_TRUE(second_waiter.take().valid());
}

TEST_F(who_only_tries, has_its_turn_before_those_that_came_later) {
  redis_.connect();
  proxy_.freeze();
  attempt first{mutex_};
  waiter second{mutex_};
  attempt third{mutex_};
  proxy_.thaw();
  ASSERT_TRUE(eventually([&] { return first.done() && third.done(); }));
  auto lease = first.take();
  ASSERT_TRUE(lease);
  EXPECT_FALSE(third.take());
  EXPECT_FALSE(second.done());
  lease->release();
  ASSERT_TRUE(eventually([&] { return second.done(); }));
  EXPECT_TRUE(second.take().valid());
}

TEST_F(who_only_tries, leaves_nothing_when_it_is_cancelled_first) {
  redis_.connect();
  proxy_.freeze();
  std::stop_source stop;
  std::atomic<bool> cancelled = false;
  mutex_.async_try_acquire_for(
      0ns, [&](std::optional<lease> const&, std::exception_ptr const&) { cancelled = true; },
      stop.get_token());
  attempt second{mutex_};
  stop.request_stop();
  ASSERT_TRUE(eventually([&] { return cancelled.load(); }));
  EXPECT_FALSE(second.done());
  proxy_.thaw();
  ASSERT_TRUE(eventually([&] { return second.done(); }));
  EXPECT_TRUE(second.take());
  EXPECT_TRUE(nothing_left_behind());
}

}  // namespace
}  // namespace holdfast::test
