/// Waiting by polling: chosen per lock, with a floor and a cap, and where nothing else is possible.
#include "law.hpp"

namespace holdfast::test {
namespace {

class poll : public testing::Test {
 protected:
  /// Half a second after its first wait a client opens its inbox in any case, to receive stop requests.
  void expect_no_subscription_since(std::int64_t begin) {
    auto const subscriptions = proxy_.count("SUBSCRIBE");
    if (boot_now() - begin < 500'000'000) {
      EXPECT_EQ(subscriptions, 0u);
    }
  }

  deployment_under_test server_{};
  flaky_proxy proxy_{server_.socket_path()};
  raw_servers raw_ = server_.raw();
};

TEST_F(poll, is_chosen_for_one_lock_of_a_client_whose_others_are_woken) {
  client holder{server_.url(), with_long_timeouts()};
  mutex held_mutex{holder, "orders"};
  mutex other_mutex{holder, "other"};
  auto first_lease = held_mutex.acquire();
  auto second_lease = other_mutex.acquire();
  client redis{proxy_.url(), with_long_timeouts()};
  mutex spinning{redis, "orders", {.wake = wake::poll}};
  mutex woken{redis, "other"};
  pending first;
  auto const begin = boot_now();
  spinning.async_acquire(first.handler());
  ASSERT_TRUE(eventually([&] { return redis.stats().rechecks >= 3; }));
  EXPECT_EQ(raw_.command({"ZCARD", "{orders}:holdfast_queue"}).integer, 0) << "who polls doesn't queue";
  expect_no_subscription_since(begin);
  pending second;
  woken.async_acquire(second.handler());
  EXPECT_TRUE(eventually([&] { return raw_.command({"ZCARD", "{other}:holdfast_queue"}).integer == 1; }));
  first_lease.release();
  second_lease.release();
  EXPECT_TRUE(eventually([&] { return first.done() && second.done(); }));
}

TEST_F(poll, asks_no_more_often_than_its_floor_and_no_less_than_its_cap) {
  client holder{server_.url(), with_long_timeouts()};
  mutex held_slow{holder, "orders"};
  auto const lease = held_slow.acquire();
  client redis{proxy_.url(), with_long_timeouts({.wake = wake::poll})};
  // Full jitter: a pause is anything up to the bound, half of it on average.
  mutex slow{redis, "orders", {.poll_floor = 10s, .poll_cap = 10s}};
  mutex fast{redis, "fast", {.poll_floor = 1ms, .poll_cap = 4ms}};
  mutex held_fast{holder, "fast"};
  auto const other_lease = held_fast.acquire();
  pending first;
  slow.async_acquire(first.handler());
  ASSERT_TRUE(eventually([&] { return redis.stats().waits == 1; }));
  pending second;
  fast.async_acquire(second.handler());
  EXPECT_TRUE(eventually([&] { return redis.stats().rechecks >= 100; }));
  std::size_t slow_requests = 0;
  for (auto const& r : proxy_.requests()) slow_requests += r.has("orders") ? 1 : 0;
  EXPECT_LT(slow_requests, proxy_.requests().size() / 3);
}

TEST_F(poll, gets_the_lock_through_a_proxy_that_refuses_all_of_pub_sub) {
  proxy_.refuse_pubsub();
  client holder{server_.url(), with_long_timeouts()};
  mutex held_mutex{holder, "orders"};
  auto holder_lease = held_mutex.acquire();
  client redis{proxy_.url(), with_long_timeouts()};
  mutex m{redis, "orders", {.wake = wake::poll}};
  pending waiting;
  auto const begin = boot_now();
  m.async_acquire(waiting.handler());
  ASSERT_TRUE(eventually([&] { return redis.stats().rechecks >= 2; }));
  expect_no_subscription_since(begin);
  holder_lease.release();
  EXPECT_TRUE(eventually([&] { return waiting.done(); }));
  auto lease = waiting.take();
  ASSERT_TRUE(lease);
  EXPECT_EQ(lease->release(), release_result::released);
}

TEST_F(poll, is_no_way_out_for_a_lock_that_insists_on_its_inbox) {
  proxy_.refuse_pubsub();
  client holder{server_.url(), with_long_timeouts()};
  mutex held_mutex{holder, "orders"};
  auto const lease = held_mutex.acquire();
  client redis{proxy_.url(), with_long_timeouts()};
  mutex insisting{redis, "orders", {.wake = wake::inbox}};
  EXPECT_EQ(code_of([&] { (void)insisting.try_acquire_for(20s); }), errc::unauthorized);
  mutex easy{redis, "orders", {}};
  EXPECT_FALSE(easy.try_acquire_for(200ms));
}

TEST_F(poll, is_refused_with_a_floor_above_its_cap) {
  client redis{server_.url(), with_long_timeouts()};
  EXPECT_EQ(code_of([&] { mutex const m{redis, "orders", {.poll_floor = 3ms, .poll_cap = 2ms}}; }),
            std::errc::invalid_argument);
  EXPECT_EQ(code_of([&] { mutex const m{redis, "orders", {.poll_floor = 0ms}}; }),
            std::errc::invalid_argument);
  EXPECT_EQ(code_of([&] { mutex const m{redis, "orders", {.replicas = -1}}; }), std::errc::invalid_argument);
}

}  // namespace
}  // namespace holdfast::test
