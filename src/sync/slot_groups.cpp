#include "sync/slot_groups.hpp"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <random>

#include "base/backoff.hpp"
#include "base/clock.hpp"
#include "base/ids.hpp"
#include "sync/multi.hpp"
#include "sync/thrown.hpp"
#include "sync/try_and_back_off.hpp"
#include "sync/wires.hpp"

namespace holdfast::sync {
namespace {

// Those who met over the same locks must not meet again: random, and longer each time.
constexpr std::chrono::milliseconds shortest_pause{1};
constexpr std::chrono::milliseconds longest_pause{50};

/// What taking several groups together has come to, and what is to be done next. Whether it is done by a
/// thread that waits, or by callbacks, is all that differs.
class progress {
 public:
  progress(slot_groups all, engine::patience_time wait)
      : all_{std::move(all)},
        end_{wait ? boot_clock::now() + *wait : time_point::max()},
        only_tries_{wait && wait->count() <= 0},
        turns_{all_->size()},
        taken_(all_->size()) {}

  [[nodiscard]] bool complete() const noexcept { return turns_.complete(); }
  [[nodiscard]] slot_group const& next() const noexcept { return (*all_)[turns_.next()]; }

  /// How long the next one may be waited for.
  [[nodiscard]] engine::patience_time patience() const {
    if (!turns_.may_wait()) return std::chrono::nanoseconds{0};
    if (end_ == time_point::max()) return std::nullopt;
    return std::max<std::chrono::nanoseconds>(end_ - boot_clock::now(), std::chrono::nanoseconds{0});
  }

  /// As who waits for a single lock, this waits through outages once it has been answered; but not for a
  /// server that nobody has ever reached.
  [[nodiscard]] engine::outages outages() const {
    return begun_ && next().core().stats().connects > 0 ? engine::outages::waited_out
                                                        : engine::outages::told_of;
  }

  /// What became of the next one. The result: the pause before the next round; nullopt when there is none.
  std::optional<std::chrono::nanoseconds> got(engine::lease_state_ptr one) {
    begun_ = true;
    if (one) {
      taken_[turns_.next()] = engine::lease_state::handle(std::move(one));
      turns_.got();
      // While the others were asked the first may have been lost.
      if (!complete() || all_->size() == 1 || std::ranges::all_of(taken_, &lease::valid)) return std::nullopt;
      give_back();
      turns_.again();
    } else {
      given_up_ = turns_.may_wait();
      give_back();
      turns_.busy();
    }
    auto const pause = pause_before_next();
    given_up_ = given_up_ || !pause;
    return given_up_ ? std::nullopt : pause;
  }

  /// The next one couldn't be asked. What a server says to one that only tries may pass; so the others are
  /// given back, and this one is waited for, which tells. The result as above; nullopt: that has been done,
  /// or nobody waits, and the failure is the caller's.
  std::optional<std::chrono::nanoseconds> failed(error const& why) {
    auto const may_pass = why.code() == errc::unreachable || why.code() == errc::refused;
    if (!may_pass || only_tries_ || turns_.may_wait()) return std::nullopt;
    auto const pause = pause_before_next();
    if (!pause) return std::nullopt;
    give_back();
    turns_.busy();
    return pause;
  }

  /// The time is up.
  [[nodiscard]] bool given_up() const noexcept { return given_up_; }

  /// Without waiting for the answers: the servers carry it out before whatever is asked next.
  void give_back() noexcept {
    for (auto& one : taken_) one.async_release({});
  }

  [[nodiscard]] std::vector<lease> take() noexcept { return std::move(taken_); }

 private:
  /// Nullopt: the time is up.
  std::optional<std::chrono::nanoseconds> pause_before_next() {
    auto const left = end_ - boot_clock::now();
    if (left.count() <= 0) return std::nullopt;
    if (!random_) random_.emplace(static_cast<std::minstd_rand::result_type>(random_seed()));
    return std::min<std::chrono::nanoseconds>(pause_.next(*random_), left);
  }

  slot_groups all_;
  time_point end_;
  bool only_tries_;
  bool begun_ = false;  ///< one of them has been answered
  try_and_back_off turns_;
  std::vector<lease> taken_;
  bool given_up_ = false;
  backoff pause_{shortest_pause, longest_pause};
  std::optional<std::minstd_rand> random_{};  ///< only who meets others needs it
};

void sleep(std::chrono::nanoseconds time, std::stop_token const& stop) {
  std::mutex guard;
  std::condition_variable_any never;
  std::unique_lock hold{guard};
  (void)never.wait_for(hold, stop, time, [] { return false; });
}

/// Owns itself until it is done.
class attempt : public std::enable_shared_from_this<attempt> {
 public:
  attempt(slot_groups all, engine::patience_time wait, std::stop_token stop, taken_handler done)
      : progress_{std::move(all), wait}, stop_{std::move(stop)}, done_{std::move(done)} {}

  void ask() {
    auto const& one = progress_.next();
    one.core().async_acquire(
        one.queue(), one.options(), progress_.patience(), stop_,
        [me = shared_from_this()](engine::lease_state_ptr of, std::shared_ptr<error const> const& failure) {
          if (failure) {
            me->put_off(*failure);
          } else {
            me->go_on(std::move(of));
          }
        },
        1, progress_.outages());
  }

 private:
  void go_on(engine::lease_state_ptr of) {
    auto const pause = progress_.got(std::move(of));
    if (progress_.complete()) {
      done_(progress_.take(), nullptr);
    } else if (progress_.given_up()) {
      done_({}, nullptr);
    } else if (pause) {
      ask_after(*pause);
    } else {
      unless_it_fails([this] { ask(); });
    }
  }

  void put_off(error const& failure) {
    if (auto const pause = progress_.failed(failure)) {
      ask_after(*pause);
    } else {
      fail(thrown(failure));
    }
  }

  void ask_after(std::chrono::nanoseconds pause) {
    unless_it_fails([this, pause] {
      progress_.next().core().async_pause(
          pause, [me = shared_from_this()] { me->unless_it_fails([&me] { me->ask(); }); });
    });
  }

  /// A client may be shut down between two steps, or memory be wanting.
  template <class Step>
  void unless_it_fails(Step step) {
    std::exception_ptr why;
    try {
      step();
    } catch (std::exception const&) {
      why = std::current_exception();
    }
    if (why) fail(why);
  }

  void fail(std::exception_ptr const& why) {
    progress_.give_back();
    done_({}, why);
  }

  progress progress_;
  std::stop_token stop_;
  taken_handler done_;
};

}  // namespace

slot_group::slot_group(std::shared_ptr<engine::core> core, std::span<std::string const> sorted,
                       lock_options const& options)
    : core_{std::move(core)},
      options_{core_->share(options)},
      queue_{sorted.size() == 1
                 ? core_->pin(choose(lone_wires, sorted, options, *core_), sorted.front())
                 : core_->pin(choose(multi_wires, sorted, options, *core_), join_names(sorted))} {}

std::vector<lease> take_together(slot_groups const& all, engine::patience_time wait,
                                 std::stop_token const& stop) {
  progress so_far{all, wait};
  for (;;) {
    auto const& one = so_far.next();
    std::optional<std::chrono::nanoseconds> pause;
    try {
      pause = so_far.got(
          one.core().acquire(one.queue(), one.options(), so_far.patience(), stop, 1, so_far.outages()));
    } catch (error const& failure) {
      pause = so_far.failed(failure);
      if (!pause) throw;
    }
    if (so_far.complete()) return so_far.take();
    if (so_far.given_up()) return {};
    if (pause) sleep(*pause, stop);
  }
}

void async_take_together(slot_groups all, engine::patience_time wait, std::stop_token stop,
                         taken_handler done) {
  std::make_shared<attempt>(std::move(all), wait, std::move(stop), std::move(done))->ask();
}

}  // namespace holdfast::sync
