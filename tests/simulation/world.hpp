/// A world without time: its clock moves from one event to the next, and chance has a seed.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "reactor/reactor.hpp"

namespace holdfast::simulation {

using std::chrono::nanoseconds;

/// While it lives the process has its clock and its chance. One at a time. All on one thread.
class world {
 public:
  explicit world(std::uint64_t seed);
  ~world();
  world(world const&) = delete;
  world& operator=(world const&) = delete;

  [[nodiscard]] time_point now() const noexcept { return boot_clock::now(); }

  /// Calls f when it is that late, unless it is past: then next. Events of one time keep their order.
  void at(time_point when, std::function<void()> f) { events_.emplace(std::max(when, now()), std::move(f)); }
  void after(nanoseconds time, std::function<void()> f) { at(now() + time, std::move(f)); }

  /// The timers of this loop are events, too. It has to leave before it ends.
  void add(reactor::loop& loop);
  void remove(reactor::loop& loop);

  /// Called after each event.
  void on_step(std::function<void()> check) { check_ = std::move(check); }

  /// What happens next. False: nothing will.
  bool step();
  /// Until then, or until `done` says so. False: time was up.
  bool run(nanoseconds at_most, std::function<bool()> const& done);

  /// For whoever looks at one seed (HOLDFAST_TRACE=1): what happened, and when.
  template <class Words>
  void trace(Words words) const {
    if (traced_) print(words());
  }

  // Chance.
  [[nodiscard]] bool once_in(int n) { return below(n) == 0; }
  [[nodiscard]] int below(int n) { return static_cast<int>(random_() % static_cast<std::uint64_t>(n)); }
  [[nodiscard]] nanoseconds between(nanoseconds least, nanoseconds most) {
    return least + nanoseconds{static_cast<std::int64_t>(
                       random_() % static_cast<std::uint64_t>((most - least).count() + 1))};
  }

 private:
  void print(std::string const& words) const;

  bool const traced_;
  std::mt19937_64 random_;
  std::multimap<time_point, std::function<void()>> events_;
  std::vector<reactor::loop*> loops_;
  std::function<void()> check_;
};

/// Something that happens to a client: under its lock, with what it called for done afterwards.
template <class F>
void happen(reactor::loop& loop, F f) {
  reactor::lock hold{loop.mutex()};
  f();
  loop.leave(hold);
}

}  // namespace holdfast::simulation
