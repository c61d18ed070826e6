/// Functions under a lock: their results, their exceptions, and the release of the lock in each case.
#include <holdfast/synchronized.hpp>

#include "law.hpp"

#include <unistd.h>

#include <memory>
#include <stdexcept>
#include <thread>

namespace holdfast::test {
namespace {

static_assert(std::is_trivially_destructible_v<synchronized_options>);
static_assert(std::is_trivially_destructible_v<skip_if_busy>);

class under_lock : public testing::Test {
 protected:
  [[nodiscard]] bool is_held() { return raw_.exists("orders"); }

  deployment_under_test server_{};
  raw_servers raw_ = server_.raw();
  client redis_{server_.url(), with_long_timeouts()};
  mutex lock_{redis_, "orders"};
};

TEST_F(under_lock, runs_a_function_and_returns_its_result) {
  auto const total = synchronized(redis_, "orders", {}, [&] { return is_held() ? 42 : 0; });
  static_assert(std::is_same_v<decltype(total), int const>);
  EXPECT_EQ(total, 42);
  EXPECT_FALSE(is_held());
}

TEST_F(under_lock, runs_a_function_without_a_result) {
  auto held = false;
  synchronized(redis_, "orders", {.lock = {.ttl = 20s}, .wait = 20s}, [&] { held = is_held(); });
  EXPECT_TRUE(held);
}

TEST_F(under_lock, hands_on_references_and_objects_that_can_only_be_moved) {
  auto value = 1;
  auto& same = synchronized(redis_, "orders", {}, [](int& x) -> int& { return x; }, value);
  EXPECT_EQ(&same, &value);
  auto const moved =
      synchronized(redis_, "orders", {}, [](std::unique_ptr<int> x) { return x; }, std::make_unique<int>(7));
  EXPECT_EQ(*moved, 7);
  auto&& temporary = synchronized(redis_, "orders", {}, [&]() -> int&& { return std::move(value); });
  static_assert(std::is_same_v<decltype(temporary), int&&>);
  EXPECT_EQ(&temporary, &value);
}

TEST_F(under_lock, shows_the_lease_to_a_function_that_asks_for_it) {
  auto const token = synchronized(
      redis_, "orders", {}, [](lease const& guard, int factor) { return guard.token() * factor; }, 1);
  EXPECT_GT(synchronized(redis_, "orders", {}, [](lease& guard) { return guard.token(); }), token);
  EXPECT_EQ(synchronized(redis_, "orders", {}, [](auto&&... all) { return sizeof...(all); }), 0u);
}

TEST_F(under_lock, lets_the_function_give_the_lock_back_early) {
  EXPECT_FALSE(synchronized(redis_, "orders", {}, [&](lease& guard) {
    guard.release();
    return is_held();
  }));
}

TEST_F(under_lock, calls_members_as_std_invoke_does) {
  std::string const text = "four";
  EXPECT_EQ(synchronized(redis_, "orders", {}, &std::string::size, text), 4u);
}

TEST_F(under_lock, gives_the_lock_back_when_the_function_throws) {
  EXPECT_THROW(synchronized(redis_, "orders", {}, [] { throw std::runtime_error{"no"}; }),
               std::runtime_error);
  EXPECT_FALSE(is_held());
}

TEST_F(under_lock, never_runs_two_at_once) {
  auto total = 0;
  {
    std::vector<std::jthread> threads;
    for (auto i = 0; i < 8; ++i) {
      threads.emplace_back([&] {
        for (auto n = 0; n < 50; ++n) synchronized(redis_, "orders", {}, [&] { ++total; });
      });
    }
  }
  EXPECT_EQ(total, 400);
}

TEST_F(under_lock, waits_for_the_holder) {
  auto lease = lock_.acquire();
  std::atomic<bool> ran = false;
  std::jthread const other{[&] { synchronized(redis_, "orders", {}, [&] { ran = true; }); }};
  EXPECT_TRUE(eventually([&] { return redis_.stats().waiting_now == 1; }));
  EXPECT_FALSE(ran);
  lease.release();
  EXPECT_TRUE(eventually([&] { return ran.load(); }));
}

TEST_F(under_lock, fails_when_the_lock_stays_busy_and_does_not_call_the_function) {
  auto const lease = lock_.acquire();
  auto ran = false;
  auto const run = [&] { ran = true; };
  EXPECT_EQ(code_of([&] { synchronized(redis_, "orders", {.wait = 0ms}, run); }), errc::busy);
  auto const refusal = failure_of([&] { synchronized(redis_, "orders", {.wait = 20ms}, run); });
  EXPECT_EQ(refusal.code, errc::busy);
  for (auto const& part :
       {std::string{"\"orders\""}, server_.url(), std::string{"20 ms"}, "pid " + std::to_string(getpid())})
    EXPECT_TRUE(refusal.mentions(part)) << part << " in " << refusal;
  EXPECT_FALSE(ran);
}

TEST_F(under_lock, skips_a_function_when_told_so_and_says_whether_it_ran) {
  auto value = 1;
  auto const number = [] { return 42; };
  auto const reference = [&]() -> int& { return value; };
  auto const nothing = [] {};
  {
    auto const lease = lock_.acquire();
    EXPECT_EQ(synchronized(redis_, "orders", skip_if_busy{}, number), std::nullopt);
    EXPECT_FALSE(synchronized(redis_, "orders", skip_if_busy{.wait = 20ms}, reference));
    EXPECT_FALSE(synchronized(redis_, "orders", skip_if_busy{}, nothing));
  }
  EXPECT_EQ(synchronized(redis_, "orders", skip_if_busy{}, number), 42);
  EXPECT_EQ(&synchronized(redis_, "orders", skip_if_busy{}, reference)->get(), &value);
  EXPECT_TRUE(synchronized(redis_, "orders", skip_if_busy{}, nothing));
  auto const empty = synchronized(redis_, "orders", skip_if_busy{}, [] { return std::optional<int>{}; });
  ASSERT_TRUE(empty);
  EXPECT_FALSE(*empty);
}

TEST_F(under_lock, drops_the_result_when_the_lock_was_lost_meanwhile) {
  auto const lose = [&] { raw_.command({"SET", "orders", "somebody", "PX", "60000"}); };
  EXPECT_EQ(code_of([&] { synchronized(redis_, "orders", {}, lose); }), errc::lost);
  EXPECT_EQ(raw_.get("orders"), "somebody");
}

TEST_F(under_lock, says_why_the_lock_was_lost) {
  auto const loss = failure_of([&] {
    synchronized(redis_, "orders", {.lock = {.ttl = 300ms, .watchdog = false}}, [](lease const& guard) {
      EXPECT_TRUE(eventually([&] { return guard.lost().stop_requested(); }));
    });
  });
  EXPECT_EQ(loss.code, errc::lost);
  EXPECT_TRUE(loss.mentions(to_string(loss_cause::limit_reached))) << loss;
}

TEST_F(under_lock, returns_the_result_in_spite_of_a_loss_that_is_to_be_ignored) {
  auto const result = synchronized(redis_, "orders", {.if_lost = if_lost::ignore}, [&] {
    raw_.del("orders");
    return 42;
  });
  EXPECT_EQ(result, 42);
}

TEST_F(under_lock, renews_for_as_long_as_the_function_runs) {
  auto const kept = synchronized(redis_, "orders", {.lock = {.ttl = 3s, .renew_every = 100ms}},
                                 [&] { return always(3500ms, [&] { return is_held(); }); });
  EXPECT_TRUE(kept);
}

TEST_F(under_lock, runs_once_in_the_time_of_a_lock_that_is_kept) {
  auto const report =
      locked(redis_, "orders", skip_if_busy{.lock = {.ttl = 1h, .watchdog = false, .keep = true}},
             [] { return 42; });
  EXPECT_EQ(report(), 42);
  EXPECT_EQ(report(), std::nullopt);
  EXPECT_GT(raw_.pttl("orders"), 3'000'000);
}

TEST_F(under_lock, passes_the_errors_of_the_lock_on) {
  raw_.command({"LPUSH", "orders", "x"});
  EXPECT_EQ(code_of([&] { synchronized(redis_, "orders", {}, [] {}); }), errc::wrong_type);
  auto const invalid = std::make_error_code(std::errc::invalid_argument);
  EXPECT_EQ(code_of([&] { synchronized(redis_, "", {}, [] {}); }), invalid);
}

TEST_F(under_lock, decorates_a_function_with_a_name_made_of_its_arguments) {
  auto const name_of = [](int order) { return "orders:" + std::to_string(order); };
  auto charge = locked(redis_, name_of, {}, [&](int order) { return raw_.exists(name_of(order)); });
  EXPECT_TRUE(charge(42));
  EXPECT_TRUE(std::as_const(charge)(43));
  EXPECT_FALSE(raw_.exists("orders:42"));
}

TEST_F(under_lock, decorates_a_function_with_a_fixed_name) {
  auto const twice = locked(redis_, "orders", {}, [&](int x) { return is_held() ? 2 * x : 0; });
  EXPECT_EQ(twice(21), 42);
  std::function<int(int)> const any =
      locked(redis_, std::string{"orders"}, {.wait = 20s}, [](int x) { return 2 * x; });
  EXPECT_EQ(any(4), 8);
}

TEST_F(under_lock, leaves_the_arguments_of_a_decorated_function_to_it) {
  auto const take = locked(
      redis_, [](std::unique_ptr<int> const& x) { return "orders:" + std::to_string(*x); }, {},
      [](std::unique_ptr<int> x) { return x; });
  EXPECT_EQ(*take(std::make_unique<int>(7)), 7);
  auto const same_text = [](std::string text) { return text; };
  EXPECT_EQ(locked(redis_, same_text, {}, same_text)(std::string{"orders:42"}), "orders:42");
  auto value = 1;
  auto const same = locked(redis_, "orders", {}, [](int& x) -> int& { return x; });
  EXPECT_EQ(&same(value), &value);
}

TEST_F(under_lock, decorates_functions_that_see_the_lease_have_a_state_or_can_only_be_moved) {
  auto count = locked(redis_, "orders", {}, [n = 0](lease const& guard) mutable {
    EXPECT_TRUE(guard.valid());
    return ++n;
  });
  EXPECT_EQ(count(), 1);
  EXPECT_EQ(count(), 2);
  static_assert(!std::is_invocable_v<decltype(count) const&>);
  auto const own = locked(redis_, "orders", {}, [x = std::make_unique<int>(7)] { return *x; });
  EXPECT_EQ(own(), 7);
}

TEST_F(under_lock, decorates_a_function_that_is_skipped_when_the_lock_is_busy) {
  auto const report = locked(redis_, "orders", skip_if_busy{}, [] { return 42; });
  {
    auto const lease = lock_.acquire();
    EXPECT_EQ(report(), std::nullopt);
  }
  EXPECT_EQ(report(), 42);
}

}  // namespace
}  // namespace holdfast::test
