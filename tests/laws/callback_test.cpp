/// What a callback may do to its client.
#include <algorithm>
#include <atomic>
#include <functional>
#include <stdexcept>

#include "law.hpp"

namespace holdfast::test {
namespace {

TEST(callback, that_throws_is_logged_and_harms_nobody) {
  served server;
  std::atomic<int> complaints = 0;
  client redis{server.url(), {.log = [&](log_level level, std::string_view) {
                 if (level == log_level::error) ++complaints;
               }}};
  mutex m{redis, "orders"};
  m.async_acquire([](std::optional<lease>, std::exception_ptr const&) { throw std::runtime_error{"mine"}; });
  EXPECT_TRUE(eventually([&] { return complaints == 1; }));
  EXPECT_TRUE(m.try_acquire_for(20s)) << "the lease that the callback dropped is released";
}

/// What it holds goes without any lock of the client's, too, however its lease ends.
TEST(callback, may_hold_a_lease_of_the_same_client) {
  served server;
  client redis{server.url(), unhurried()};
  mutex m{redis, "orders"};
  mutex other{redis, "other"};
  for (auto const lost : {true, false}) {
    auto mine = m.acquire();
    auto const with = [&other] { return std::make_shared<lease>(other.acquire()); };
    mine.on_lost([held = with()](loss_cause) {});
    if (lost) {
      server.raw().del("orders");
      EXPECT_THROW(mine.renew(), error);
    }
    mine.release();
    EXPECT_TRUE(other.try_acquire_for(20s)) << lost;
    mutex limited{redis, "limited", {.max_hold = 30s}};
    auto warned = limited.acquire();
    warned.on_limit_near(1ms, [held = with()] {});
    warned.release();
    EXPECT_TRUE(other.try_acquire_for(20s)) << lost;
  }
}

TEST(callback, may_use_the_client_and_wait_for_it) {
  served server;
  client redis{server.url(), unhurried()};
  mutex outer{redis, "outer"};
  mutex inner{redis, "inner"};
  std::atomic<bool> both = false;
  outer.async_acquire([&](std::optional<lease> first, std::exception_ptr const&) {
    auto const second = inner.try_acquire_for(20s);
    both = first && second;
  });
  EXPECT_TRUE(eventually([&] { return both.load(); }));
}

/// Tries for a lock that is held, over and over, from each callback anew, with two clients in turns. The
/// answer is known at once, so each callback is called by the try that it belongs to, or by one further out.
class retry_loop {
 public:
  retry_loop(mutex& one, mutex& other) : locks_{&one, &other} {}

  void run(int rounds) {
    left_ = rounds;
    next();
  }
  [[nodiscard]] bool over() const { return over_; }
  [[nodiscard]] int deepest() const { return deepest_; }

 private:
  void next() {
    static thread_local auto depth = 0;
    deepest_ = std::max(deepest_.load(), ++depth);
    if (left_-- == 0) {
      over_ = true;
    } else {
      locks_[left_ % 2]->async_try_acquire_for(
          0s, [this](std::optional<lease>, std::exception_ptr const&) { next(); });
    }
    --depth;
  }

  mutex* locks_[2];
  int left_ = 0;
  std::atomic<int> deepest_ = 0;
  std::atomic<bool> over_ = false;
};

TEST(callback, of_two_clients_that_call_each_other_does_not_nest_without_a_bound) {
  served server;
  client here{server.url(), unhurried()};
  client there{server.url(), unhurried()};
  mutex one{here, "one"};
  mutex other{there, "other"};
  auto const held_here = one.acquire();
  auto const held_there = other.acquire();
  retry_loop loop{one, other};
  loop.run(20'000);
  EXPECT_TRUE(eventually([&] { return loop.over(); }));
  EXPECT_LE(loop.deepest(), 3);
}

/// Callbacks that run one after the other: of tries for a lock that is held, made by one callback, so that
/// they stand in the same batch.
class batch : public testing::Test {
 protected:
  /// `first` runs in a callback of the client's own thread; what it adds stands in one batch.
  void in_a_callback(std::function<void()> first) {
    free_.async_acquire(
        [first = std::move(first)](std::optional<lease>, std::exception_ptr const&) { first(); });
  }
  /// The same in one that this thread runs.
  void in_a_callback_of_this_thread(std::function<void()> first) {
    busy_.async_try_acquire_for(
        0s, [first = std::move(first)](std::optional<lease>, std::exception_ptr const&) { first(); });
  }
  void add(std::function<void()> f) { in_a_callback_of_this_thread(std::move(f)); }

  served server_{};
  client redis_{server_.url(), unhurried()};
  mutex free_{redis_, "free"};
  mutex busy_{redis_, "busy"};
  mutex wanted_{redis_, "wanted"};
  lease held_ = busy_.acquire();
  std::atomic<int> got_ = 0;
  std::atomic<bool> passed_ = false;
};

TEST_F(batch, goes_on_with_what_stands_behind_a_callback_that_waits) {
  for (auto const by_own_thread : {true, false}) {
    got_ = 0;
    passed_ = false;
    auto mine = wanted_.acquire();
    wanted_.async_acquire([this](std::optional<lease> got, std::exception_ptr const&) {
      passed_ = got.has_value();  // and goes back
    });
    auto const wait = [this] {
      if (wanted_.try_acquire_for(60s)) ++got_;
    };
    // Two that wait, and behind them the callback that has the lock.
    auto const first = [&] {
      add(wait);
      add(wait);
      mine.async_release({});
    };
    if (by_own_thread) {
      in_a_callback(first);
    } else {
      in_a_callback_of_this_thread(first);
    }
    EXPECT_TRUE(eventually([&] { return got_ == 2; })) << by_own_thread;
    EXPECT_TRUE(passed_);
  }
}

TEST_F(batch, goes_on_when_the_callback_waits_for_a_lock_of_another_client) {
  client other{server_.url(), unhurried()};
  mutex elsewhere{other, "wanted"};
  auto mine = wanted_.acquire();
  in_a_callback([&] {
    add([&] {
      if (elsewhere.try_acquire_for(60s)) ++got_;
    });
    add([&] { mine.release(); });
  });
  EXPECT_TRUE(eventually([&] { return got_ == 1; }));
}

TEST_F(batch, fails_at_once_when_too_many_of_its_callbacks_wait) {
  auto mine = wanted_.acquire();
  std::atomic<int> refused = 0;
  in_a_callback([&] {
    for (auto i = 0; i < 100; ++i) {
      add([&] {
        try {
          if (wanted_.try_acquire_for(60s)) ++got_;
        } catch (error const& e) {
          if (e.code() == std::errc::resource_deadlock_would_occur) ++refused;
        }
      });
    }
  });
  EXPECT_TRUE(eventually([&] { return refused == 100 - 32; })) << refused;
  EXPECT_EQ(redis_.stats().waiting_now, 32u);
  EXPECT_FALSE(wanted_.try_acquire()) << "which doesn't wait";
  mine.release();
  EXPECT_TRUE(eventually([&] { return got_ == 32; })) << got_;
}

}  // namespace
}  // namespace holdfast::test
