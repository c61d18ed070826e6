#include <holdfast/barrier.hpp>

#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "base/fork.hpp"
#include "base/thrown.hpp"
#include "engine/access.hpp"
#include "engine/core.hpp"
#include "engine/presence.hpp"
#include "sync/barriers_on_etcd.hpp"
#include "sync/idempotency_marks.hpp"
#include "sync/options_check.hpp"
#include "sync/shared_counter.hpp"
#include "sync/wires.hpp"
#include "wire/etcd/exclusive.hpp"
#include "wire/plain/barrier.hpp"

namespace holdfast {
namespace {

/// Redisson's wire has none.
constexpr sync::wires barrier_wires{.plain = recipes::plain::barrier,
                                    .redisson = recipes::plain::barrier,
                                    .fenced = nullptr,
                                    .on_etcd = &recipes::etcd::barrier};

constexpr std::int64_t most_parties = 1'000'000;
constexpr std::chrono::milliseconds shortest_arrival{100};
constexpr std::chrono::hours longest_arrival{1};

lock_options options_of_engine(barrier_options const& options) {
  lock_options all{};
  all.ttl = options.ttl;
  all.wake = options.wake;
  all.poll_floor = options.poll_floor;
  all.poll_cap = options.poll_cap;
  return all;
}

}  // namespace

/// From where one call at a time of a client arrives.
struct seat {
  engine::lock_queue_ptr queue{};
  std::int64_t last = 0;  ///< the generation that opened for the last call
};

/// The seats of one object. A seat is used again only after an arrival that opened its generation: then no
/// request about it is under way, or is still to be sent.
struct barrier::impl {
  std::shared_ptr<engine::core> core;
  std::string name;
  std::int64_t parties;
  engine::recipe const& kind;
  engine::effective_options_ptr options;
  std::string participant;
  std::vector<seat> free_seats{};  ///< under the guard

  impl(client& redis, std::string barrier_name, std::int64_t count, barrier_options const& wanted,
       engine::recipe const& chosen)
      : core{engine::access::core_of(redis)},
        name{std::move(barrier_name)},
        parties{count},
        kind{chosen},
        options{core->effective(options_of_engine(wanted), static_cast<int>(count))},
        participant{engine::describe_self(core->constants().options.label).to_string()} {}
  impl(impl const&) = delete;
  impl& operator=(impl const&) = delete;
  ~impl() {
    for (auto& each : free_seats) core->unpin(each.queue);
  }

  [[nodiscard]] seat take_seat() {
    {
      std::lock_guard const hold{guard_across_fork(this)};
      if (!free_seats.empty()) {
        auto taken = std::move(free_seats.back());
        free_seats.pop_back();
        return taken;
      }
    }
    return {.queue =
                core->pin(kind, recipes::plain::seat_name(name, sync::next_request_number(), participant))};
  }

  void give_back(seat& left, std::int64_t opened) noexcept {
    if (opened != 0) {
      try {
        std::lock_guard const hold{guard_across_fork(this)};
        free_seats.emplace_back().queue.swap(left.queue);
        free_seats.back().last = opened;
        return;
      } catch (std::bad_alloc const&) {
        // The next arrival makes a seat of its own.
      }
    }
    core->unpin(left.queue);
  }

  /// A seat for the length of one call.
  struct occupied {
    impl& of;
    seat own_seat;
    std::int64_t opened = 0;  ///< the generation, when it has

    explicit occupied(impl& all) : of{all}, own_seat{all.take_seat()} {}
    occupied(occupied const&) = delete;
    occupied& operator=(occupied const&) = delete;
    ~occupied() { of.give_back(own_seat, opened); }
  };

  [[nodiscard]] std::optional<std::int64_t> arrive(engine::wait_limit wait, std::stop_token const& stop) {
    occupied taken{*this};
    auto granted = core->locks().acquire(taken.own_seat.queue, options, wait, stop);
    if (!granted) return wait->count() > 0 ? opened_meanwhile(taken.own_seat) : std::nullopt;
    taken.opened = granted->token();
    core->leases().forget(granted);
    return taken.opened;
  }

  /// The last one may have arrived when the time was up here, and not yet in the server. The seat isn't used
  /// again: the engine gives the arrival up, too.
  [[nodiscard]] std::optional<std::int64_t> opened_meanwhile(seat const& left) const {
    auto const opened =
        kind.on_etcd ? sync::on_etcd::time_up_at_barrier(*core, left.queue->name()) : time_up_on_redis(left);
    if (opened == 0) return std::nullopt;
    return opened;
  }
  [[nodiscard]] std::int64_t time_up_on_redis(seat const& left) const {
    auto const question = recipes::plain::time_up(left.queue->name(), core->constants().uuid, left.last,
                                                  core->publishing_now());
    return core->requests().ask(question, name).integer;
  }
};

barrier::barrier(client& redis, std::string name, std::int64_t parties, barrier_options options) {
  auto const core = engine::access::core_of(redis);
  auto const on_etcd = core->constants().deployment.etcd;
  if (!on_etcd) {
    core->constants().check_kind(engine::deciders::one);
    core->check_scripts("the barrier \"" + name + '"');
  }
  sync::check_length("barrier", name);
  sync::check_number("the parties of the barrier", name, parties, 1, most_parties);
  sync::check(options.ttl >= shortest_arrival && options.ttl <= longest_arrival,
              "the ttl of the barrier \"" + name + "\" must be from 100 ms to an hour");
  sync::check(name, options_of_engine(options));
  if (core->constants().deployment.slots) sync::check_cluster_name(name);
  // Whatever the client's wire is.
  auto const& kind = on_etcd ? sync::choose(barrier_wires, {&name, 1}, options_of_engine(options), *core)
                             : barrier_wires.plain;
  impl_ = std::make_shared<impl>(redis, std::move(name), parties, options, kind);
}

barrier::~barrier() = default;

std::string const& barrier::name() const noexcept { return impl_->name; }

std::int64_t barrier::parties() const noexcept { return impl_->parties; }

std::int64_t barrier::arrive_and_wait(std::stop_token stop) {
  return impl_->arrive(std::nullopt, stop).value_or(0);
}

std::optional<std::int64_t> barrier::arrive_within(std::chrono::nanoseconds time, std::stop_token stop) {
  return impl_->arrive(time, stop);
}

void barrier::async_arrive_and_wait(arrive_handler done, std::stop_token stop) {
  sync::check_handler(done, name());
  auto taken = std::make_unique<impl::occupied>(*impl_);
  auto const& queue = taken->own_seat.queue;
  impl_->core->locks().async_acquire(
      queue, impl_->options, std::nullopt, std::move(stop),
      [all = impl_, taken = std::move(taken), done = std::move(done)](
          engine::lease_state_ptr granted, std::shared_ptr<error const> const& failure) mutable {
        auto const generation = granted ? granted->token() : 0;
        taken->opened = generation;
        if (granted) all->core->leases().forget(granted);
        taken.reset();
        done(generation, failure ? thrown(*failure) : nullptr);
      });
}

}  // namespace holdfast
