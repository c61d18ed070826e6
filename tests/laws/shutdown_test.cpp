/// The end of a client in order: waiters leave, holders finish, nobody comes.
#include <holdfast/fence.hpp>
#include <holdfast/latch.hpp>
#include <holdfast/multi_mutex.hpp>
#include <holdfast/semaphore.hpp>

#include <future>
#include <thread>

#include "law.hpp"

namespace holdfast::test {
namespace {

class shutdown_of_a_client : public testing::Test {
 protected:
  [[nodiscard]] bool waiting(std::uint64_t callers) {
    return eventually([&] { return redis_.stats().waiting_now == callers; });
  }

  deployment_under_test server_{};
  raw_servers raw_ = server_.raw();
  client redis_{server_.url(), with_long_timeouts()};
  client elsewhere_{server_.url(), with_long_timeouts()};
};

TEST_F(shutdown_of_a_client, gives_holders_their_time) {
  mutex m{redis_, "orders"};
  fence store{redis_, "orders"};
  auto held_lease = m.acquire();
  auto const token = held_lease.token();
  std::jthread const holder{[&, held = std::move(held_lease)]() mutable {
    // Nobody gets a lock any more once a try is refused: the shutdown has begun.
    mutex other{redis_, "other"};
    EXPECT_TRUE(eventually([&] { return code_of([&] { (void)other.try_acquire(); }) == errc::closed; }));
    EXPECT_TRUE(held.valid());
    held.renew();
    EXPECT_EQ(store.set("{orders}:total", "17", held), fence_result::written);
    EXPECT_EQ(held.release(), release_result::released);
  }};
  EXPECT_TRUE(redis_.shutdown(60s));
  EXPECT_GT(token, 0);
  EXPECT_FALSE(raw_.exists("orders"));
  EXPECT_EQ(redis_.stats().lost, 0u);
}

TEST_F(shutdown_of_a_client, lets_waiters_go_at_once) {
  mutex theirs{elsewhere_, "orders"};
  auto const busy_lease = theirs.acquire();
  mutex m{redis_, "orders"};
  multi_mutex both{redis_, {"orders", "a"}};
  semaphore permits{redis_, "permits"};
  latch closed{elsewhere_, "ready"};
  closed.try_set_count(1);
  latch ready{redis_, "ready"};
  pending by_callback;
  pending_wait for_permits;
  pending_wait for_latch;
  m.async_acquire(by_callback.handler());
  permits.async_acquire(for_permits.handler());
  ready.async_wait(for_latch.handler());
  std::error_code blocked;
  std::jthread caller{[&] { blocked = code_of([&] { (void)both.acquire(); }); }};
  ASSERT_TRUE(waiting(4));
  mutex free{redis_, "free"};
  std::jthread holder{[&, held = free.acquire()]() mutable {
    EXPECT_TRUE(eventually([&] { return by_callback.done() && for_permits.done() && for_latch.done(); }));
    EXPECT_TRUE(held.valid()) << "they leave before the holder does";
    held.release();
  }};
  EXPECT_TRUE(redis_.shutdown(60s));
  EXPECT_EQ(code_of([&] { by_callback.take(); }), errc::closed);
  EXPECT_TRUE(for_permits.failed() && for_latch.failed());
  holder.join();
  caller.join();
  EXPECT_EQ(blocked, errc::closed);
  EXPECT_TRUE(eventually([&] { return redis_.stats().waiting_now == 0; }));
}

TEST_F(shutdown_of_a_client, takes_from_holders_what_they_have_after_their_time) {
  mutex m{redis_, "orders"};
  mutex locked{redis_, "locked"};
  auto held_lease = m.acquire();
  locked.lock();
  EXPECT_FALSE(redis_.shutdown(50ms));
  EXPECT_FALSE(held_lease.valid());
  EXPECT_EQ(held_lease.lost_because(), loss_cause::closed);
  EXPECT_FALSE(locked.current().valid());
  EXPECT_FALSE(raw_.exists("orders") || raw_.exists("locked"));
  EXPECT_EQ(held_lease.release(), release_result::lost);
  EXPECT_EQ(code_of([&] { locked.unlock(); }), std::error_code{});
}

TEST_F(shutdown_of_a_client, is_at_once_without_holders_and_may_be_repeated) {
  EXPECT_TRUE(redis_.shutdown(1h));
  EXPECT_TRUE(redis_.shutdown(-1s));
  EXPECT_EQ(code_of([&] { mutex const m{redis_, "orders"}; }), errc::closed);
  EXPECT_EQ(code_of([&] { redis_.connect(); }), errc::closed);
}

/// The lock object may go before its acquisition is over.
TEST(a_pending_acquisition, goes_on_when_its_lock_is_destroyed) {
  deployment_under_test server;
  client redis{server.url(), with_long_timeouts()};
  client elsewhere{server.url(), with_long_timeouts()};
  mutex theirs{elsewhere, "orders"};
  auto busy_lease = theirs.acquire();
  pending outcome;
  {
    mutex brief{redis, "orders"};
    brief.async_acquire(outcome.handler());
    ASSERT_TRUE(eventually([&] { return redis.stats().waits == 1; }));
  }
  EXPECT_FALSE(outcome.done());
  busy_lease.release();
  ASSERT_TRUE(eventually([&] { return outcome.done(); }));
  auto acquired = outcome.take();
  ASSERT_TRUE(acquired);
  EXPECT_TRUE(acquired->valid());
  EXPECT_EQ(acquired->release(), release_result::released);
}

TEST(a_pending_acquisition, of_a_lock_that_is_destroyed_can_be_cancelled) {
  deployment_under_test server;
  client redis{server.url(), with_long_timeouts()};
  client elsewhere{server.url(), with_long_timeouts()};
  mutex theirs{elsewhere, "orders"};
  multi_mutex theirs_too{elsewhere, {"{m}a"}};
  auto const busy_lease = theirs.acquire();
  auto const busy_too = theirs_too.acquire();
  std::stop_source stop;
  pending outcome;
  std::promise<bool> failed;
  {
    mutex brief{redis, "orders"};
    brief.async_acquire(outcome.handler(), stop.get_token());
    multi_mutex several{redis, {"{m}a", "{m}b"}};
    several.async_acquire([&](std::optional<multi_lease>,
                              std::exception_ptr const& failure) { failed.set_value(failure != nullptr); },
                          stop.get_token());
    ASSERT_TRUE(eventually([&] { return redis.stats().waits == 2; }));
  }
  stop.request_stop();
  ASSERT_TRUE(eventually([&] { return outcome.done(); }));
  EXPECT_EQ(code_of([&] { outcome.take(); }), errc::cancelled);
  EXPECT_TRUE(failed.get_future().get());
}

}  // namespace
}  // namespace holdfast::test
