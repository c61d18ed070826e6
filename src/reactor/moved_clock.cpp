// What a loop does for a clock that a test moves: all loops are known, and say when they have settled.

#include <mutex>
#include <thread>
#include <utility>

#include "base/fork.hpp"
#include "reactor/reactor.hpp"

namespace holdfast::reactor {
namespace {

/// The list of all loops, with guard() held.
constinit loop* first = nullptr;

std::mutex& guard() noexcept { return guard_across_fork(static_cast<void const*>(&first)); }

}  // namespace

void loop::enlist() noexcept {
  std::lock_guard const hold{guard()};
  next_ = std::exchange(first, this);
  if (next_ != nullptr) next_->previous_ = this;
}

void loop::strike_off() noexcept {
  std::lock_guard const hold{guard()};
  (previous_ == nullptr ? first : previous_->next_) = next_;
  if (next_ != nullptr) next_->previous_ = previous_;
}

/// The lock of a loop is only tried: a thread that holds it may be about to take a guard.
void loop::for_each(std::function<void(loop&)> const& f) {
  for (auto missed = true; missed;) {
    missed = false;
    {
      std::lock_guard const hold{guard()};
      for (auto* each = first; each != nullptr; each = each->next_) {
        lock const inside{each->mutex_, std::try_to_lock};
        if (inside.owns_lock()) {
          f(*each);
        } else {
          missed = true;
        }
      }
    }
    if (missed) std::this_thread::yield();
  }
}

void loop::look_at_clock() noexcept {
  timers_.look_at_clock();
  if (!polling_ && (need_keeper() || timers_.earliest() <= boot_clock::now())) wake_keeper();
}

bool loop::settled() const noexcept {
  return stopping_ || (timers_.earliest() > boot_clock::now() && dirty_.empty() && deferred_.empty() &&
                       calling_ == 0 && woken_.empty());
}

}  // namespace holdfast::reactor
