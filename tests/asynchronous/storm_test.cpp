/// Clients on an event loop end at any moment, in the middle of everything.
#include <holdfast/shared_mutex.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "net.hpp"

namespace holdfast::test {
namespace {

/// What threads, callbacks and coroutines do with one client until it ends.
class storm {
 public:
  storm(net::io_context& io, client& redis, std::uint32_t seed)
      : io_{io}, locks_{mutex{redis, "a"}, mutex{redis, "b"}}, prices_{redis, "c"}, seed_{seed} {}

  void begin() {
    for (int i = 0; i != 3; ++i) {
      threads_.emplace_back([this, i] {
        std::minstd_rand random{seed_ + static_cast<std::uint32_t>(i)};
        until_the_end([&] { block(random); });
      });
    }
    threads_.emplace_back([this] {
      std::minstd_rand random{seed_ + 10};
      until_the_end([&] { call_back(random); });
    });
    for (int i = 0; i != 4; ++i) net::co_spawn(io_, await(i), net::detached);
  }
  /// After the client.
  void end() {
    threads_.clear();
    EXPECT_TRUE(eventually([&] { return coroutines_ == 0; }));
  }

 private:
  template <class Step>
  void until_the_end(Step step) {
    try {
      for (;;) step();
    } catch (error const& failure) {
      EXPECT_EQ(failure.code(), errc::closed) << failure.what();
    }
  }

  void alone(int index, lease held) {
    if (!held.valid()) return;
    auto const others = inside_[static_cast<std::size_t>(index)]++;
    EXPECT_TRUE(others == 0 || !held.valid());
    --inside_[static_cast<std::size_t>(index)];
    std::scoped_lock const hold{guard_};
    std::swap(dropped_, held);  // some other thread destroys it
  }

  void block(std::minstd_rand& random) {
    auto const index = static_cast<int>(random() % 2);
    auto held =
        locks_[static_cast<std::size_t>(index)].try_acquire_for(std::chrono::microseconds{random() % 5000});
    if (held) alone(index, std::move(*held));
    if (random() % 4 == 0) (void)prices_.acquire_shared();
    if (random() % 4 == 0) (void)prices_.acquire();
  }

  void call_back(std::minstd_rand& random) {
    auto const index = static_cast<int>(random() % 2);
    std::stop_source stop;
    locks_[static_cast<std::size_t>(index)].async_acquire(
        [this, index](std::optional<lease> held, std::exception_ptr const&) {
          if (held) alone(index, std::move(*held));  // its destructor waits in the callback
          throw std::runtime_error{"mine"};
        },
        stop.get_token());
    if (random() % 2 == 0) stop.request_stop();
    std::this_thread::sleep_for(std::chrono::microseconds{random() % 500});
  }

  net::awaitable<void> await(int number) {
    ++coroutines_;
    auto const index = number % 2;
    try {
      for (;;) {
        auto held = co_await async_acquire(locks_[static_cast<std::size_t>(index)], net::use_awaitable);
        alone(index, std::move(held));
        if (number == 3) (void)locks_[1].try_acquire();
      }
    } catch (error const& failure) {
      EXPECT_EQ(failure.code(), errc::closed) << failure.what();
    }
    --coroutines_;
  }

  net::io_context& io_;
  std::array<mutex, 2> locks_;
  shared_mutex prices_;
  std::uint32_t const seed_;
  std::array<std::atomic<int>, 2> inside_{};
  std::atomic<int> coroutines_ = 0;
  std::mutex guard_;
  lease dropped_;
  std::vector<std::jthread> threads_;
};

TEST(storm_on_an_event_loop, hangs_nothing_and_leaves_nothing_when_clients_end) {
  auto const seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::minstd_rand random{seed};
  deployment_under_test const server;
  auto raw = server.raw();
  net::io_context io;
  auto const work = net::make_work_guard(io);
  std::vector<std::jthread> threads;
  for (int i = 0; i != 2; ++i) threads.emplace_back([&io] { io.run(); });
  for (int round = 0; round != 20; ++round) {
    auto redis = std::make_unique<client>(server.url(), with_long_timeouts(), run_on(io));
    storm all{io, *redis, seed + static_cast<std::uint32_t>(round)};
    all.begin();
    std::this_thread::sleep_for(std::chrono::milliseconds{random() % 50});
    if (round % 2 == 0) {
      redis.reset();
    } else {
      std::promise<void> ended;
      net::post(io, [&] {
        redis.reset();
        ended.set_value();
      });
      ended.get_future().get();
    }
    all.end();
    EXPECT_TRUE(eventually([&] { return leftover_keys(raw).empty(); })) << "round " << round;
  }
  io.stop();
}

}  // namespace
}  // namespace holdfast::test
