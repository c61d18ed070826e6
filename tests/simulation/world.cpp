#include "simulation/world.hpp"

#include <cstdio>
#include <cstdlib>

#include "base/ids.hpp"
#include "reactor/moved_clock.hpp"
#include "reactor/timers.hpp"

namespace holdfast::simulation {
namespace {

constexpr time_point beginning{std::chrono::hours{24}};
std::mt19937_64* chance = nullptr;

}  // namespace

world::world(std::uint64_t seed) : traced_{std::getenv("HOLDFAST_TRACE") != nullptr}, random_{seed} {
  boot_clock::stand_in.store(beginning.time_since_epoch().count());
  reactor::timers::fired_by_simulation = true;
  chance = &random_;
  stand_in_for_randomness([] { return static_cast<std::uint64_t>((*chance)()); });
}

world::~world() {
  stand_in_for_randomness(nullptr);
  reactor::timers::fired_by_simulation = false;
  boot_clock::stand_in.store(0);
}

void world::print(std::string const& text) const {
  std::printf("%9.3f ms  %s\n", std::chrono::duration<double, std::milli>(now() - beginning).count(),
              text.c_str());
}

void world::add(reactor::loop& loop) {
  if (std::ranges::find(loops_, &loop) != loops_.end()) return;
  loops_.push_back(&loop);
  loop.simulate([this] { (void)step(); });
}

void world::remove(reactor::loop& loop) { std::erase(loops_, &loop); }

bool world::step() {
  auto const next_event = events_.empty() ? time_point::max() : events_.begin()->first;
  reactor::loop* first = nullptr;
  auto next_timer = time_point::max();
  for (auto* const loop : loops_) {
    reactor::lock const hold{loop->mutex()};
    if (auto const when = reactor::moved_clock::next_timer(*loop); when < next_timer) {
      next_timer = when;
      first = loop;
    }
  }
  if (first == nullptr && events_.empty()) return false;
  auto const when = std::max(now(), std::min(next_event, next_timer));
  boot_clock::stand_in.store(when.time_since_epoch().count());
  if (next_timer < next_event) {
    happen(*first, [first] { reactor::moved_clock::fire_timers(*first); });
  } else {
    auto next = events_.extract(events_.begin());
    next.mapped()();
  }
  if (check_) check_();
  return true;
}

bool world::run(nanoseconds limit, std::function<bool()> const& done) {
  auto const end = now() + limit;
  while (!done()) {
    if (now() >= end || !step()) return false;
  }
  return true;
}

}  // namespace holdfast::simulation
