// A hundred locks at once from one thread: each callback works under its lock and gives it back.
//
//     HOLDFAST_URL=redis://localhost build/dev/examples/asynchronous

#include <atomic>
#include <cstdlib>
#include <holdfast/mutex.hpp>
#include <iostream>
#include <latch>
#include <list>
#include <string>

int main() {
  auto const* const url = std::getenv("HOLDFAST_URL");
  holdfast::client redis{url != nullptr ? url : "redis://localhost"};
  constexpr int count = 100;
  std::list<holdfast::mutex> locks;
  std::atomic<int> held = 0;
  std::latch done{count};

  for (int i = 0; i != count; ++i) {
    auto& lock = locks.emplace_back(redis, "item:" + std::to_string(i));
    lock.async_acquire([&](std::optional<holdfast::lease> lease, std::exception_ptr const& failure) {
      if (failure || !lease) {
        done.count_down();
        return;
      }
      ++held;
      lease->async_release([&](holdfast::release_result) { done.count_down(); });
    });
  }
  done.wait();
  std::cout << "held " << held << " locks, in " << redis.stats().writes << " writes\n";
  return held == count ? 0 : 1;
}
