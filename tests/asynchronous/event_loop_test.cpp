/// Clients without a thread, on an io_context: who renews, who drives, and what ends first.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <exception>
#include <filesystem>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <sys/resource.h>

#include "net.hpp"
#include "support/redis_server.hpp"
#include "support/sanitizers.hpp"

namespace holdfast::test {
namespace {

/// Remembers whether a client has logged some words.
class heard {
 public:
  explicit heard(std::string_view words) : words_{words} {}
  [[nodiscard]] client_options options() const {
    auto made = with_long_timeouts();
    made.log = [words = words_, told = told_](log_level, std::string_view text) {
      if (text.find(words) != std::string_view::npos) *told = true;
    };
    return made;
  }
  [[nodiscard]] bool told() const { return *told_; }

 private:
  std::string words_;
  std::shared_ptr<std::atomic<bool>> told_ = std::make_shared<std::atomic<bool>>(false);
};

/// The io_context is there before the client; a test may end either.
class on_an_event_loop : public testing::Test {
 protected:
  template <class Predicate>
  [[nodiscard]] bool run_until(Predicate predicate) {
    return test::run_until(*io_, predicate);
  }

  void end_client() {
    lock_.reset();
    redis_.reset();
  }

  deployment_under_test server_{};
  heard end_of_loop_{"the event loop of this client has ended"};
  std::unique_ptr<net::io_context> io_ = std::make_unique<net::io_context>();
  std::optional<client> redis_{std::in_place, server_.url(), end_of_loop_.options(), run_on(*io_)};
  std::optional<mutex> lock_{std::in_place, *redis_, "orders"};
  client other_client_{server_.url(), with_long_timeouts()};
  mutex others_{other_client_, "orders"};
};

std::ptrdiff_t threads_of_this_process() {
  return std::distance(std::filesystem::directory_iterator{"/proc/self/task"},
                       std::filesystem::directory_iterator{});
}

TEST_F(on_an_event_loop, client_has_no_thread) {
  (void)others_.acquire().release();  // what the sanitizers start with the first thread is there
  auto const before = threads_of_this_process();
  auto held = lock_->acquire();
  EXPECT_EQ(threads_of_this_process(), before);
  held.release();
}

TEST_F(on_an_event_loop, leases_are_renewed_while_it_runs) {
  mutex short_lived{*redis_, "orders", {.ttl = 600ms}};
  auto const held = short_lived.acquire();
  EXPECT_TRUE(run_until([&] { return redis_->stats().renewals >= 4; }));
  EXPECT_TRUE(held.valid());
}

TEST_F(on_an_event_loop, leases_end_at_their_deadline_while_it_stands_still) {
  mutex short_lived{*redis_, "orders", {.ttl = 300ms}};
  auto const held = short_lived.acquire();
  EXPECT_TRUE(eventually([&] { return !held.valid(); }));
  EXPECT_TRUE(others_.try_acquire_for(wait_limit));
  EXPECT_TRUE(run_until([&] { return held.lost().stop_requested(); }));
}

TEST_F(on_an_event_loop, run_returns_though_the_client_lives) {
  std::optional<lease> held;
  async_acquire(*lock_, net::bind_executor(*io_, [&](error_code, lease got) { held = std::move(got); }));
  io_->run_for(wait_limit);
  EXPECT_TRUE(io_->stopped());
  EXPECT_TRUE(held && held->valid());
  async_release(*held, net::bind_executor(*io_, [&](error_code, release_result) { held.reset(); }));
  io_->restart();
  io_->run_for(wait_limit);
  EXPECT_TRUE(io_->stopped());
  EXPECT_FALSE(held);
}

TEST_F(on_an_event_loop, blocking_calls_need_nobody_who_runs_it) {
  auto held = lock_->acquire();
  EXPECT_TRUE(held.valid());
  EXPECT_FALSE(others_.try_acquire());
  EXPECT_EQ(held.release(), release_result::released);
  auto theirs = others_.acquire();
  EXPECT_FALSE(lock_->try_acquire_for(20ms));
  std::jthread const gives_back{[&] { theirs.release(); }};
  EXPECT_TRUE(lock_->try_acquire_for(wait_limit));
}

/// Those that sleep take over from the one that drives when it has its lock.
TEST_F(on_an_event_loop, threads_take_turns_at_driving_when_nobody_runs_it) {
  std::atomic<int> inside = 0;
  std::atomic<int> rounds = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i != 8; ++i) {
      threads.emplace_back([&, i] {
        mutex own{*redis_, "other:" + std::to_string(i)};
        for (int round = 0; round != 50; ++round) {
          auto const apart = own.acquire();
          auto const held = lock_->acquire();
          if (++inside == 1 && held.valid() && apart.valid()) ++rounds;
          --inside;
        }
      });
    }
  }
  EXPECT_EQ(rounds, 400);
}

TEST_F(on_an_event_loop, handlers_may_block_its_only_thread) {
  std::atomic<bool> over = false;
  std::jthread const other_thread{[&] {
    while (!over) (void)lock_->acquire().release();
  }};
  int rounds = 0;
  auto const again = [&](auto const& self) -> void {
    (void)lock_->acquire().release();
    if (++rounds != 50) net::post(*io_, [&self] { self(self); });
  };
  net::post(*io_, [&] { again(again); });
  io_->run_for(wait_limit);
  over = true;
  EXPECT_EQ(rounds, 50);
}

TEST_F(on_an_event_loop, callbacks_cannot_wait) {
  auto const held = others_.acquire();
  std::optional<std::error_code> said;
  mutex free{*redis_, "free"};
  free.async_acquire([&](std::optional<lease> const&, std::exception_ptr const&) {
    said = failure_of([&] { (void)lock_->acquire(); }).code;
  });
  EXPECT_TRUE(run_until([&] { return said.has_value(); }));
  EXPECT_EQ(said, std::errc::resource_deadlock_would_occur);
}

/// 64 coroutines on several threads, with two clients, a few locks, and a blocking thread among them.
void crowd(std::string const& url) {
  net::io_context io;
  client redis{url, with_long_timeouts(), run_on(io)};
  client second{url, with_long_timeouts(), run_on(io)};
  std::atomic<int> inside[4]{};
  std::atomic<int> cycles = 0;
  auto const work = [&](int number) -> net::awaitable<void> {
    auto const index = number % 4;
    mutex lock{number % 8 < 4 ? redis : second, "orders:" + std::to_string(index)};
    for (int round = 0; round != 10; ++round) {
      auto held = co_await async_acquire(lock, net::use_awaitable);
      EXPECT_EQ(++inside[index], 1);
      EXPECT_TRUE(held.valid());
      --inside[index];
      co_await async_release(held, net::use_awaitable);
      ++cycles;
    }
  };
  for (int i = 0; i != 64; ++i) net::co_spawn(io, work(i), net::detached);
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i != 3; ++i) threads.emplace_back([&io] { io.run_for(2 * wait_limit); });
    mutex lock{redis, "orders:0"};
    for (int round = 0; round != 10; ++round) {
      auto const held = lock.acquire();
      EXPECT_EQ(++inside[0], 1);
      --inside[0];
    }
  }
  EXPECT_EQ(cycles, 640);
}

TEST(crowd_on_an_event_loop, gets_its_locks_one_at_a_time) { crowd(deployment_under_test{}.url()); }
TEST(crowd_on_an_event_loop, gets_its_locks_over_tls) {
  auto const server = redis_server::with({.transport = server_transport::tls});
  crowd(server.url());
}

TEST_F(on_an_event_loop, client_that_ends_gives_back_though_it_was_stopped) {
  auto const held = lock_->acquire();
  std::optional<error_code> waits;
  async_acquire(*lock_, net::bind_executor(*io_, [&](error_code code, lease) { waits = code; }));
  io_->stop();
  end_client();
  EXPECT_FALSE(held.valid());
  EXPECT_TRUE(others_.try_acquire());
  io_->restart();
  io_->run_for(wait_limit);
  ASSERT_TRUE(waits);
  EXPECT_TRUE(*waits == make_error_code(errc::closed)) << *waits;
}

TEST_F(on_an_event_loop, client_may_end_in_a_handler) {
  auto const held = lock_->acquire();
  net::post(*io_, [&] { end_client(); });
  io_->run_for(wait_limit);
  EXPECT_FALSE(redis_);
  EXPECT_TRUE(others_.try_acquire());
}

TEST_F(on_an_event_loop, client_may_end_while_other_threads_run_it) {
  for (int round = 0; round != 100; ++round) {
    net::io_context io;
    auto const work = net::make_work_guard(io);
    std::vector<std::jthread> threads;
    for (int i = 0; i != 2; ++i) threads.emplace_back([&io] { io.run(); });
    {
      client shorter{server_.url(), with_long_timeouts(), run_on(io)};
      mutex lock{shorter, "orders"};
      for (int i = 0; i != round % 30; ++i)
        lock.async_acquire([](std::optional<lease> const&, std::exception_ptr const&) {});
    }
    io.stop();
  }
  EXPECT_TRUE(others_.try_acquire_for(wait_limit));
}

TEST_F(on_an_event_loop, end_of_it_before_the_client_is_logged_and_hangs_nothing) {
  auto held = lock_->acquire();
  EXPECT_TRUE(run_until([&] { return redis_->stats().held_now == 1; }));
  std::optional<std::error_code> waits;
  lock_->async_acquire([&](std::optional<lease> const&, std::exception_ptr const& failure) {
    waits = failure_of([&] { std::rethrow_exception(failure); }).code;
  });
  EXPECT_FALSE(end_of_loop_.told());
  io_.reset();
  EXPECT_TRUE(end_of_loop_.told());
  EXPECT_TRUE(held.valid());
  mutex another{*redis_, "another"};
  EXPECT_TRUE(another.acquire().valid()) << "who waits drives";
  end_client();
  EXPECT_EQ(waits, errc::closed);
  EXPECT_TRUE(others_.try_acquire());
}

TEST_F(on_an_event_loop, end_of_it_before_the_first_use_hangs_nothing) {
  io_.reset();
  EXPECT_TRUE(lock_->acquire().valid());
  end_client();
  EXPECT_TRUE(others_.try_acquire());
}

/// No further file can be opened.
class no_descriptors {
 public:
  no_descriptors() {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    rlimit const none{.rlim_cur = 0, .rlim_max = before_.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &none);
  }
  no_descriptors(no_descriptors const&) = delete;
  no_descriptors& operator=(no_descriptors const&) = delete;
  ~no_descriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

TEST_F(on_an_event_loop, first_call_says_so_when_it_cannot_be_joined_and_the_next_one_tries_again) {
  if (under_address_sanitizer)
    GTEST_SKIP() << "UndefinedBehaviorSanitizer needs descriptors to look at memory";
  auto const said = [this] {
    no_descriptors const limited;
    return failure_of([&] { (void)lock_->try_acquire(); });
  }();
  EXPECT_EQ(said.code, std::errc::too_many_files_open);
  EXPECT_TRUE(said.mentions("can't run on its event loop")) << said;
  EXPECT_TRUE(lock_->try_acquire());
}

TEST_F(on_an_event_loop, callbacks_and_the_log_hook_may_throw_anything) {
  auto options = with_long_timeouts();
  auto complaints = std::make_shared<std::atomic<int>>(0);
  options.log = [complaints](log_level, std::string_view) {
    ++*complaints;
    throw 42;
  };
  client redis{server_.url(), options, run_on(*io_)};
  mutex lock{redis, "free"};
  lock.async_acquire([](std::optional<lease> const&, std::exception_ptr const&) { throw 42; });
  EXPECT_TRUE(run_until([&] { return *complaints != 0; }));
}

TEST_F(on_an_event_loop, each_client_has_one_of_its_own) {
  auto const loop = run_on(*io_);
  client first{server_.url(), {}, loop};
  client second{server_.url(), {}, loop};
  first.connect();
  EXPECT_EQ(failure_of([&] { second.connect(); }).code, std::errc::invalid_argument);
  EXPECT_EQ(failure_of([&] { client const none{server_.url(), {}, nullptr}; }).code,
            std::errc::invalid_argument);
}

}  // namespace
}  // namespace holdfast::test
