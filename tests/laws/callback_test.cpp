/// The operations that a callback may perform on its client.
#include <algorithm>
#include <atomic>
#include <functional>
#include <future>
#include <stdexcept>

#include "law.hpp"

namespace holdfast::test {
namespace {

TEST(callback, that_throws_is_logged_and_harms_nobody) {
  deployment_under_test server;
  std::atomic<int> complaints = 0;
  client redis{server.url(), {.log = [&](log_level level, std::string_view) {
                 if (level == log_level::error) ++complaints;
               }}};
  mutex m{redis, "orders"};
  m.async_acquire([](std::optional<lease>, std::exception_ptr const&) { throw std::runtime_error{"mine"}; });
  EXPECT_TRUE(eventually([&] { return complaints == 1; }));
  EXPECT_TRUE(m.try_acquire_for(20s)) << "the lease that the callback dropped is released";
}

TEST(callback, may_be_a_function_that_can_only_be_moved) {
  deployment_under_test server;
  client redis{server.url(), with_long_timeouts()};
  mutex m{redis, "orders"};
  auto held_lease = m.acquire();
  std::promise<loss_cause> lost;
  auto const cause = lost.get_future();
  held_lease.on_lost([lost = std::move(lost)](loss_cause why) mutable { lost.set_value(why); });
  std::promise<release_result> released;
  auto outcome = released.get_future();
  held_lease.async_release(
      [released = std::move(released)](release_result result) mutable { released.set_value(result); });
  EXPECT_EQ(outcome.get(), release_result::released);
  EXPECT_THROW(m.async_acquire({}), error) << "a lease that nobody gets would be released at once";
  EXPECT_THROW(m.async_acquire(std::function<void(std::optional<lease>, std::exception_ptr)>{}), error);
}

TEST(callback, of_a_loss_that_throws_keeps_the_others_from_nothing) {
  deployment_under_test server;
  std::atomic<int> complaints = 0;
  client redis{server.url(), {.log = [&](log_level level, std::string_view) {
                 if (level == log_level::error) ++complaints;
               }}};
  mutex m{redis, "orders"};
  auto held = m.acquire();
  std::atomic<bool> told = false;
  held.on_lost({});
  held.on_lost([](loss_cause) { throw std::runtime_error{"mine"}; });
  held.on_lost([&told](loss_cause) { told = true; });
  server.raw().del("orders");
  EXPECT_THROW(held.renew(), error);
  EXPECT_TRUE(eventually([&] { return told && complaints == 1; }));
}

/// The captures of a callback are destroyed outside all locks of the client, however the lease ends.
TEST(callback, may_hold_a_lease_of_the_same_client) {
  deployment_under_test server;
  client redis{server.url(), with_long_timeouts()};
  mutex m{redis, "orders"};
  mutex other{redis, "other"};
  for (auto const lost : {true, false}) {
    auto held_lease = m.acquire();
    auto const acquire_other = [&other] { return std::make_shared<lease>(other.acquire()); };
    held_lease.on_lost([captured = acquire_other()](loss_cause) {});
    if (lost) {
      server.raw().del("orders");
      EXPECT_THROW(held_lease.renew(), error);
    }
    held_lease.release();
    EXPECT_TRUE(other.try_acquire_for(20s)) << lost;
    mutex limited{redis, "limited", {.max_hold = 30s}};
    auto limited_lease = limited.acquire();
    limited_lease.on_limit_near(1ms, [captured = acquire_other()] {});
    limited_lease.release();
    EXPECT_TRUE(other.try_acquire_for(20s)) << lost;
  }
}

TEST(callback, may_use_the_client_and_wait_for_it) {
  deployment_under_test server;
  client redis{server.url(), with_long_timeouts()};
  mutex outer{redis, "outer"};
  mutex inner{redis, "inner"};
  std::atomic<bool> both_acquired = false;
  outer.async_acquire([&](std::optional<lease> first, std::exception_ptr const&) {
    auto const second = inner.try_acquire_for(20s);
    both_acquired = first && second;
  });
  EXPECT_TRUE(eventually([&] { return both_acquired.load(); }));
}

/// Tries for a lock that is held, with two clients in turns; each callback starts the next try. The result is
/// known at once, so each callback is called by its own try, or by an outer one.
class retry_loop {
 public:
  retry_loop(mutex& first, mutex& second) : locks_{&first, &second} {}

  void run(int rounds) {
    remaining_ = rounds;
    next();
  }
  [[nodiscard]] bool done() const { return done_; }
  [[nodiscard]] int deepest() const { return deepest_; }

 private:
  void next() {
    static thread_local auto depth = 0;
    deepest_ = std::max(deepest_.load(), ++depth);
    if (remaining_-- == 0) {
      done_ = true;
    } else {
      locks_[remaining_ % 2]->async_try_acquire_for(
          0s, [this](std::optional<lease>, std::exception_ptr const&) { next(); });
    }
    --depth;
  }

  mutex* locks_[2];
  int remaining_ = 0;
  std::atomic<int> deepest_ = 0;
  std::atomic<bool> done_ = false;
};

TEST(callback, of_two_clients_that_call_each_other_does_not_nest_without_a_bound) {
  deployment_under_test server;
  client first_client{server.url(), with_long_timeouts()};
  client second_client{server.url(), with_long_timeouts()};
  mutex first{first_client, "one"};
  mutex second{second_client, "other"};
  auto const first_lease = first.acquire();
  auto const second_lease = second.acquire();
  retry_loop loop{first, second};
  loop.run(20'000);
  EXPECT_TRUE(eventually([&] { return loop.done(); }));
  EXPECT_LE(loop.deepest(), 3);
}

/// Callbacks of one batch, which run one after the other. They belong to tries for a lock that is held, all
/// made by one callback.
class batch : public testing::Test {
 protected:
  /// Runs `first` in a callback of the client's own thread; the callbacks that it adds are in one batch.
  void in_a_callback(std::function<void()> first) {
    free_.async_acquire(
        [first = std::move(first)](std::optional<lease>, std::exception_ptr const&) { first(); });
  }
  /// The same in a callback that this thread runs.
  void in_a_callback_of_this_thread(std::function<void()> first) {
    busy_.async_try_acquire_for(
        0s, [first = std::move(first)](std::optional<lease>, std::exception_ptr const&) { first(); });
  }
  void add(std::function<void()> f) { in_a_callback_of_this_thread(std::move(f)); }

  deployment_under_test server_{};
  client redis_{server_.url(), with_long_timeouts()};
  mutex free_{redis_, "free"};
  mutex busy_{redis_, "busy"};
  mutex wanted_{redis_, "wanted"};
  lease busy_lease_ = busy_.acquire();
  std::atomic<int> acquired_ = 0;
  std::atomic<bool> passed_ = false;
};

TEST_F(batch, goes_on_with_what_stands_behind_a_callback_that_waits) {
  for (auto const by_own_thread : {true, false}) {
    acquired_ = 0;
    passed_ = false;
    auto held_lease = wanted_.acquire();
    wanted_.async_acquire([this](std::optional<lease> acquired, std::exception_ptr const&) {
      passed_ = acquired.has_value();  // and the lease is released
    });
    auto const wait = [this] {
      if (wanted_.try_acquire_for(60s)) ++acquired_;
    };
    // Two callbacks that wait, and behind them the callback that holds the lock.
    auto const first = [&] {
      add(wait);
      add(wait);
      held_lease.async_release({});
    };
    if (by_own_thread) {
      in_a_callback(first);
    } else {
      in_a_callback_of_this_thread(first);
    }
    EXPECT_TRUE(eventually([&] { return acquired_ == 2; })) << by_own_thread;
    EXPECT_TRUE(passed_);
  }
}

TEST_F(batch, that_is_long_has_its_requests_sent_while_it_runs) {
  mutex early{redis_, "early"};
  std::promise<bool> sent;
  in_a_callback([&] {
    add([&] { early.async_acquire([](std::optional<lease>, std::exception_ptr const&) {}); });
    for (auto i = 0; i != 100; ++i) add([] {});
    add([&] { sent.set_value(eventually([&] { return server_.raw().exists("early"); })); });
  });
  EXPECT_TRUE(sent.get_future().get());
}

TEST_F(batch, goes_on_when_the_callback_waits_for_a_lock_of_another_client) {
  client other_client{server_.url(), with_long_timeouts()};
  mutex remote{other_client, "wanted"};
  auto lease = wanted_.acquire();
  in_a_callback([&] {
    add([&] {
      if (remote.try_acquire_for(60s)) ++acquired_;
    });
    add([&] { lease.release(); });
  });
  EXPECT_TRUE(eventually([&] { return acquired_ == 1; }));
}

TEST_F(batch, fails_at_once_when_too_many_of_its_callbacks_wait) {
  auto lease = wanted_.acquire();
  std::atomic<int> refused = 0;
  in_a_callback([&] {
    for (auto i = 0; i < 100; ++i) {
      add([&] {
        try {
          if (wanted_.try_acquire_for(60s)) ++acquired_;
        } catch (error const& e) {
          if (e.code() == std::errc::resource_deadlock_would_occur) ++refused;
        }
      });
    }
  });
  EXPECT_TRUE(eventually([&] { return refused == 100 - 32; })) << refused;
  EXPECT_TRUE(eventually([&] { return redis_.stats().waiting_now == 32; }))
      << "the innermost counts only when all behind it are refused: " << redis_.stats().waiting_now;
  EXPECT_FALSE(wanted_.try_acquire()) << "which doesn't wait";
  lease.release();
  EXPECT_TRUE(eventually([&] { return acquired_ == 32; })) << acquired_;
}

TEST_F(batch, goes_on_when_its_callback_waits_for_a_release_and_who_drove_has_left) {
  auto elsewhere = redis_server::make({});
  client redis{elsewhere->url(), with_long_timeouts()};
  mutex m{redis, "given back"};
  mutex busy{redis, "busy"};
  auto other_lease = busy.acquire();
  std::stop_source stop;
  std::atomic<bool> released = false;
  std::jthread driver;
  redis.connect();
  m.async_acquire([&](std::optional<lease> acquired, std::exception_ptr const&) {
    driver = std::jthread{[&] { (void)failure_of([&] { (void)busy.acquire(stop.get_token()); }); }};
    EXPECT_TRUE(eventually([&] { return redis.stats().waiting_now == 1; }));
    elsewhere->freeze();
    std::jthread const leaves{[&] {
      std::this_thread::sleep_for(300ms);  // the callback waits by then, most likely
      stop.request_stop();
      driver.join();
      elsewhere->thaw();
    }};
    acquired->release();
    released = true;
  });
  EXPECT_TRUE(eventually([&] { return released.load(); }));
}

}  // namespace
}  // namespace holdfast::test
