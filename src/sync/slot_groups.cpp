#include "sync/slot_groups.hpp"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <random>

#include "base/backoff.hpp"
#include "base/clock.hpp"
#include "base/ids.hpp"
#include "base/thrown.hpp"
#include "sync/try_and_back_off.hpp"
#include "sync/wires.hpp"
#include "wire/lock_names.hpp"

namespace holdfast::sync {
namespace {

// Callers that collided over the same locks must not collide again: random, and longer each time.
constexpr std::chrono::milliseconds shortest_pause{1};
constexpr std::chrono::milliseconds longest_pause{50};

/// The state of acquiring several groups together, and the next step. Shared by the blocking and the
/// asynchronous acquisition.
class progress {
 public:
  progress(slot_groups all, engine::wait_limit wait)
      : all_{std::move(all)},
        end_{wait ? boot_clock::now() + *wait : time_point::max()},
        try_only_{wait && wait->count() <= 0},
        sequence_{all_->size()},
        leases_(all_->size()) {}

  [[nodiscard]] bool complete() const noexcept { return sequence_.complete(); }
  [[nodiscard]] slot_group const& next() const noexcept { return (*all_)[sequence_.next()]; }

  /// The limit of the wait for the next group.
  [[nodiscard]] engine::wait_limit wait_limit() const {
    if (!sequence_.may_wait()) return std::chrono::nanoseconds{0};
    if (end_ == time_point::max()) return std::nullopt;
    return std::max<std::chrono::nanoseconds>(end_ - boot_clock::now(), std::chrono::nanoseconds{0});
  }

  /// Waits through outages after the first reply, like a caller that waits for a single lock; but not for a
  /// server to which no connection was ever made.
  [[nodiscard]] engine::outages outages() const {
    if (!sequence_.may_wait()) return engine::outages::reported_at_once;
    return begun_ && next().core().stats().connects > 0 ? engine::outages::waited_out
                                                        : engine::outages::reported;
  }

  /// Records the lease of the next group, or null when the group was busy. Returns the pause before the next
  /// round; nullopt when there is none.
  std::optional<std::chrono::nanoseconds> got(engine::lease_state_ptr granted) {
    begun_ = true;
    if (granted) {
      leases_[sequence_.next()] = engine::lease_state::handle(std::move(granted));
      sequence_.got();
      // An earlier lease may have been lost during the requests for the other groups.
      if (!complete() || all_->size() == 1 || std::ranges::all_of(leases_, &lease::valid))
        return std::nullopt;
      give_back();
      sequence_.again();
    } else {
      given_up_ = sequence_.may_wait();
      give_back();
      sequence_.busy();
    }
    auto const pause = pause_before_next();
    given_up_ = given_up_ || !pause;
    return given_up_ ? std::nullopt : pause;
  }

  /// Records that the request for the next group failed. A failure of a request that doesn't wait may be
  /// temporary: then the other leases are released, and the next round waits for this group. Returns as
  /// above; nullopt: the caller gets the failure, since it is permanent, the request has waited, the caller
  /// only tries, or the time is up.
  std::optional<std::chrono::nanoseconds> failed(error const& failure) {
    auto const is_temporary = failure.code() == errc::unreachable || failure.code() == errc::refused;
    if (!is_temporary || try_only_ || sequence_.may_wait()) return std::nullopt;
    auto const pause = pause_before_next();
    if (!pause) return std::nullopt;
    give_back();
    sequence_.busy();
    return pause;
  }

  /// The time is up.
  [[nodiscard]] bool given_up() const noexcept { return given_up_; }

  /// Releases all, without waiting for the replies: the servers carry it out before any later request.
  void give_back() noexcept {
    for (auto& lease : leases_) lease.async_release({});
  }

  [[nodiscard]] std::vector<lease> take() noexcept { return std::move(leases_); }

 private:
  /// Nullopt: the time is up.
  std::optional<std::chrono::nanoseconds> pause_before_next() {
    auto const remaining = end_ - boot_clock::now();
    if (remaining.count() <= 0) return std::nullopt;
    if (!random_) random_.emplace(static_cast<std::minstd_rand::result_type>(random_seed()));
    return std::min<std::chrono::nanoseconds>(pause_.next(*random_), remaining);
  }

  slot_groups all_;
  time_point end_;
  bool try_only_;
  bool begun_ = false;  ///< a request has been answered
  try_and_back_off sequence_;
  std::vector<lease> leases_;  ///< by group; empty handles for groups not acquired
  bool given_up_ = false;
  backoff pause_{shortest_pause, longest_pause};
  std::optional<std::minstd_rand> random_{};  ///< created at the first collision
};

lock_options without_keep(lock_options options) {
  options.keep = false;
  return options;
}

lock_options in_order_of(engine::recipe const& kind, lock_options const& options) {
  return kind.order == engine::order::strict ? engine::in_server_order(options) : options;
}

/// See engine::acquire_request.
int size_of(std::span<multi_name const> names) {
  return names.size() == 1 ? static_cast<int>(names.front().size) : 0;
}

std::string queue_name(std::span<multi_name const> sorted) {
  if (sorted.size() == 1) return sorted.front().name;
  auto const to_write = [](multi_name const& wanted) { return wanted.as == multi_name::hold::write; };
  if (!std::ranges::all_of(sorted, to_write)) return recipes::join_names(sorted);
  std::vector<std::string> names;
  names.reserve(sorted.size());
  for (auto const& wanted : sorted) names.push_back(wanted.name);
  return recipes::join_names(names);
}

void sleep(std::chrono::nanoseconds time, std::stop_token const& stop) {
  std::mutex guard;
  std::condition_variable_any never;
  std::unique_lock hold{guard};
  (void)never.wait_for(hold, stop, time, [] { return false; });
}

/// An asynchronous acquisition. Owns itself until done.
class attempt : public std::enable_shared_from_this<attempt> {
 public:
  attempt(slot_groups all, engine::wait_limit wait, std::stop_token stop, taken_handler done)
      : progress_{std::move(all), wait}, stop_{std::move(stop)}, done_{std::move(done)} {}

  void acquire_next() {
    auto const& group = progress_.next();
    group.core().locks().async_acquire(
        group.queue(), group.options_to_acquire(), progress_.wait_limit(), stop_,
        [self = shared_from_this()](engine::lease_state_ptr granted,
                                    std::shared_ptr<error const> const& failure) {
          if (failure) {
            self->on_failure(*failure);
          } else {
            self->on_result(std::move(granted));
          }
        },
        group.amount(), progress_.outages());
  }

 private:
  void on_result(engine::lease_state_ptr granted) {
    auto const pause = progress_.got(std::move(granted));
    if (progress_.complete()) {
      done_(progress_.take(), nullptr);
    } else if (progress_.given_up()) {
      done_({}, nullptr);
    } else if (pause) {
      acquire_next_after(*pause);
    } else {
      run_or_fail([this] { acquire_next(); });
    }
  }

  void on_failure(error const& failure) {
    if (auto const pause = progress_.failed(failure)) {
      acquire_next_after(*pause);
    } else {
      fail(thrown(failure));
    }
  }

  void acquire_next_after(std::chrono::nanoseconds pause) {
    run_or_fail([this, pause] {
      progress_.next().core().locks().async_pause(
          pause, [self = shared_from_this()] { self->run_or_fail([&self] { self->acquire_next(); }); });
    });
  }

  /// A step fails when a client is shut down between two steps, or memory runs out.
  template <class Step>
  void run_or_fail(Step step) {
    std::exception_ptr reason;
    try {
      step();
    } catch (std::exception const&) {
      reason = std::current_exception();
    }
    if (reason) fail(reason);
  }

  void fail(std::exception_ptr const& reason) {
    progress_.give_back();
    done_({}, reason);
  }

  progress progress_;
  std::stop_token stop_;
  taken_handler done_;
};

}  // namespace

slot_group::slot_group(std::shared_ptr<engine::core> core, std::span<multi_name const> sorted,
                       lock_options const& options)
    : slot_group{core, sorted, choose(sorted, options, *core), options} {}

slot_group::slot_group(std::shared_ptr<engine::core> core, std::span<multi_name const> sorted,
                       engine::recipe const& kind, lock_options const& options)
    : pinned_{std::move(core), kind, queue_name(sorted)},
      options_to_acquire_{this->core().effective(without_keep(in_order_of(kind, options)), size_of(sorted))},
      options_{options.keep ? this->core().effective(in_order_of(kind, options), size_of(sorted))
                            : options_to_acquire_},
      amount_{sorted.size() == 1 ? static_cast<int>(sorted.front().count) : 1} {}

std::vector<lease> take_together(slot_groups const& all, engine::wait_limit wait,
                                 std::stop_token const& stop) {
  progress state{all, wait};
  for (;;) {
    auto const& group = state.next();
    std::optional<std::chrono::nanoseconds> pause;
    try {
      pause =
          state.got(group.core().locks().acquire(group.queue(), group.options_to_acquire(),
                                                 state.wait_limit(), stop, group.amount(), state.outages()));
    } catch (error const& failure) {
      pause = state.failed(failure);
      if (!pause) {
        state.give_back();  // their destructors would wait for one server after the other
        throw;
      }
    }
    if (state.complete()) return state.take();
    if (state.given_up()) return {};
    if (pause) sleep(*pause, stop);
  }
}

void hand_out(slot_groups const& all, std::vector<lease> const& leases) noexcept {
  for (std::size_t i = 0; i != leases.size(); ++i) {
    auto const& group = (*all)[i];
    if (group.options() != group.options_to_acquire())
      group.core().leases().hand_out(*engine::lease_state::behind(leases[i]), group.options());
  }
}

void async_take_together(slot_groups all, engine::wait_limit wait, std::stop_token stop, taken_handler done) {
  std::make_shared<attempt>(std::move(all), wait, std::move(stop), std::move(done))->acquire_next();
}

}  // namespace holdfast::sync
