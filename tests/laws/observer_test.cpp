/// What an observer hears of a client with a real server.
#include <gmock/gmock.h>

#include <atomic>
#include <condition_variable>
#include <holdfast/fair_mutex.hpp>
#include <holdfast/mutex.hpp>
#include <holdfast/observer.hpp>
#include <holdfast/shared_mutex.hpp>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "support/event_book.hpp"
#include "support/eventually.hpp"
#include "support/long_timeouts.hpp"
#include "support/redis_server.hpp"

namespace holdfast::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class observed : public testing::Test {
 protected:
  [[nodiscard]] client connect() const {
    return client{server_.url(), with_long_timeouts({.observer = book_})};
  }

  redis_server server_;
  std::shared_ptr<event_book> book_ = std::make_shared<event_book>();
};

TEST_F(observed, client_tells_all_before_it_ends) {
  {
    auto redis = connect();
    mutex lock{redis, "orders"};
    (void)lock.acquire();
    auto const left = lock.acquire();
  }
  EXPECT_THAT(book_->lines(), ElementsAre("asked orders 1", "acquired orders 1", "released orders 1",
                                          "asked orders 2", "acquired orders 2", "released orders 2"));
}

TEST_F(observed, lease_that_outlives_its_client_is_lost) {
  std::optional<client> redis{connect()};
  mutex lock{*redis, "orders"};
  auto const held = lock.acquire();
  redis.reset();
  EXPECT_THAT(book_->kinds(), ElementsAre("asked", "acquired", "lost"));
  EXPECT_EQ(book_->last().cause, loss_cause::closed);
}

/// Threads that hold, share, convert, try, give up and are cancelled.
TEST_F(observed, crowd_makes_sense_and_each_has_its_end) {
  {
    auto first = connect();
    auto const other_book = std::make_shared<event_book>();
    client second{server_.url(), with_long_timeouts({.observer = other_book})};
    std::vector<std::jthread> threads;
    for (auto i = 0; i != 6; ++i) {
      threads.emplace_back([&redis = i % 2 == 0 ? first : second] {
        mutex orders{redis, "orders"};
        fair_mutex queue{redis, "queue"};
        shared_mutex both{redis, "both"};
        for (auto round = 0; round != 15; ++round) {
          (void)orders.acquire();
          (void)queue.try_acquire_for(std::chrono::milliseconds{round});
          (void)orders.try_acquire();
          (void)both.acquire_shared();
          if (round % 5 == 0) (void)both.downgrade(both.acquire());
        }
      });
    }
    threads.clear();
    EXPECT_THAT(other_book->wrong(), IsEmpty());
  }
  EXPECT_THAT(book_->wrong(), IsEmpty());
  EXPECT_EQ(book_->waiting(), 0u);
  EXPECT_EQ(book_->held(), 0u);
  EXPECT_EQ(book_->missed(), 0u);
  EXPECT_EQ(book_->count("asked"), 3u * (15 * 4 + 3));
}

TEST_F(observed, connection_that_breaks_is_told_and_that_it_is_back) {
  auto redis = connect();
  mutex lock{redis, "orders"};
  (void)lock.acquire();
  (void)server_.raw().command({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"});
  EXPECT_TRUE(eventually([&] {
    (void)lock.acquire();
    return book_->count("reconnected") == 1;
  }));
  EXPECT_EQ(book_->count("disconnected"), 1u);
}

TEST_F(observed, wait_has_the_trace_of_its_caller) {
  book_->traced = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
  auto redis = connect();
  mutex lock{redis, "orders"};
  (void)lock.acquire();
  EXPECT_TRUE(eventually([&] { return book_->count("released") == 1; }));
  EXPECT_EQ(book_->last_trace(), book_->traced);
}

/// It doesn't let go of the thread that calls it until the test says so.
class slow_observer final : public observer {
 public:
  [[nodiscard]] std::string_view name() const noexcept override { return "slow"; }
  void on_event(lock_event const&) override {
    std::unique_lock hold{mutex_};
    ++calls_;
    changed_.notify_all();
    changed_.wait(hold, [this] { return open_; });
  }
  void open() {
    std::lock_guard const hold{mutex_};
    open_ = true;
    changed_.notify_all();
  }
  [[nodiscard]] int calls() {
    std::lock_guard const hold{mutex_};
    return calls_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
  int calls_ = 0;
};

TEST_F(observed, client_goes_on_beside_an_observer_that_stands_still_and_waits_for_it_at_its_end) {
  auto const slow = std::make_shared<slow_observer>();
  std::atomic<bool> ended = false;
  std::optional<client> redis{std::in_place, server_.url(), with_long_timeouts({.observer = slow})};
  std::jthread caught{[&] { (void)mutex{*redis, "orders"}.acquire(); }};
  ASSERT_TRUE(eventually([&] { return slow->calls() == 1; }));
  (void)mutex{*redis, "parts"}.acquire();
  EXPECT_EQ(slow->calls(), 1);
  std::jthread ending{[&] {
    caught.join();
    redis.reset();
    ended = true;
  }};
  EXPECT_FALSE(ended);
  slow->open();
  EXPECT_TRUE(eventually([&] { return ended.load(); }));
  EXPECT_EQ(slow->calls(), 6);
}

}  // namespace
}  // namespace holdfast::test
