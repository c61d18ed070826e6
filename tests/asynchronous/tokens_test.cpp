/// Each operation, with each token.
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <thread>

#include <holdfast/fence.hpp>

#include "net.hpp"

namespace holdfast::test {
namespace {

class tokens : public on_asio {};

TEST_P(tokens, callback_is_called_on_its_executor) {
  outcome<lease> got;
  std::thread::id where;
  async_acquire(lock_, here([&, inner = got.handler()](error_code ec, lease held) mutable {
                  where = std::this_thread::get_id();
                  inner(ec, std::move(held));
                }));
  EXPECT_FALSE(got.called) << "not inside the initiating function";
  ASSERT_TRUE(run()) << "the executor has work until the handler was called";
  ASSERT_TRUE(got.called);
  EXPECT_FALSE(got.code);
  EXPECT_TRUE(got.value.valid());
  EXPECT_EQ(where, std::this_thread::get_id());
}

TEST_P(tokens, callback_without_an_executor_is_called_where_those_of_locks_are) {
  auto const beside = run_beside();
  std::promise<bool> held;
  async_acquire(lock_, [&held](error_code ec, lease got) { held.set_value(!ec && got.valid()); });
  EXPECT_TRUE(held.get_future().get());
}

TEST_P(tokens, callback_may_be_movable_only) {
  auto once = std::make_unique<bool>(false);
  auto const& called = *once;
  bool freed_with_it = false;
  async_acquire(lock_, here([&, once = std::move(once)](error_code, lease) {
                  *once = true;
                  freed_with_it = called;
                }));
  ASSERT_TRUE(run());
  EXPECT_TRUE(freed_with_it);
}

TEST_P(tokens, future_brings_the_lease) {
  auto const beside = run_beside();
  auto got = async_acquire(lock_, net::use_future).get();
  EXPECT_TRUE(got.valid());
  EXPECT_EQ(async_release(got, net::use_future).get(), release_result::released);
  EXPECT_TRUE(is_free());
}

TEST_P(tokens, awaitable_brings_the_lease) {
  run([&]() -> net::awaitable<void> {
    auto got = co_await async_acquire(lock_, net::use_awaitable);
    EXPECT_TRUE(got.valid());
    auto const how = co_await async_release(got, net::use_awaitable);
    EXPECT_EQ(how, release_result::released);
  });
}

TEST_P(tokens, deferred_begins_when_it_is_called) {
  auto begins_later = async_acquire(lock_, deferred);
  EXPECT_EQ(redis_.stats().commands, 0U);
  outcome<lease> got;
  std::move(begins_later)(here(got.handler()));
  ASSERT_TRUE(run());
  EXPECT_TRUE(got.value.valid());
}

TEST_P(tokens, tuple_has_the_error_code_in_front) {
  auto const held = free_lock_.acquire();
  run([&]() -> net::awaitable<void> {
    auto [busy, none] = co_await async_try_acquire_for(lock_, 1ms, as_tuple(net::use_awaitable));
    EXPECT_FALSE(busy);
    EXPECT_FALSE(none) << "a busy lock is no error";
  });
}

TEST_P(tokens, failure_is_a_code_for_who_sees_codes_and_an_error_with_all_its_words_for_others) {
  raw_.command({"LPUSH", "orders", "something else"});
  outcome<lease> got;
  async_acquire(lock_, here(got.handler()));
  ASSERT_TRUE(run());
  EXPECT_TRUE(got.code == make_error_code(errc::wrong_type)) << got.code;
  EXPECT_FALSE(got.value.valid());

  auto const thrown = failure_of([&] {
    auto const beside = run_beside();
    (void)async_acquire(lock_, net::use_future).get();
  });
  EXPECT_EQ(thrown.code, errc::wrong_type);
  EXPECT_TRUE(thrown.mentions("orders")) << thrown;
  auto const awaited = failure_of([&] {
    run([&]() -> net::awaitable<void> { (void)co_await async_acquire(lock_, net::use_awaitable); });
  });
  EXPECT_EQ(awaited.code, errc::wrong_type);
  EXPECT_TRUE(awaited.mentions("orders")) << awaited;
}

TEST_P(tokens, failure_to_begin_goes_to_the_handler) {
  redis_.shutdown(0s);
  outcome<lease> got;
  async_acquire(lock_, here(got.handler()));
  EXPECT_FALSE(got.called);
  ASSERT_TRUE(run());
  EXPECT_TRUE(got.code == make_error_code(errc::closed)) << got.code;
}

TEST_P(tokens, leases_of_all_kinds_are_brought) {
  shared_mutex shared{redis_, "prices"};
  expiring_semaphore slots{redis_, "slots", 4};
  multi_mutex several{redis_, {"a", "b"}};
  election leaders{redis_, "leaders"};
  run([&]() -> net::awaitable<void> {
    {
      auto const reading = co_await async_acquire_shared(shared, net::use_awaitable);
      auto const beside = co_await async_try_acquire_shared_for(shared, 1s, net::use_awaitable);
      EXPECT_TRUE(reading && beside);
    }
    auto upgradable = co_await async_acquire_upgrade(shared, net::use_awaitable);
    auto [failed, writing, upgraded] =
        co_await async_upgrade(shared, std::move(upgradable), as_tuple(net::use_awaitable));
    EXPECT_TRUE(!failed && writing.valid() && upgraded);

    auto const one = co_await async_acquire(slots, net::use_awaitable);
    auto const three = co_await async_acquire(slots, 3, net::use_awaitable);
    auto const none = co_await async_try_acquire(slots, net::use_awaitable);
    EXPECT_TRUE(one && three && !none);

    auto both = co_await async_acquire(several, net::use_awaitable);
    EXPECT_TRUE(both.valid());
    auto const given_back = co_await async_release(both, net::use_awaitable);
    EXPECT_EQ(given_back, release_result::released);

    auto const leading = co_await async_campaign(leaders, "here", net::use_awaitable);
    auto const second = co_await async_try_campaign_for(leaders, "there", 1ms, net::use_awaitable);
    EXPECT_TRUE(leading && !second);
  });
}

TEST_P(tokens, what_is_no_lease_is_brought_too) {
  semaphore permits{redis_, "permits", 3};
  latch open{redis_, "latch"};
  barrier alone{redis_, "barrier", 1};
  fence resource{redis_, "resource"};
  run([&]() -> net::awaitable<void> {
    co_await async_acquire(permits, 2, net::use_awaitable);
    auto const more = co_await async_try_acquire_for(permits, 0s, 2, net::use_awaitable);
    EXPECT_FALSE(more);
    co_await async_release(permits, 2, net::use_awaitable);
    EXPECT_EQ(permits.available(), 3);
    EXPECT_TRUE(open.try_set_count(3));
    auto const first = co_await async_count_down(open, "shard-1", net::use_awaitable);
    auto const second = co_await async_count_down(open, "shard-1", net::use_awaitable);
    EXPECT_TRUE(first && !second);
    co_await async_count_down(open, 2, net::use_awaitable);
    co_await async_wait(open, net::use_awaitable);
    auto const generation = co_await async_arrive_and_wait(alone, net::use_awaitable);
    EXPECT_GT(generation, 0);
    auto const begin = [&](auto done) { resource.async_set("{resource}", "value", 7, std::move(done)); };
    auto const said = co_await initiate(async::from<fence_result>(begin), net::use_awaitable);
    EXPECT_EQ(said, fence_result::written);
  });
  EXPECT_EQ(raw_.get("{resource}"), "value");
}

TEST_P(tokens, what_counts_says_what_is_wrong) {
  semaphore permits{redis_, "permits"};
  latch closed{redis_, "latch"};
  error_code released;
  async_release(permits, 0, here([&](error_code code) { released = code; }));
  outcome<bool> counted;
  async_count_down(closed, "", here(counted.handler()));
  ASSERT_TRUE(run());
  EXPECT_EQ(released, std::errc::invalid_argument);
  EXPECT_EQ(counted.code, std::errc::invalid_argument);
  raw_.command({"RPUSH", "permits", "no number"});
  async_release(permits, 1, here([&](error_code code) { released = code; }));
  ASSERT_TRUE(run());
  EXPECT_TRUE(released == errc::wrong_type) << released;
}

TEST_P(tokens, what_counts_may_be_destroyed_meanwhile) {
  std::vector<error_code> codes;
  auto const note = [&](error_code code) { codes.push_back(code); };
  {
    semaphore permits{redis_, "permits"};
    async_release(permits, 2, here(note));
    latch closed{redis_, "latch"};
    async_count_down(closed, 1, here(note));
  }
  ASSERT_TRUE(run());
  EXPECT_EQ(codes, (std::vector<error_code>{{}, {}}));
  EXPECT_EQ((semaphore{redis_, "permits"}.available()), 2);
}

TEST_P(tokens, wait_for_a_condition_brings_the_lease_back) {
  condition changed{redis_, "orders"};
  run([&]() -> net::awaitable<void> {
    auto held = co_await async_acquire(lock_, net::use_awaitable);
    auto const before = held.token();
    auto [failed, again, status] =
        co_await async_wait_for(changed, std::move(held), 1ms, as_tuple(net::use_awaitable));
    EXPECT_TRUE(!failed && again.valid()) << failed;
    EXPECT_EQ(status, std::cv_status::timeout);
    EXPECT_GT(again.token(), before);
  });
}

TEST_P(tokens, renewal_asks_for_a_full_ttl_or_says_that_the_lease_is_lost) {
  run([&]() -> net::awaitable<void> {
    auto held = co_await async_acquire(lock_, net::use_awaitable);
    raw_.command({"PEXPIRE", "orders", "20000"});
    co_await async_renew(held, net::use_awaitable);
    EXPECT_GT(raw_.pttl("orders"), 20'000);
    raw_.del("orders");
    error_code failed;
    std::tie(failed) = co_await async_renew(held, as_tuple(net::use_awaitable));
    EXPECT_TRUE(failed == make_error_code(errc::lost)) << failed;
    EXPECT_EQ(held.lost_because(), loss_cause::key_gone);
  });
}

INSTANTIATE_TEST_SUITE_P(clients, tokens, both_places(), name_of);

}  // namespace
}  // namespace holdfast::test
