#include "base/fork.hpp"

#include <pthread.h>

#include <atomic>

namespace holdfast {
namespace {

std::atomic<int> generation{0};

[[maybe_unused]] int const registered =
    ::pthread_atfork(nullptr, nullptr, [] { generation.fetch_add(1, std::memory_order_relaxed); });

}  // namespace

int fork_generation() noexcept { return generation.load(std::memory_order_relaxed); }

}  // namespace holdfast
