#include "engine/quorum/fan_out.hpp"

#include <algorithm>
#include <new>
#include <utility>

namespace holdfast::engine {
namespace {

/// Behind the end of a master's time: what it has sent by then is read first, should it be this process that
/// is slow.
constexpr std::chrono::milliseconds second_look{5};

}  // namespace

fan_out::fan_out(reactor::loop& on, quorum_nodes& whom)
    : on_{on},
      nodes_{whom},
      until_(whom.size(), time_point::max()),
      owed_(whom.size(), 0),
      late_(whom.size(), 0),
      timer_{[this] { look(); }} {}

void fan_out::send(question what, net::request request, std::chrono::nanoseconds at_most) {
  auto const who = what.who;
  until_[who] = boot_clock::now() + std::min(at_most, node(who).limit());
  ++owed_[who];
  request.done = [me = shared_from_this(), what](net::response&& how) {
    me->node(what.who).heard(how);
    if (--me->owed_[what.who] == 0) me->until_[what.who] = time_point::max();
    if (std::ranges::all_of(me->until_, [](time_point one) { return one == time_point::max(); })) {
      me->timer_.disarm();
    }
    try {
      me->answered(what, std::move(how));
    } catch (std::bad_alloc const&) {
      me->give_up();
    }
  };
  try {
    node(who).send(std::move(request));
  } catch (...) {
    if (--owed_[who] == 0) until_[who] = time_point::max();
    throw;
  }
  if (until_[who] != time_point::max()) set_timer(until_[who]);
}

void fan_out::wait_on(std::size_t who, time_point until) {
  until_[who] = until;
  set_timer(until);
}

void fan_out::look() noexcept {
  auto const me = shared_from_this();
  auto const now = boot_clock::now();
  if (!std::exchange(looked_, true)) {
    on_.arm(timer_, now + second_look);
    return;
  }
  looked_ = false;
  auto next = time_point::max();
  for (std::size_t i = 0; i != masters(); ++i) {
    late_[i] = until_[i] <= now ? 1 : 0;
    if (late_[i] != 0) until_[i] = time_point::max();
    next = std::min(next, until_[i]);
  }
  if (next != time_point::max()) on_.arm(timer_, next);
  for (std::size_t i = 0; i != masters(); ++i) {
    if (late_[i] != 0) node(i).fell_silent();
  }
  try {
    for (std::size_t i = 0; i != masters(); ++i) {
      if (std::exchange(late_[i], 0) != 0) overdue(i);
    }
  } catch (std::bad_alloc const&) {
    give_up();
  }
}

void fan_out::set_timer(time_point at_most) {
  if (!timer_.armed() || at_most < timer_.when()) on_.arm(timer_, at_most);
}

}  // namespace holdfast::engine
