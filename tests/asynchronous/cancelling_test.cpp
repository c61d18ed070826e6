/// Cancellation by the slot of a handler, at each moment.
#include <holdfast/fair_mutex.hpp>

#include <chrono>
#include <memory>
#include <random>
#include <string>

#include "net.hpp"

namespace holdfast::test {
namespace {

class cancelling : public on_asio {
 protected:
  template <class Handler>
  auto cancellable(Handler handler) {
    return net::bind_cancellation_slot(signal_.slot(), here(std::move(handler)));
  }

  net::cancellation_signal signal_{};
};

/// Of clients whose threads bring a lease while nobody runs the io_context.
class cancelling_beside_threads : public cancelling {};

TEST_P(cancelling, ends_an_acquisition_that_waits) {
  auto held = free_lock_.acquire();
  for (auto const how :
       {net::cancellation_type::terminal, net::cancellation_type::partial, net::cancellation_type::total}) {
    outcome<lease> got;
    async_acquire(lock_, cancellable(got.handler()));
    EXPECT_TRUE(run_until([&] { return redis_.stats().waiting_now == 1; }));
    signal_.emit(how);
    ASSERT_TRUE(run());
    EXPECT_TRUE(got.code == net::error::operation_aborted) << got.code;
    EXPECT_EQ(redis_.stats().waiting_now, 0U);
  }
  held.release();
  EXPECT_TRUE(nothing_left_behind());
}

TEST_P(cancelling, ends_one_whose_request_is_under_way) {
  outcome<lease> got;
  async_acquire(lock_, cancellable(got.handler()));
  signal_.emit(net::cancellation_type::total);
  ASSERT_TRUE(run());
  EXPECT_TRUE(got.code == net::error::operation_aborted) << got.code;
  EXPECT_FALSE(got.value.valid());
  EXPECT_TRUE(is_free());
  EXPECT_TRUE(nothing_left_behind());
}

TEST_P(cancelling_beside_threads, takes_back_a_lease_whose_handler_was_not_called_yet) {
  outcome<lease> got;
  async_acquire(lock_, cancellable(got.handler()));
  EXPECT_TRUE(eventually([&] { return redis_.stats().held_now == 1; })) << "beside the io_context";
  signal_.emit(net::cancellation_type::total);
  ASSERT_TRUE(run());
  EXPECT_TRUE(got.code == net::error::operation_aborted) << got.code;
  EXPECT_FALSE(got.value.valid());
  EXPECT_TRUE(is_free());
}

TEST_P(cancelling, comes_too_late_when_the_handler_was_called) {
  outcome<lease> got;
  async_acquire(lock_, cancellable(got.handler()));
  ASSERT_TRUE(run());
  signal_.emit(net::cancellation_type::total);
  EXPECT_FALSE(got.code);
  EXPECT_TRUE(got.value.valid());
}

TEST_P(cancelling, needs_an_executor) {
  std::error_code said;
  try {
    (void)async_acquire(lock_, net::bind_cancellation_slot(signal_.slot(), net::use_future)).get();
  } catch (error const& e) {
    said = e.code();
  }
  EXPECT_EQ(said, std::errc::invalid_argument);
}

TEST_P(cancelling, of_a_wait_for_a_condition_brings_the_lease_back) {
  condition changed{redis_, "orders"};
  outcome<lease> got;
  async_wait(changed, lock_.acquire(),
             cancellable([inner = got.handler()](error_code ec, lease held, std::cv_status) mutable {
               inner(ec, std::move(held));
             }));
  EXPECT_TRUE(run_until([&] { return raw_.exists("{orders}:holdfast_condition"); }));
  signal_.emit(net::cancellation_type::total);
  ASSERT_TRUE(run());
  EXPECT_FALSE(got.code) << got.code;
  EXPECT_TRUE(got.value.valid());
}

TEST_P(cancelling, is_passed_on_by_coroutines_and_thrown) {
  auto const held = free_lock_.acquire();
  std::exception_ptr failure;
  bool ended = false;
  net::co_spawn(
      io_, [&]() -> net::awaitable<void> { (void)co_await async_acquire(lock_, net::use_awaitable); },
      cancellable([&](std::exception_ptr thrown) {
        failure = thrown;
        ended = true;
      }));
  EXPECT_TRUE(run_until([&] { return redis_.stats().waiting_now == 1; }));
  signal_.emit(net::cancellation_type::terminal);
  ASSERT_TRUE(run());
  ASSERT_TRUE(ended);
  EXPECT_THROW(std::rethrow_exception(failure), system_error);
}

/// Coroutines that want one lock, with two clients, and are cancelled at any moment.
template <class Lock>
net::awaitable<void> contend(Lock& lock, std::mt19937& random, int& inside, int& outcomes) {
  auto const where = co_await net::this_coro::executor;
  for (int round = 0; round != 10; ++round) {
    auto const signal = std::make_shared<net::cancellation_signal>();
    net::steady_timer timer{where, std::chrono::microseconds{random() % 3000}};
    timer.async_wait([signal](error_code ec) {
      if (!ec) signal->emit(net::cancellation_type::total);
    });
    auto token = net::bind_cancellation_slot(signal->slot(), as_tuple(net::use_awaitable));
    auto [failed, held] = co_await async_acquire(lock, token);
    ++outcomes;
    if (failed) {
      EXPECT_TRUE(failed == net::error::operation_aborted) << failed;
      continue;
    }
    EXPECT_EQ(++inside, 1);
    co_await net::post(where, net::use_awaitable);
    EXPECT_TRUE(held.valid());
    --inside;
    if (random() % 2 == 0) co_await async_release(held, net::use_awaitable);
  }
}

class cancelling_at_random : public on_asio {
 protected:
  template <class Lock>
  void run_with(Lock& mine, Lock& others) {
    auto const seed = std::random_device{}();
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random{seed};
    int inside = 0;
    int outcomes = 0;
    for (int i = 0; i != 8; ++i) {
      net::co_spawn(io_, contend(i % 2 == 0 ? mine : others, random, inside, outcomes), net::detached);
    }
    ASSERT_TRUE(run());
    EXPECT_EQ(outcomes, 80);
    for (auto* const each : {&redis_, &other_client_}) {
      EXPECT_TRUE(run_until([&] { return each->stats().held_now == 0 && each->stats().waiting_now == 0; }));
    }
    EXPECT_TRUE(nothing_left_behind());
  }
  template <class Lock>
  void run_with_two_of() {
    Lock mine{redis_, "orders"};
    Lock others{other_client_, "orders"};
    run_with(mine, others);
  }
};

TEST_P(cancelling_at_random, leaves_nothing_of_a_mutex) { run_with_two_of<mutex>(); }
TEST_P(cancelling_at_random, leaves_nothing_of_a_fair_mutex) { run_with_two_of<fair_mutex>(); }
TEST_P(cancelling_at_random, leaves_nothing_of_a_writer) { run_with_two_of<shared_mutex>(); }
TEST_P(cancelling_at_random, leaves_nothing_of_permits) {
  expiring_semaphore mine{redis_, "orders", 1};
  expiring_semaphore others{other_client_, "orders", 1};
  run_with(mine, others);
}
TEST_P(cancelling_at_random, leaves_nothing_of_several_names) {
  multi_mutex mine{redis_, {"a", "b"}};
  multi_mutex others{other_client_, {"b", "a"}};
  run_with(mine, others);
}

INSTANTIATE_TEST_SUITE_P(clients, cancelling, both_places(), name_of);
INSTANTIATE_TEST_SUITE_P(clients, cancelling_beside_threads, testing::Values(place::own_threads), name_of);
INSTANTIATE_TEST_SUITE_P(clients, cancelling_at_random, both_places(), name_of);

}  // namespace
}  // namespace holdfast::test
