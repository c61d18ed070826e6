#include "reactor/listed_loop.hpp"

#include <algorithm>
#include <thread>
#include <utility>
#include <vector>

#include "base/fork.hpp"

namespace holdfast::reactor {
namespace {

/// The list, with guard() held.
constinit listed_loop* first = nullptr;

std::mutex& guard() noexcept { return guard_across_fork(static_cast<void const*>(&first)); }

}  // namespace

void listed_loop::enlist() noexcept {
  std::lock_guard const hold{guard()};
  next_ = std::exchange(first, this);
  if (next_ != nullptr) next_->previous_ = this;
}

void listed_loop::strike_off() noexcept {
  std::lock_guard const hold{guard()};
  (previous_ == nullptr ? first : previous_->next_) = next_;
  if (next_ != nullptr) next_->previous_ = previous_;
}

/// The lock of a loop is only tried: a thread that holds it may be about to take a guard. Only those that
/// were missed are tried again: of many busy loops there may never be a moment at which all are free.
void listed_loop::for_each(std::function<void(listed_loop&)> const& f) {
  std::vector<listed_loop const*> missed;
  auto const visit = [&](auto const& wanted) {
    std::lock_guard const hold{guard()};
    for (auto* each = first; each != nullptr; each = each->next_) {
      if (!wanted(each)) continue;
      std::unique_lock const inside{each->mutex_, std::try_to_lock};
      if (inside.owns_lock()) {
        f(*each);
      } else {
        missed.push_back(each);
      }
    }
  };
  visit([](listed_loop const*) { return true; });
  while (!missed.empty()) {
    std::this_thread::yield();
    auto const again = std::exchange(missed, {});
    visit([&again](listed_loop const* each) { return std::ranges::find(again, each) != again.end(); });
  }
}

}  // namespace holdfast::reactor
