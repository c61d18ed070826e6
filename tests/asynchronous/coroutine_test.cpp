/// Coroutines without Asio.
#include <holdfast/coroutine.hpp>
#include <holdfast/mutex.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <coroutine>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <random>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "asynchronous/two_clients.hpp"
#include "support/eventually.hpp"
#include "support/failure_of.hpp"

namespace holdfast::test {
namespace {

/// A coroutine that begins at once. Destroyed with this object, wherever it is.
class task {
 public:
  struct promise_type {
    std::atomic<bool> done = false;
    std::exception_ptr failure;

    task get_return_object() { return task{handle::from_promise(*this)}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    auto final_suspend() noexcept {
      struct last {
        bool await_ready() noexcept { return false; }
        void await_suspend(std::coroutine_handle<promise_type> self) noexcept { self.promise().done = true; }
        void await_resume() noexcept {}
      };
      return last{};
    }
    void return_void() noexcept {}
    void unhandled_exception() noexcept { failure = std::current_exception(); }
  };
  using handle = std::coroutine_handle<promise_type>;

  explicit task(handle own) noexcept : handle_{own} {}
  task(task&& other) noexcept : handle_{std::exchange(other.handle_, nullptr)} {}
  task& operator=(task&&) = delete;
  ~task() {
    if (handle_) handle_.destroy();
  }

  [[nodiscard]] bool done() const { return handle_.promise().done; }
  void get() const {
    EXPECT_TRUE(eventually([&] { return done(); }));
    if (handle_.promise().failure) std::rethrow_exception(handle_.promise().failure);
  }

 private:
  handle handle_;
};

/// A queue of resumptions, which one thread runs.
class loop {
 public:
  auto executor() {
    return [this](async::resumption next) {
      std::scoped_lock const hold{guard_};
      waiting_.push_back(std::move(next));
    };
  }
  [[nodiscard]] std::size_t size() {
    std::scoped_lock const hold{guard_};
    return waiting_.size();
  }
  void run() {
    for (;;) {
      std::unique_lock hold{guard_};
      if (waiting_.empty()) return;
      auto const next = std::move(waiting_.front());
      waiting_.pop_front();
      hold.unlock();
      next();
    }
  }

 private:
  std::mutex guard_;
  std::deque<async::resumption> waiting_;
};

class coroutine : public two_clients {
 protected:
  [[nodiscard]] bool runs_until(auto predicate) {
    return eventually([&] {
      loop_.run();
      return predicate();
    });
  }

  loop loop_{};
};

TEST_F(coroutine, goes_on_with_what_it_awaits) {
  auto const work = [&]() -> task {
    auto held = co_await async::acquire(lock_);
    EXPECT_TRUE(held.valid());
    auto const busy = co_await async::try_acquire_for(free_lock_, 1ms);
    EXPECT_FALSE(busy);
    co_await async::renew(held);
    auto const how = co_await async::release(held);
    EXPECT_EQ(how, release_result::released);
  };
  work().get();
}

TEST_F(coroutine, goes_on_where_the_executor_says) {
  std::vector<std::thread::id> where;
  auto const work = [&]() -> task {
    auto held = co_await async::on(loop_.executor(), async::acquire(lock_));
    where.push_back(std::this_thread::get_id());
    co_await async::on(loop_.executor(), async::release(held));
    where.push_back(std::this_thread::get_id());
  };
  auto const working = work();
  EXPECT_TRUE(runs_until([&] { return working.done(); }));
  working.get();
  EXPECT_EQ(where, (std::vector<std::thread::id>(2, std::this_thread::get_id())));
}

TEST_F(coroutine, awaits_in_a_loop_without_growing_its_stack) {
  auto const held = free_lock_.acquire();
  auto const work = [&]() -> task {
    for (int i = 0; i != 2000; ++i) {
      lease none;
      co_await async::release(none);
    }
  };
  work().get();
}

TEST_F(coroutine, is_thrown_what_failed) {
  raw_.command({"LPUSH", "orders", "something else"});
  auto const work = [&]() -> task { (void)co_await async::acquire(lock_); };
  auto const said = failure_of([&] { work().get(); });
  EXPECT_EQ(said.code, errc::wrong_type);
  EXPECT_TRUE(said.mentions("orders")) << said;
}

TEST_F(coroutine, is_thrown_what_could_not_begin) {
  redis_.shutdown(0s);
  auto const work = [&]() -> task { (void)co_await async::on(loop_.executor(), async::acquire(lock_)); };
  EXPECT_EQ(code_of([&] { work().get(); }), errc::closed);
}

TEST_F(coroutine, is_cancelled_by_its_stop_token) {
  auto held = free_lock_.acquire();
  std::stop_source stop;
  auto const work = [&]() -> task { (void)co_await async::acquire(lock_, stop.get_token()); };
  auto const working = work();
  EXPECT_TRUE(eventually([&] { return redis_.stats().waiting_now == 1; }));
  stop.request_stop();
  EXPECT_EQ(code_of([&] { working.get(); }), errc::cancelled);
  EXPECT_EQ(code_of([&] { work().get(); }), errc::cancelled) << "to begin with";
  held.release();
  EXPECT_TRUE(nothing_left_behind());
}

TEST_F(coroutine, has_the_upgrade_lease_again_in_any_case) {
  shared_mutex prices{redis_, "prices"};
  shared_mutex elsewhere{other_client_, "prices"};
  auto const reading = elsewhere.acquire_shared();
  auto const work = [&]() -> task {
    auto held = co_await async::acquire_upgrade(prices);
    auto const upgraded = co_await async::try_upgrade_for(prices, held, 1ms);
    EXPECT_FALSE(upgraded);
    EXPECT_TRUE(held.valid());
  };
  work().get();
}

TEST_F(coroutine, may_be_destroyed_while_it_waits) {
  auto held = free_lock_.acquire();
  {
    auto const work = [&]() -> task { (void)co_await async::acquire(lock_); };
    auto const working = work();
    EXPECT_TRUE(eventually([&] { return redis_.stats().waiting_now == 1; }));
  }
  EXPECT_TRUE(eventually([&] { return redis_.stats().waiting_now == 0; }));
  held.release();
  EXPECT_TRUE(nothing_left_behind());
}

TEST_F(coroutine, may_be_destroyed_when_it_was_to_go_on) {
  semaphore permits{redis_, "permits", 2};
  {
    auto const work = [&]() -> task { (void)co_await async::on(loop_.executor(), async::acquire(lock_)); };
    auto const take = [&]() -> task { co_await async::on(loop_.executor(), async::acquire(permits)); };
    auto const working = work();
    auto const taking = take();
    EXPECT_TRUE(eventually([&] { return loop_.size() == 2; }));
  }
  EXPECT_TRUE(free_lock_.try_acquire_for(wait_limit)) << "the lease was given back";
  EXPECT_EQ(permits.available(), 2);
  loop_.run();
}

TEST_F(coroutine, that_is_destroyed_gives_permits_back_although_the_server_is_away_for_long) {
  auto const server = redis_server::make({});
  client redis{server->url(), {.connect_timeout = 200ms, .reply_timeout = 200ms}};
  semaphore permits{redis, "permits", 1};
  {
    auto const take = [&]() -> task { co_await async::on(loop_.executor(), async::acquire(permits)); };
    auto const taking = take();
    EXPECT_TRUE(eventually([&] { return loop_.size() == 1; }));
    server->freeze();
  }
  EXPECT_TRUE(always(2s, [&] { return redis.stats().waiting_now == 0; })) << "the time passes";
  server->thaw();
  client other{server->url(), with_long_timeouts()};
  EXPECT_TRUE(eventually([&] { return semaphore{other, "permits", 1}.available() == 1; }));
  EXPECT_EQ(semaphore(other, "permits", 1).available(), 1);
}

TEST_F(coroutine, is_told_that_the_client_has_ended) {
  auto const held = free_lock_.acquire();
  auto shorter = std::make_unique<client>(server_.url(), with_long_timeouts());
  mutex lock{*shorter, "orders"};
  auto const work = [&]() -> task { (void)co_await async::acquire(lock); };
  auto const working = work();
  EXPECT_TRUE(eventually([&] { return shorter->stats().waiting_now == 1; }));
  shorter.reset();
  EXPECT_EQ(code_of([&] { working.get(); }), errc::closed);
}

/// Counts the coroutines that hold a lock.
class presence {
 public:
  explicit presence(int& number) : number_{number} { ++number_; }
  presence(presence const&) = delete;
  presence& operator=(presence const&) = delete;
  ~presence() { --number_; }

 private:
  int& number_;
};

/// Coroutines of two clients want one lock; some are stopped, and some destroyed, at any moment.
TEST_F(coroutine, of_many_are_alone_and_leave_nothing_behind) {
  auto const seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random{seed};
  int inside = 0;
  auto const contend = [&](mutex& lock, std::stop_token stop) -> task {
    for (int round = 0; round != 10; ++round) {
      auto held = co_await async::on(loop_.executor(), async::acquire(lock, stop));
      {
        presence const alone{inside};
        EXPECT_EQ(inside, 1);
        co_await async::on(loop_.executor(), async::renew(held));
        EXPECT_TRUE(held.valid());
      }
      if (round % 2 == 0) co_await async::on(loop_.executor(), async::release(held));
    }
  };
  std::vector<std::stop_source> stops(12);
  std::vector<std::unique_ptr<task>> all;
  all.reserve(stops.size());
  for (auto& stop : stops) {
    auto& lock = all.size() % 2 == 0 ? lock_ : free_lock_;
    all.push_back(std::make_unique<task>(contend(lock, stop.get_token())));
  }
  std::jthread const stopper{[&stops, seed] {
    std::mt19937 random_too{seed + 1};
    for (std::size_t i = 0; i < stops.size(); i += 3) {
      std::this_thread::sleep_for(std::chrono::microseconds{random_too() % 2000});
      stops[i].request_stop();
    }
  }};
  EXPECT_TRUE(runs_until([&] {
    if (auto& some = all[random() % all.size()]; some && random() % 40 == 0) some.reset();
    return std::ranges::all_of(all, [](auto const& each) { return !each || each->done(); });
  }));
  all.clear();
  for (auto* const each : {&redis_, &other_client_}) {
    EXPECT_TRUE(eventually([&] { return each->stats().held_now == 0 && each->stats().waiting_now == 0; }));
  }
  EXPECT_TRUE(nothing_left_behind());
}

}  // namespace
}  // namespace holdfast::test
