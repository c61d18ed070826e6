// Work that failed for want of memory is done a little later. Nothing here needs memory.

#include <utility>

#include "engine/core.hpp"

namespace holdfast::engine {

void core::mend_soon() noexcept {
  if (!mending_.armed()) loop_.arm(mending_, boot_clock::now() + memory_pause);
}

/// There is room for as much work as a process short of memory is likely to leave. For work beyond that, the
/// server forgets the acquisition at the end of its ttl, or when it comes to the head of the queue.
void core::owe(owed const& work) noexcept {
  if (owed_.size() == owed_.capacity()) {
    log_(log_level::warning, [&] {
      return client_.url + ": there is no memory to give back, or to keep, what is left of " +
             work.queue->title() + "; it is free at the end of the ttl that it has";
    });
    return;
  }
  owed_.push_back(work);
  mend_soon();
}

/// A step failed halfway, or there was no memory to report that the server is another one. So besides the
/// work that is known to be undone, all leases are asked about, and all contenders ask again.
void core::on_torn() noexcept {
  look_again_ = true;
  mend_soon();
}

void core::mend() noexcept {
  auto const now = boot_clock::now();
  // Work that fails again goes to the end.
  for (auto remaining = owed_.size(); remaining != 0; --remaining) {
    auto const work = std::move(owed_.front());
    owed_.erase(owed_.begin());
    if (work.until <= now) continue;
    switch (work.type) {
      case owed::kind::release:
        send_release({work.queue, work.number, work.policy, work.until}, {});
        break;
      case owed::kind::abandon:
        abandon(*work.queue, work.number, work.policy);
        break;
      case owed::kind::last_ttl:
        set_last_ttl(*work.queue, work.number, work.kept_until, work.until);
        break;
    }
  }
  auto const look_again = std::exchange(look_again_, false);
  if (look_again) {
    renewer_.ask_about_all();
    repeat_releases();
  }
  queues_.for_each([&](lock_queue& queue) {
    if (queue.contender) {
      if (look_again && queue.contender->current == contender::state::waiting)
        loop_.arm(queue.contender->retry, now);
    } else if (!queue.waiters.empty() && queue.holder == nullptr) {
      begin_contending(queue);
    }
  });
}

}  // namespace holdfast::engine
