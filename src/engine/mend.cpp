// What couldn't be done for want of memory: it is done a little later. Nothing here takes any.

#include <utility>

#include "engine/core.hpp"

namespace holdfast::engine {

void core::mend_soon() noexcept {
  if (!mending_.armed()) loop_.arm(mending_, boot_clock::now() + memory_pause);
}

/// There is room for as many as a process short of memory is likely to get to. The server forgets those
/// beyond at the end of their ttl, or when they come to the head of the queue.
void core::owe(owed const& what) noexcept {
  if (owed_.size() == owed_.capacity()) {
    log(log_level::warning, [&] {
      return url() + ": there is no memory to give back, or to keep, what is left of " + what.place->title() +
             "; it is free at the end of the ttl that it has";
    });
    return;
  }
  owed_.push_back(what);
  mend_soon();
}

/// Something failed in the middle, or there was no memory to say that the server is another one. So besides
/// what is known to be undone, all that is held is asked about, and all that wait look again.
void core::on_torn() noexcept {
  look_again_ = true;
  mend_soon();
}

void core::mend() noexcept {
  auto const now = boot_clock::now();
  // Those that fail again come to stand behind the others.
  for (auto left = owed_.size(); left != 0; --left) {
    auto const one = std::move(owed_.front());
    owed_.erase(owed_.begin());
    if (one.until <= now) continue;
    switch (one.what) {
      case owed::kind::release:
        send_release({one.place, one.number, one.how, one.until}, {});
        break;
      case owed::kind::abandon:
        abandon(*one.place, one.number, one.how);
        break;
      case owed::kind::last_ttl:
        set_last_ttl(*one.place, one.number, one.kept_until, one.until);
        break;
    }
  }
  auto const look_again = std::exchange(look_again_, false);
  if (look_again) {
    renewer_.ask_about_all();
    repeat_releases();
  }
  for_each_line([&](lock_queue& at) {
    if (at.contender) {
      if (look_again && at.contender->current == contender::state::waiting)
        loop_.arm(at.contender->retry, now);
    } else if (!at.waiters.empty() && at.holder == nullptr) {
      begin_contending(at);
    }
  });
}

}  // namespace holdfast::engine
