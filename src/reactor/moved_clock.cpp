#include "reactor/moved_clock.hpp"

#include "reactor/reactor.hpp"

namespace holdfast::reactor {

void moved_clock::for_each(std::function<void(loop&)> const& f) {
  listed_loop::for_each([&f](listed_loop& each) { f(static_cast<loop&>(each)); });
}

void moved_clock::look(loop& each) noexcept {
  each.timers_.look_at_clock();
  if (!each.polling_ && (each.need_keeper() || each.timers_.earliest() <= boot_clock::now()))
    each.wake_keeper();
}

void moved_clock::fire_timers(loop& each) {
  if (!each.timers_.fire_due()) each.note_out_of_memory();
}

time_point moved_clock::next_timer(loop const& each) noexcept {
  return each.stopping_ ? time_point::max() : each.timers_.earliest();
}

bool moved_clock::settled(loop const& each) noexcept {
  return each.stopping_ || (each.timers_.earliest() > boot_clock::now() && each.writers_.empty() &&
                            each.deferred_.empty() && each.calling_ == 0 && each.woken_.empty());
}

}  // namespace holdfast::reactor
