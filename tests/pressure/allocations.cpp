#include "allocations.hpp"

#include <atomic>
#include <cstdlib>
#include <new>
#include <thread>
#include <utility>

namespace holdfast::test {
namespace {

std::atomic<std::int64_t> to_go{-1};  ///< before the one that is meant; negative: it has been
std::atomic<std::int64_t> how_many{0};
std::atomic<std::function<void()> const*> what_happens{nullptr};
std::atomic<int> looking{0};  ///< threads that may be about to call it
thread_local bool is_left_alone = false;

/// Counts this thread among them.
class look {
 public:
  look() noexcept { ++looking; }
  ~look() { --looking; }
  look(look const&) = delete;
  look& operator=(look const&) = delete;
};

void look_at_allocation() {
  if (is_left_alone) return;
  look const here;
  auto const* const happening = what_happens.load();
  if (happening == nullptr) return;
  auto const before = to_go.fetch_sub(1);
  if (before > 0 || before <= -how_many) return;
  left_alone const meanwhile;
  (*happening)();
}

}  // namespace

nth_allocation::nth_allocation(std::int64_t n, std::function<void()> happening, std::int64_t times)
    : happening_{std::move(happening)} {
  how_many = times;
  to_go = n;
  what_happens = &happening_;
}

nth_allocation::~nth_allocation() {
  what_happens = nullptr;
  to_go = -1;
  while (looking.load() != 0) std::this_thread::yield();
}

bool nth_allocation::happened() const noexcept { return to_go.load() < 0; }

left_alone::left_alone() noexcept : before_{is_left_alone} { is_left_alone = true; }

left_alone::~left_alone() { is_left_alone = before_; }

}  // namespace holdfast::test

void* operator new(std::size_t size) {
  holdfast::test::look_at_allocation();
  if (auto* const memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc{};
}

void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t /*size*/) noexcept { std::free(memory); }

/// What Asio has its operations from.
extern "C" void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept {
  try {
    holdfast::test::look_at_allocation();
  } catch (std::bad_alloc const&) {
    return nullptr;
  }
  void* memory = nullptr;
  return ::posix_memalign(&memory, alignment, size) == 0 ? memory : nullptr;
}
