/// Work that is cancelled when its lease is lost.
#include <stdexcept>
#include <string>

#include "net.hpp"

namespace holdfast::test {
namespace {

class work_under_a_lease : public on_asio {
 protected:
  /// Waits for as long as it isn't cancelled.
  net::awaitable<void> wait_for_ever() {
    net::steady_timer timer{co_await net::this_coro::executor, std::chrono::steady_clock::time_point::max()};
    began_ = true;
    co_await timer.async_wait(net::use_awaitable);
  }

  bool began_ = false;
};

TEST_P(work_under_a_lease, returns_its_result) {
  run([&]() -> net::awaitable<void> {
    auto const held = co_await async_acquire(lock_, net::use_awaitable);
    auto const answer = [](int number) -> net::awaitable<std::string> { co_return std::to_string(number); };
    auto const result = co_await with_lease(held, answer(42));
    EXPECT_EQ(result, "42");
    EXPECT_TRUE(held.valid()) << "it isn't given back";
  });
}

TEST_P(work_under_a_lease, is_cancelled_by_its_loss_which_says_why) {
  auto const said = failure_of([&] {
    run([&]() -> net::awaitable<void> {
      auto held = co_await async_acquire(lock_, net::use_awaitable);
      net::co_spawn(
          io_,
          [&]() -> net::awaitable<void> {
            while (!began_) co_await net::post(io_, net::use_awaitable);
            raw_.del("orders");
            co_await async_renew(held, as_tuple(net::use_awaitable));
          },
          net::detached);
      co_await with_lease(held, wait_for_ever());
    });
  });
  EXPECT_EQ(said.code, errc::lost);
  EXPECT_TRUE(said.mentions("\"orders\"") && said.mentions("the key is gone")) << said;
}

TEST_P(work_under_a_lease, that_ends_well_in_spite_of_its_loss_may_not_have_been_alone) {
  auto const said = failure_of([&] {
    run([&]() -> net::awaitable<void> {
      auto held = co_await async_acquire(lock_, net::use_awaitable);
      auto const heedless = [&]() -> net::awaitable<int> {
        raw_.del("orders");
        co_await async_renew(held, as_tuple(net::use_awaitable));
        co_return 1;
      };
      auto const result = co_await with_lease(held, heedless());
      ADD_FAILURE() << result;
    });
  });
  EXPECT_EQ(said.code, errc::lost);
}

TEST_P(work_under_a_lease, throws_what_it_throws) {
  EXPECT_THROW(run([&]() -> net::awaitable<void> {
                 auto const held = co_await async_acquire(lock_, net::use_awaitable);
                 auto const failing = []() -> net::awaitable<void> {
                   throw std::out_of_range{"mine"};
                   co_return;
                 };
                 co_await with_lease(held, failing());
               }),
               std::out_of_range);
}

TEST_P(work_under_a_lease, is_not_begun_without_one) {
  auto const said = failure_of([&] {
    run([&]() -> net::awaitable<void> {
      lease const none;
      co_await with_lease(none, wait_for_ever());
    });
  });
  EXPECT_EQ(said.code, errc::lost);
  EXPECT_FALSE(began_);
}

TEST_P(work_under_a_lease, is_cancelled_with_the_coroutine_that_awaits_it) {
  net::cancellation_signal signal;
  std::exception_ptr failure;
  bool ended = false;
  net::co_spawn(
      io_,
      [&]() -> net::awaitable<void> {
        auto const held = co_await async_acquire(lock_, net::use_awaitable);
        co_await with_lease(held, wait_for_ever());
      },
      net::bind_cancellation_slot(signal.slot(), here([&](std::exception_ptr thrown) {
                                    failure = thrown;
                                    ended = true;
                                  })));
  EXPECT_TRUE(run_until([&] { return began_; }));
  signal.emit(net::cancellation_type::terminal);
  ASSERT_TRUE(run());
  ASSERT_TRUE(ended);
  EXPECT_THROW(std::rethrow_exception(failure), system_error);
  EXPECT_TRUE(is_free());
}

TEST_P(work_under_a_lease, may_have_several_names) {
  multi_mutex several{redis_, {"a", "b"}};
  auto const said = failure_of([&] {
    run([&]() -> net::awaitable<void> {
      auto held = co_await async_acquire(several, net::use_awaitable);
      auto const heedless = [&]() -> net::awaitable<void> {
        raw_.del("a");
        co_await async_renew(held.parts().front(), as_tuple(net::use_awaitable));
      };
      co_await with_lease(held, heedless());
    });
  });
  EXPECT_EQ(said.code, errc::lost);
  EXPECT_TRUE(said.mentions("\"a\" and others")) << said;
}

INSTANTIATE_TEST_SUITE_P(clients, work_under_a_lease, both_places(), name_of);

}  // namespace
}  // namespace holdfast::test
