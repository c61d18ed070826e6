#include "sync/idempotency_marks.hpp"

#include <atomic>

namespace holdfast::sync {

std::uint64_t next_request_number() noexcept {
  static std::atomic<std::uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

}  // namespace holdfast::sync
