#include "allocations.hpp"

#include <atomic>
#include <cstdlib>
#include <new>
#include <thread>
#include <utility>

namespace holdfast::test {
namespace {

std::atomic<std::int64_t> remaining{-1};  ///< allocations before the n-th; negative: it was reached
std::atomic<std::int64_t> repeat_count{0};
std::atomic<std::function<void()> const*> active_action{nullptr};
std::atomic<int> action_users{0};  ///< threads that may be about to call the action
thread_local bool is_uncounted = false;

/// Counts this thread among action_users.
class action_user {
 public:
  action_user() noexcept { ++action_users; }
  ~action_user() { --action_users; }
  action_user(action_user const&) = delete;
  action_user& operator=(action_user const&) = delete;
};

void count_allocation() {
  if (is_uncounted) return;
  action_user const user;
  auto const* const action = active_action.load();
  if (action == nullptr) return;
  auto const before = remaining.fetch_sub(1);
  if (before > 0 || before <= -repeat_count) return;
  uncounted_thread const uncounted;
  (*action)();
}

}  // namespace

nth_allocation::nth_allocation(std::int64_t n, std::function<void()> action, std::int64_t times)
    : action_{std::move(action)} {
  repeat_count = times;
  remaining = n;
  active_action = &action_;
}

nth_allocation::~nth_allocation() {
  active_action = nullptr;
  remaining = -1;
  while (action_users.load() != 0) std::this_thread::yield();
}

bool nth_allocation::reached() const noexcept { return remaining.load() < 0; }

uncounted_thread::uncounted_thread() noexcept : before_{is_uncounted} { is_uncounted = true; }

uncounted_thread::~uncounted_thread() { is_uncounted = before_; }

}  // namespace holdfast::test

void* operator new(std::size_t size) {
  holdfast::test::count_allocation();
  if (auto* const memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc{};
}

void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t /*size*/) noexcept { std::free(memory); }

/// Asio allocates its operations with this function.
extern "C" void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept {
  try {
    holdfast::test::count_allocation();
  } catch (std::bad_alloc const&) {
    return nullptr;
  }
  void* memory = nullptr;
  return ::posix_memalign(&memory, alignment, size) == 0 ? memory : nullptr;
}
