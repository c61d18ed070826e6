/// Simulated time and chance: the clock jumps from one event to the next, and all random numbers follow from
/// a seed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/callback.hpp"
#include "base/clock.hpp"
#include "reactor/reactor.hpp"

namespace holdfast::simulation {

using std::chrono::nanoseconds;

/// Replaces the clock and the random numbers of this process for its lifetime. One at a time, on one thread.
class world {
 public:
  explicit world(std::uint64_t seed);
  ~world();
  world(world const&) = delete;
  world& operator=(world const&) = delete;

  [[nodiscard]] time_point now() const noexcept { return boot_clock::now(); }

  /// With room in place for a request, and for what guards it.
  using event = callback<void(), 96>;

  /// Calls f at that time; if it is past, as the next event. Events of the same time keep their order.
  void at(time_point when, event f) { events_.emplace(std::max(when, now()), std::move(f)); }
  void after(nanoseconds delay, event f) { at(now() + delay, std::move(f)); }

  /// The timers of this loop become events, until remove(), which is due before the loop ends. Adding it
  /// twice changes nothing.
  void add(reactor::loop& loop);
  void remove(reactor::loop& loop);

  /// Called after each event.
  void on_step(std::function<void()> check) { check_ = std::move(check); }

  /// Runs the next event. False: there is none.
  bool step();
  /// Runs events until done() is true. False: `limit` has passed before, or there are no more events.
  bool run(nanoseconds limit, std::function<bool()> const& done);

  /// Prints the time and the text that `text` returns, if HOLDFAST_TRACE is set.
  template <class Text>
  void trace(Text text) const {
    if (traced_) print(text());
  }

  // Random numbers.
  [[nodiscard]] bool once_in(int n) { return below(n) == 0; }
  [[nodiscard]] int below(int n) { return static_cast<int>(random_() % static_cast<std::uint64_t>(n)); }
  [[nodiscard]] nanoseconds between(nanoseconds least, nanoseconds most) {
    return least + nanoseconds{static_cast<std::int64_t>(
                       random_() % static_cast<std::uint64_t>((most - least).count() + 1))};
  }

 private:
  void print(std::string const& text) const;

  bool const traced_;
  std::mt19937_64 random_;
  std::multimap<time_point, event> events_;
  std::vector<reactor::loop*> loops_;
  std::function<void()> check_;
};

/// Runs an event of a client: f under the client's lock, and then the calls that f has deferred.
template <class F>
void happen(reactor::loop& loop, F&& f) {
  reactor::lock hold{loop.mutex()};
  f();
  loop.leave(hold);
}

}  // namespace holdfast::simulation
