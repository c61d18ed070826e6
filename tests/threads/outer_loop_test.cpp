/// A loop in an event loop of the program: nothing waits for a thread that doesn't come.
#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <chrono>
#include <holdfast/event_loop.hpp>
#include <memory>
#include <thread>
#include <utility>

#include "reactor/reactor.hpp"
#include "support/eventually.hpp"

namespace holdfast::reactor {
namespace {

using namespace std::chrono_literals;
using test::eventually;

/// Notes what it is asked for; a test makes the calls.
class noting_loop final : public event_loop {
 public:
  void join(int /*descriptor*/, std::shared_ptr<guest> client) override { client_ = std::move(client); }
  void watch() noexcept override { ++watches_; }
  void call_soon() noexcept override { ++calls_; }
  void leave() noexcept override { left_ = true; }

  [[nodiscard]] guest& client() const { return *client_; }
  [[nodiscard]] int watches() const { return watches_; }
  [[nodiscard]] int calls() const { return calls_; }
  [[nodiscard]] bool was_left() const { return left_; }

 private:
  std::shared_ptr<guest> client_;
  std::atomic<int> watches_ = 0;
  std::atomic<int> calls_ = 0;
  std::atomic<bool> left_ = false;
};

class outer_loop : public testing::Test {
 protected:
  /// A thread that waits in the loop, until a timer or the test wakes it.
  struct caller {
    blocked_thread thread;
    std::atomic<bool> entered = false;
    std::atomic<bool> left = false;
  };

  outer_loop() {
    {
      lock hold{loop_.mutex()};
      loop_.start_keeper();
      loop_.leave(hold);
    }
    outer_->client().on_called();
    EXPECT_EQ(outer_->watches(), 1);
  }

  void wait(caller& own) {
    lock hold{loop_.mutex()};
    own.entered = true;
    loop_.wait(hold, own.thread);
    own.left = true;
  }
  void wake(caller& other) {
    lock hold{loop_.mutex()};
    loop_.wake(other.thread);
    loop_.leave(hold);
  }
  /// Returns when it drives the loop.
  [[nodiscard]] std::jthread drive(caller& own) {
    std::jthread driver{[this, &own] { wait(own); }};
    std::atomic<bool> drives = false;
    boost::asio::post(loop_.io(), [&drives] { drives = true; });
    EXPECT_TRUE(eventually([&] { return drives.load(); }));
    return driver;
  }
  /// Whether it sleeps: it has let go of the lock again, while another thread drives.
  [[nodiscard]] bool is_waiting(caller const& other) {
    return eventually([&] {
      lock const hold{loop_.mutex()};
      return other.entered.load();
    });
  }
  /// Wakes it by a timer, for which somebody has to drive.
  void arm(timer& bell) {
    lock const hold{loop_.mutex()};
    loop_.arm(bell, boot_clock::now());
  }
  /// Has the event loop run a callback.
  void call_back(callback<void()> f) {
    lock hold{loop_.mutex()};
    loop_.deferred().add(std::move(f));
    hold.unlock();
    outer_->client().on_called();
  }

  std::shared_ptr<noting_loop> outer_ = std::make_shared<noting_loop>();
  loop loop_{outer_};
};

TEST_F(outer_loop, is_asked_to_run_the_handlers_that_a_caller_leaves_behind) {
  caller own;
  auto handled = false;
  boost::asio::post(loop_.io(), [&] {
    handling const hold{loop_};
    loop_.wake(own.thread);
  });
  boost::asio::post(loop_.io(), [&] { handled = true; });
  auto const calls = outer_->calls();
  wait(own);
  EXPECT_FALSE(handled);
  EXPECT_EQ(outer_->calls(), calls + 1) << "nothing makes the descriptor readable for them";
  outer_->client().on_called();
  EXPECT_TRUE(handled);
}

TEST_F(outer_loop, leaves_no_sleeper_alone_when_a_callback_that_has_driven_takes_long) {
  caller driver;
  caller sleeper;
  std::atomic<bool> callback_may_end = false;
  std::jthread const runs_the_loop{[&] {
    call_back([&] {
      wait(driver);
      while (!callback_may_end) std::this_thread::yield();
    });
  }};
  ASSERT_TRUE(is_waiting(driver));
  std::jthread const sleeps{[&] { wait(sleeper); }};
  ASSERT_TRUE(is_waiting(sleeper));
  wake(driver);
  EXPECT_TRUE(eventually([&] { return driver.left.load(); }));
  timer bell{[&] { loop_.wake(sleeper.thread); }};
  arm(bell);
  EXPECT_TRUE(eventually([&] { return sleeper.left.load(); }));
  callback_may_end = true;
  wake(sleeper);
}

TEST_F(outer_loop, watches_while_a_callback_that_has_driven_takes_long) {
  caller driver;
  std::atomic<bool> callback_may_end = false;
  std::jthread const calls_back_in_its_own_call{[&] {
    lock hold{loop_.mutex()};
    loop_.deferred().add([&] {
      wait(driver);
      while (!callback_may_end) std::this_thread::yield();
    });
    loop_.leave(hold);
  }};
  ASSERT_TRUE(is_waiting(driver));
  outer_->client().on_readable();  // in vain: the callback drives
  auto const calls = outer_->calls();
  wake(driver);
  EXPECT_TRUE(eventually([&] { return outer_->calls() == calls + 1; }));
  callback_may_end = true;
}

TEST_F(outer_loop, ends_though_a_callback_sleeps_when_the_last_driver_leaves) {
  caller driver;
  caller sleeper;
  std::atomic<bool> called = false;
  std::atomic<bool> callback_may_wait = false;
  std::jthread const runs_the_loop{[&] {
    call_back([&] {
      called = true;
      while (!callback_may_wait) std::this_thread::yield();
      wait(sleeper);
    });
  }};
  ASSERT_TRUE(eventually([&] { return called.load(); }));
  auto const drives = drive(driver);
  callback_may_wait = true;
  ASSERT_TRUE(is_waiting(sleeper));
  std::jthread const stops{[&] {
    lock hold{loop_.mutex()};
    EXPECT_TRUE(loop_.stop(hold));
  }};
  ASSERT_TRUE(eventually([&] { return outer_->was_left(); }));
  wake(driver);
  timer bell{[&] { loop_.wake(sleeper.thread); }};
  arm(bell);
  EXPECT_TRUE(eventually([&] { return sleeper.left.load(); }));
  wake(sleeper);
}

/// A callback may run the event loop.
TEST_F(outer_loop, asks_for_no_visit_without_end_inside_of_a_callback) {
  auto nested_calls = 0;
  auto second_called = false;
  call_back([&] {
    boost::asio::post(loop_.io(), [&] {
      handling const hold{loop_};
      loop_.deferred().add([&] { second_called = true; });
    });
    auto const calls = outer_->calls();
    outer_->client().on_readable();
    nested_calls = outer_->calls() - calls;
  });
  EXPECT_EQ(nested_calls, 0);
  EXPECT_TRUE(second_called);
}

}  // namespace
}  // namespace holdfast::reactor
