#include "engine/quorum/fan_out.hpp"

#include <algorithm>
#include <new>
#include <utility>

namespace holdfast::engine {
namespace {

/// From the end of a master's time to a second look. Should this process be the slow one, it first reads what
/// the master has sent in time.
constexpr std::chrono::milliseconds second_look{5};

}  // namespace

fan_out::fan_out(reactor::loop& loop, quorum_nodes& nodes)
    : loop_{loop},
      nodes_{nodes},
      until_(nodes.size(), time_point::max()),
      owed_(nodes.size(), 0),
      late_(nodes.size(), 0),
      timer_{[this] { look(); }} {}

void fan_out::send(question asked, net::request request, std::chrono::nanoseconds at_most) {
  auto const master = asked.master;
  until_[master] = boot_clock::now() + std::min(at_most, node(master).limit());
  ++owed_[master];
  request.done = [self = shared_from_this(), asked](net::response&& response) {
    self->node(asked.master).heard(response);
    if (--self->owed_[asked.master] == 0) self->until_[asked.master] = time_point::max();
    if (std::ranges::all_of(self->until_, [](time_point until) { return until == time_point::max(); })) {
      self->timer_.disarm();
    }
    try {
      self->answered(asked, std::move(response));
    } catch (std::bad_alloc const&) {
      self->give_up();
    }
  };
  try {
    node(master).send(std::move(request));
  } catch (...) {
    if (--owed_[master] == 0) until_[master] = time_point::max();
    throw;
  }
  if (until_[master] != time_point::max()) set_timer(until_[master]);
}

void fan_out::wait_on(std::size_t master, time_point until) {
  until_[master] = until;
  set_timer(until);
}

void fan_out::look() noexcept {
  auto const self = shared_from_this();
  auto const now = boot_clock::now();
  if (!std::exchange(looked_, true)) {
    loop_.arm(timer_, now + second_look);
    return;
  }
  looked_ = false;
  auto next = time_point::max();
  for (std::size_t i = 0; i != masters(); ++i) {
    late_[i] = until_[i] <= now ? 1 : 0;
    if (late_[i] != 0) until_[i] = time_point::max();
    next = std::min(next, until_[i]);
  }
  if (next != time_point::max()) loop_.arm(timer_, next);
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
  if (!timer_.armed() || at_most < timer_.when()) loop_.arm(timer_, at_most);
}

}  // namespace holdfast::engine
