#include <holdfast/condition.hpp>

#include <algorithm>
#include <limits>
#include <utility>

#include "base/clock.hpp"
#include "engine/access.hpp"
#include "engine/core.hpp"
#include "scripts/condition.hpp"
#include "sync/async_condition_wait.hpp"
#include "sync/condition_wait.hpp"
#include "sync/options_check.hpp"
#include "sync/shared_counter.hpp"
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

/// The steps of one wait, for each of which this thread waits.
class blocking_wait {
 public:
  blocking_wait(engine::core& engine, std::string const& name, lease_state& held)
      : core_{engine}, lease_{held}, wait_{engine, name, held} {}

  /// The lease is given back. When this throws it may still be held.
  void begin() {
    core_.lay_downs().lay_down(&lease_, wait_.beginning());
    wait_.has_begun();
  }

  std::cv_status await(engine::wait_limit time, std::stop_token const& stop) {
    try {
      auto notified =
          core_.locks().acquire(wait_.seat(), wait_.seat_options(), time, stop, wait_.seat_particulars());
      if (!notified) return leave();
      wait_.was_notified(notified);
    } catch (error const& failure) {
      if (!wait_.goes_on_after(failure)) throw;
    }
    return std::cv_status::no_timeout;
  }

  [[nodiscard]] lease take_up() {
    try {
      auto next = lease_state::handle(core_.locks().acquire(wait_.lock(), wait_.lock_options(), std::nullopt,
                                                            {}, sync::condition_wait::lock_particulars()));
      wait_.take_up(*lease_state::behind(next));
      return next;
    } catch (error const& failure) {
      wait_.missed(failure);
      throw;
    }
  }

 private:
  std::cv_status leave() {
    try {
      auto const reply = core_.requests().ask_until_ready(wait_.leaving()).reply;
      return wait_.has_left(&reply);
    } catch (error const&) {
      return wait_.has_left(nullptr);
    }
  }

  engine::core& core_;
  lease_state& lease_;
  sync::condition_wait wait_;
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
    if (core->constants().forked()) throw error{errc::forked, no_wait() + "this process is a forked child"};
    auto const& queue = state->queue();
    auto const& kind = queue.lock_recipe();
    auto const fits = &queue.engine() == core.get() && kind.first_name(queue.name()) == name();
    sync::check(fits, no_wait() + "the lease is one of " + queue.title() + ", or of another client");
    sync::check(
        kind.channels == nullptr,
        no_wait() + "the lock is on Redisson's wire, whose locks know no conditions; use wire::plain for it");
    sync::check(
        &kind != &plain::upgrader,
        no_wait() +
            "the lease was an upgrade lease before; acquire one to write instead, or give it back and "
            "acquire one");
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
  core->constants().check_kind(engine::deciders::one);
  core->check_scripts("the condition of \"" + name + '"');
  sync::check_length("condition", name);
  if (core->constants().deployment.slots) sync::check_cluster_name(name);
  impl_ = std::make_unique<impl>(core, name);
}

condition::~condition() = default;

std::string const& condition::name() const noexcept { return impl_->name(); }

std::cv_status condition::wait_within(lease& held, std::optional<std::chrono::nanoseconds> time,
                                      std::stop_token stop) {
  auto& state = impl_->own(held);
  if (stop.stop_requested()) return std::cv_status::no_timeout;
  auto const end = time ? boot_clock::now() + *time : time_point::max();
  auto status = std::cv_status::no_timeout;
  lease next;
  {
    blocking_wait wait{*impl_->core, impl_->name(), state};
    wait.begin();
    if (time) {
      time = std::max<std::chrono::nanoseconds>(end - boot_clock::now(), std::chrono::nanoseconds{1});
    }
    status = wait.await(time, stop);
    next = wait.take_up();
  }
  auto over = lease_state::take(std::exchange(held, std::move(next)));
  impl_->core->leases().forget(over);
  return status;
}

void condition::async_wait_within(lease& held, std::optional<std::chrono::nanoseconds> time,
                                  wait_handler done, std::stop_token stop) {
  (void)impl_->own(held);
  sync::check_handler(done, "the condition of \"" + name() + '"');
  sync::async_wait_on_condition(*impl_->core, name(), held, time, std::move(done), std::move(stop));
}

std::int64_t condition::notify_one() { return impl_->notify(1); }

std::int64_t condition::notify_all() { return impl_->notify(std::numeric_limits<std::int32_t>::max()); }

}  // namespace holdfast
