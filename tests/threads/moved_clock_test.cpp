#include "reactor/moved_clock.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "reactor/reactor.hpp"

namespace holdfast::reactor {
namespace {

TEST(moved_clock, looks_at_a_loop_once_however_long_another_is_busy) {
  loop idle;
  loop busy;
  std::atomic<int> looks_at_idle = 0;
  std::atomic<int> looks_at_busy = 0;
  lock hold{busy.mutex()};
  std::jthread looker{[&] {
    moved_clock::for_each([&](loop& each) {
      if (&each == &idle) ++looks_at_idle;
      if (&each == &busy) ++looks_at_busy;
    });
  }};
  while (looks_at_idle == 0) std::this_thread::yield();
  for (auto i = 0; i != 100; ++i) std::this_thread::yield();
  hold.unlock();
  looker.join();
  EXPECT_EQ(looks_at_idle, 1);
  EXPECT_EQ(looks_at_busy, 1);
}

}  // namespace
}  // namespace holdfast::reactor
