/// holdfast::condition, without a thread that waits: what differs from the blocking waits.
#include "waiting.hpp"

#include <holdfast/condition.hpp>
#include <holdfast/mutex.hpp>
#include <holdfast/recursive_mutex.hpp>
#include <holdfast/shared_mutex.hpp>

#include <gmock/gmock.h>
#include <future>
#include <memory>

namespace holdfast::test {
namespace {

using testing::HasSubstr;

std::string const all_waiting = "{orders}:holdfast_condition";

struct wait_end {
  lease held;
  std::cv_status status;
  std::exception_ptr failure;
};

class notifying_callbacks : public two_clients {
 protected:
  using end = std::future<wait_end>;

  /// `handler` sets the future.
  static std::pair<condition::wait_handler, end> handler() {
    auto const told = std::make_shared<std::promise<wait_end>>();
    return {[told](lease held, std::cv_status status, std::exception_ptr failure) {
              told->set_value({std::move(held), status, std::move(failure)});
            },
            told->get_future()};
  }
  /// Without a limit unless `time` is given.
  static end begin(condition& on, lease held, std::optional<std::chrono::milliseconds> time = {},
                   std::stop_token stop = {}) {
    auto [done, told] = handler();
    if (time) {
      on.async_wait_for(std::move(held), *time, std::move(done), std::move(stop));
    } else {
      on.async_wait(std::move(held), std::move(done), std::move(stop));
    }
    return std::move(told);
  }
  static void expect_held(end& told, std::cv_status status) {
    auto const outcome = told.get();
    EXPECT_FALSE(outcome.failure);
    EXPECT_TRUE(outcome.held.valid());
    EXPECT_EQ(outcome.status, status);
  }
  [[nodiscard]] bool are_waiting(std::int64_t count) {
    return eventually([&] { return raw_.command({"ZCARD", all_waiting}).integer == count; });
  }
  static bool is_done(end const& told) { return told.wait_for(0s) == std::future_status::ready; }

  mutex here_{first_client_, "orders", {.ttl = 20s}};
  mutex there_{second_client_, "orders", {.ttl = 20s}};
  condition changed_here_{first_client_, "orders"};
  condition changed_there_{second_client_, "orders"};
};

TEST_F(notifying_callbacks, ends_the_waits_one_by_one_in_the_order_in_which_they_began) {
  std::vector<end> waits;
  for (int i = 0; i != 4; ++i) {
    waits.push_back(i % 2 == 0 ? begin(changed_here_, here_.acquire())
                               : begin(changed_there_, there_.acquire(), 60s));
    ASSERT_TRUE(are_waiting(i + 1));
  }
  for (std::size_t i = 0; i != waits.size(); ++i) {
    EXPECT_EQ(changed_there_.notify_one(), 1);
    expect_held(waits[i], std::cv_status::no_timeout);
    for (auto next = i + 1; next != waits.size(); ++next) EXPECT_FALSE(is_done(waits[next])) << next;
  }
  EXPECT_EQ(changed_here_.notify_one(), 0);
}

TEST_F(notifying_callbacks, gives_back_the_lease_with_its_listeners_and_a_greater_token) {
  auto held = here_.acquire();
  auto const before = held.token();
  std::promise<loss_cause> heard;
  held.on_lost([&heard](loss_cause cause) { heard.set_value(cause); });
  auto told = begin(changed_here_, std::move(held), 1ms);
  auto outcome = told.get();
  EXPECT_EQ(outcome.status, std::cv_status::timeout);
  EXPECT_GT(outcome.held.token(), before);
  raw_.command({"SET", "orders", "somebody", "PX", "20000"});
  EXPECT_EQ(code_of([&] { outcome.held.renew(); }), errc::lost);
  EXPECT_EQ(heard.get_future().get(), loss_cause::taken_over);
}

TEST_F(notifying_callbacks, lets_the_callback_wait_again_though_the_condition_is_destroyed) {
  auto changed = std::make_unique<condition>(first_client_, "orders");
  condition again{first_client_, "orders"};
  std::promise<end> second;
  changed->async_wait(here_.acquire(), [&](lease held, std::cv_status, std::exception_ptr) {
    second.set_value(begin(again, std::move(held)));
  });
  changed.reset();
  ASSERT_TRUE(are_waiting(1));
  EXPECT_EQ(changed_there_.notify_one(), 1);
  auto told = second.get_future().get();
  ASSERT_TRUE(are_waiting(1));
  EXPECT_EQ(changed_there_.notify_one(), 1);
  expect_held(told, std::cv_status::no_timeout);
}

TEST_F(notifying_callbacks, ends_a_wait_that_is_stopped_and_holds_the_lock) {
  std::stop_source stop;
  auto told = begin(changed_here_, here_.acquire(), {}, stop.get_token());
  ASSERT_TRUE(are_waiting(1));
  auto other = there_.acquire();
  stop.request_stop();
  EXPECT_TRUE(are_waiting(0));
  EXPECT_FALSE(is_done(told)) << "another has the lock";
  other.release();
  expect_held(told, std::cv_status::no_timeout);
  auto at_once = begin(changed_here_, here_.acquire(), {}, stop.get_token());
  expect_held(at_once, std::cv_status::no_timeout);
}

TEST_F(notifying_callbacks, throws_and_keeps_the_lease_where_no_wait_can_begin) {
  auto const refusal_of = [this](lease held) {
    auto [done, told] = handler();
    auto const failure = failure_of([&] { changed_here_.async_wait(std::move(held), std::move(done)); });
    EXPECT_EQ(failure.code, std::errc::invalid_argument);
    EXPECT_TRUE(held.valid());  // NOLINT(*-use-after-move): it is as before
    return failure.message;
  };
  EXPECT_THAT(refusal_of(there_.acquire()), HasSubstr("or of another client"));
  shared_mutex shared{first_client_, "orders"};
  auto upgraded = shared.acquire_upgrade();
  shared.upgrade(upgraded);
  EXPECT_THAT(refusal_of(std::move(upgraded)), HasSubstr("was an upgrade lease"));
  auto held = here_.acquire();
  EXPECT_EQ(code_of([&] { changed_here_.async_wait(std::move(held), {}); }), std::errc::invalid_argument);
  EXPECT_TRUE(held.valid());  // NOLINT(*-use-after-move)
}

TEST_F(notifying_callbacks, tells_of_a_lease_that_can_not_be_laid_down) {
  recursive_mutex recursive{first_client_, "orders"};
  auto held = recursive.acquire();
  {
    auto const inner = recursive.reenter(held);
    auto told = begin(changed_here_, std::move(held)).get();
    EXPECT_EQ(code_of([&] { std::rethrow_exception(told.failure); }),
              std::errc::resource_deadlock_would_occur);
    held = std::move(told.held);
    EXPECT_TRUE(held.valid());
  }
  raw_.del("orders");
  auto const lost = begin(changed_here_, std::move(held)).get();
  EXPECT_EQ(code_of([&] { std::rethrow_exception(lost.failure); }), errc::lost);
  EXPECT_EQ(lost.held.lost_because(), loss_cause::key_gone);
  EXPECT_EQ(changed_there_.notify_all(), 0);
}

TEST_F(notifying_callbacks, ends_the_wait_of_a_client_that_ends) {
  client third{server_.url(), with_long_timeouts()};
  mutex lock{third, "orders"};
  condition changed{third, "orders"};
  auto told = begin(changed, lock.acquire());
  ASSERT_TRUE(are_waiting(1));
  EXPECT_TRUE(third.shutdown(60s));
  auto const outcome = told.get();
  EXPECT_EQ(code_of([&] { std::rethrow_exception(outcome.failure); }), errc::closed);
  EXPECT_EQ(outcome.held.lost_because(), loss_cause::closed);
  EXPECT_EQ(changed_here_.notify_all(), 0);
}

}  // namespace
}  // namespace holdfast::test
