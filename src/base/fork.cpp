#include "base/fork.hpp"

#include <pthread.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace holdfast {
namespace {

std::atomic<int> generation{0};

/// Each in a cache line of its own. Their number is small because a fork locks all of them.
struct alignas(64) fork_guard {
  std::mutex mutex;
};
constinit std::array<fork_guard, 16> guards{};

void take_guards() {
  for (auto& guard : guards) guard.mutex.lock();
}

void free_guards() {
  for (auto& guard : guards) guard.mutex.unlock();
}

[[maybe_unused]] int const registered = ::pthread_atfork(take_guards, free_guards, [] {
  generation.fetch_add(1, std::memory_order_relaxed);
  free_guards();
});

}  // namespace

int fork_generation() noexcept { return generation.load(std::memory_order_relaxed); }

std::mutex& guard_across_fork(void const* object) noexcept {
  auto const address = reinterpret_cast<std::uintptr_t>(object);
  return guards[(address / 64 ^ address / 4096) % guards.size()].mutex;
}

}  // namespace holdfast
