#include "reactor/moved_clock.hpp"

#include <algorithm>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "base/fork.hpp"
#include "reactor/reactor.hpp"

namespace holdfast::reactor {
namespace {

/// The list of all loops, with guard() held.
constinit loop* first = nullptr;

std::mutex& guard() noexcept { return guard_across_fork(static_cast<void const*>(&first)); }

}  // namespace

void moved_clock::enlist(loop& each) noexcept {
  std::lock_guard const hold{guard()};
  each.next_ = std::exchange(first, &each);
  if (each.next_ != nullptr) each.next_->previous_ = &each;
}

void moved_clock::strike_off(loop& each) noexcept {
  std::lock_guard const hold{guard()};
  (each.previous_ == nullptr ? first : each.previous_->next_) = each.next_;
  if (each.next_ != nullptr) each.next_->previous_ = each.previous_;
}

/// The lock of a loop is only tried: a thread that holds it may be about to take a guard. Only those that
/// were missed are tried again: of many busy loops there may never be a moment at which all are free.
void moved_clock::for_each(std::function<void(loop&)> const& f) {
  std::vector<loop const*> missed;
  auto const visit = [&](auto const& wanted) {
    std::lock_guard const hold{guard()};
    for (auto* each = first; each != nullptr; each = each->next_) {
      if (!wanted(each)) continue;
      lock const inside{each->mutex_, std::try_to_lock};
      if (inside.owns_lock()) {
        f(*each);
      } else {
        missed.push_back(each);
      }
    }
  };
  visit([](loop const*) { return true; });
  while (!missed.empty()) {
    std::this_thread::yield();
    auto const again = std::exchange(missed, {});
    visit([&again](loop const* each) { return std::ranges::find(again, each) != again.end(); });
  }
}

void moved_clock::look(loop& each) noexcept {
  each.timers_.look_at_clock();
  if (!each.polling_ && (each.need_keeper() || each.timers_.earliest() <= boot_clock::now()))
    each.wake_keeper();
}

void moved_clock::fire_timers(loop& each) { each.timers_.fire_due(); }

time_point moved_clock::next_timer(loop const& each) noexcept {
  return each.stopping_ ? time_point::max() : each.timers_.earliest();
}

bool moved_clock::settled(loop const& each) noexcept {
  return each.stopping_ || (each.timers_.earliest() > boot_clock::now() && each.dirty_.empty() &&
                            each.deferred_.empty() && each.calling_ == 0 && each.woken_.empty());
}

}  // namespace holdfast::reactor
