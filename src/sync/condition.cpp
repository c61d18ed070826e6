#include <holdfast/condition.hpp>

#include <algorithm>
#include <limits>
#include <utility>

#include "engine/access.hpp"
#include "engine/core.hpp"
#include "scripts/condition.hpp"
#include "sync/options_check.hpp"
#include "sync/shared_counter.hpp"
#include "wire/plain/condition.hpp"
#include "wire/plain/exclusive.hpp"
#include "wire/plain/fair.hpp"
#include "wire/plain/shared.hpp"

namespace holdfast {
namespace {

namespace plain = recipes::plain;
using engine::lease_state;

/// A release of these gives back nothing but the lock.
bool has_condition(engine::recipe const& kind) noexcept {
  return &kind == &plain::exclusive || &kind == &plain::fair || &kind == &plain::writer_first;
}

/// A lock queue for the length of a call.
struct pinned {
  engine::core& core;
  engine::lock_queue_ptr queue;

  pinned(engine::core& engine, engine::recipe const& kind, std::string_view name)
      : core{engine}, queue{core.pin(kind, name)} {}
  pinned(pinned const&) = delete;
  pinned& operator=(pinned const&) = delete;
  ~pinned() { core.unpin(queue); }
};

/// One wait of one lease. Should it end early, its lease is lost, and it doesn't wait any more.
class lease_wait {
 public:
  lease_wait(engine::core& engine, std::string const& name, lease_state& held)
      : core_{engine},
        name_{name},
        lease_{held},
        seat_{core_, plain::condition, plain::seat_of_waiter(name, held.number())},
        lock_{core_, held.queue().lock_recipe(), name} {}
  lease_wait(lease_wait const&) = delete;
  lease_wait& operator=(lease_wait const&) = delete;
  ~lease_wait() {
    if (waits_ && lease_.status() != lease_state::state::held)
      core_.leases().abandon_wait(lease_, *seat_.queue);
    if (laid_down_) core_.leases().miss(lease_, cause_);
  }

  /// The lease is given back. When this throws it may still be held.
  void begin() {
    auto const owner = core_.owner_id(lease_.number());
    auto const script =
        plain::begin_to_wait({.name = name_, .owner = owner}, core_.policy_now(lease_.options()));
    waits_ = true;
    core_.leases().lay_down(&lease_, script);
    laid_down_ = true;
  }

  std::cv_status await(engine::wait_limit time, std::stop_token const& stop) {
    try {
      auto notified = acquire(seat_, waiting_as(), time, stop, {.number = lease_.number()});
      if (!notified) return leave();
      waits_ = false;
      core_.leases().forget(notified);
    } catch (error const& failure) {
      // An outage: the lock is waited for in any case.
      if (failure.code() != errc::cancelled && failure.code() != errc::unreachable) throw;
      core_.leases().abandon_wait(lease_, *seat_.queue);
      waits_ = false;
    }
    return std::cv_status::no_timeout;
  }

  /// The same kind of lock, with the same options.
  [[nodiscard]] lease take_up() {
    engine::effective_options_ptr const options{&lease_.effective()};
    auto next = lease_state::handle(acquire(lock_, options, std::nullopt, {}, {}));
    core_.leases().take_up(lease_, *lease_state::behind(next));
    laid_down_ = false;
    return next;
  }

 private:
  engine::lease_state_ptr acquire(pinned const& from, engine::effective_options_ptr const& options,
                                  engine::wait_limit time, std::stop_token const& stop,
                                  engine::lock_calls::particulars how) {
    how.in_outage = engine::outages::waited_out;
    try {
      return core_.locks().acquire(from.queue, options, time, stop, how);
    } catch (error const& failure) {
      cause_ = failure.code() == errc::closed ? loss_cause::closed : loss_cause::unreachable;
      throw;
    }
  }

  /// How the wait is done; nothing has to acknowledge it.
  [[nodiscard]] engine::effective_options_ptr waiting_as() const {
    lock_options options{};
    options.ttl = lease_.options().ttl;
    options.wake = lease_.options().wake;
    options.poll_floor = lease_.options().poll_floor;
    options.poll_cap = lease_.options().poll_cap;
    return core_.effective(options);
  }

  /// The time is up. `timeout`: the server says that it waited until now. If that can't be asked the caller
  /// has to look.
  std::cv_status leave() {
    auto const owner = core_.owner_id(lease_.number());
    auto const question =
        plain::leave({.name = name_, .owner = owner}, plain::leaving::asks, core_.publishing_now());
    try {
      auto const reply = core_.requests().ask_until_ready(question).reply;
      waits_ = reply.is_error();
      if (!waits_ && reply.integer == 0) return std::cv_status::timeout;
    } catch (error const&) {
      waits_ = true;  // it is taken out when the server is back
    }
    return std::cv_status::no_timeout;
  }

  engine::core& core_;
  std::string const& name_;
  lease_state& lease_;
  pinned seat_;
  pinned lock_;
  loss_cause cause_ = loss_cause::unreachable;
  bool waits_ = false;      ///< the server may have it among those that wait
  bool laid_down_ = false;  ///< the lease is given back, and not taken up again
};

}  // namespace

struct condition::impl {
  std::shared_ptr<engine::core> core;
  sync::shared_counter requests;

  impl(std::shared_ptr<engine::core> engine, std::string const& name)
      : core{std::move(engine)}, requests{core, name, {}, {}, names::done_prefix(name)} {}

  [[nodiscard]] std::string const& name() const noexcept { return requests.name(); }

  /// Throws when it can't be waited with.
  [[nodiscard]] lease_state& own(lease& held) const {
    auto* const state = lease_state::behind(held);
    if (state == nullptr) throw error{errc::lost, no_wait() + "the lease is empty"};
    if (core->forked()) throw error{errc::forked, no_wait() + "this process is a forked child"};
    auto const& queue = state->queue();
    auto const& kind = queue.lock_recipe();
    auto const fits = &queue.engine() == core.get() && kind.first_name(queue.name()) == name();
    sync::check(fits, no_wait() + "the lease is one of " + queue.title() + ", or of another client");
    sync::check(
        kind.channels == nullptr,
        no_wait() + "the lock is on Redisson's wire, whose locks know no conditions; use wire::plain for it");
    sync::check(has_condition(kind),
                no_wait() +
                    "only a mutex, a fair_mutex, a recursive_mutex, and a lease to write "
                    "of a shared_mutex, have one");
    return *state;
  }
  [[nodiscard]] std::string no_wait() const { return "can't wait on the condition of \"" + name() + "\": "; }

  std::int64_t notify(std::int64_t most) {
    auto const queue = names::queue(name());
    auto const waiting = names::condition(name());
    auto const counting = names::condition_until(name());
    return requests.change(scripts::condition::notify{.lock = {name()},
                                                      .queue = {queue},
                                                      .waiting = {waiting},
                                                      .counting = {counting},
                                                      .done = {},
                                                      .answered = {},
                                                      .most = most,
                                                      .grant_ms = engine::grant_ttl.count(),
                                                      .publish = requests.publish(),
                                                      .done_ms = sync::idempotency_marks::kept_ms});
  }
};

condition::condition(client& redis, std::string name) {
  auto const core = engine::access::core_of(redis);
  core->check_kind(engine::votes::none);
  core->check_scripts("the condition of \"" + name + '"');
  sync::check_length("condition", name);
  if (core->deployment().slots) sync::check_cluster_name(name);
  impl_ = std::make_unique<impl>(core, name);
}

condition::~condition() = default;

std::string const& condition::name() const noexcept { return impl_->name(); }

std::cv_status condition::wait_within(lease& held, std::optional<std::chrono::nanoseconds> time,
                                      std::stop_token stop) {
  auto& state = impl_->own(held);
  if (stop.stop_requested()) return std::cv_status::no_timeout;
  auto const begun = std::chrono::steady_clock::now();
  auto status = std::cv_status::no_timeout;
  lease next;
  {
    lease_wait wait{*impl_->core, impl_->name(), state};
    wait.begin();
    if (time) {
      time = std::max<std::chrono::nanoseconds>(*time - (std::chrono::steady_clock::now() - begun),
                                                std::chrono::nanoseconds{1});
    }
    status = wait.await(time, stop);
    next = wait.take_up();
  }
  auto over = lease_state::take(std::exchange(held, std::move(next)));
  impl_->core->leases().forget(over);
  return status;
}

std::int64_t condition::notify_one() { return impl_->notify(1); }

std::int64_t condition::notify_all() { return impl_->notify(std::numeric_limits<std::int32_t>::max()); }

}  // namespace holdfast
