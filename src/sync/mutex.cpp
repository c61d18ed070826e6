#include <algorithm>
#include <atomic>
#include <holdfast/mutex.hpp>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "engine/core.hpp"
#include "sync/exclusive.hpp"

namespace holdfast {
namespace {

constexpr std::size_t longest_name = 65536;

void check(bool fine, std::string const& what) {
  if (!fine) throw error{std::errc::invalid_argument, what};
}

void check(std::string const& name, lock_options const& options) {
  using namespace std::chrono_literals;
  check(!name.empty(), "a lock needs a name: it is empty");
  check(name.size() <= longest_name,
        "the name of a lock has at most 65536 bytes, not " + std::to_string(name.size()));
  auto const of = [&name](char const* option) { return std::string{option} + " of lock \"" + name + "\""; };
  auto const in_ms = [](milliseconds time) { return std::to_string(time.count()) + " ms"; };
  check(options.ttl >= 10ms, of("ttl") + " must be at least 10 ms, not " + in_ms(options.ttl));
  check(options.ttl <= 365 * 24h, of("ttl") + " must be at most a year");
  check(options.renew_every >= 0ms, of("renew_every") + " must not be negative");
  check(options.renew_every <= options.ttl / 2,
        of("renew_every") + " must be at most half the ttl, so that one renewal can fail");
  check(options.max_renewals >= 0, of("max_renewals") + " must not be negative");
  check(options.max_hold >= 0ms, of("max_hold") + " must not be negative");
  check(options.starvation_limit >= 0ms, of("starvation_limit") + " must not be negative");
  check(options.handoff_limit >= 0 && options.handoff_limit <= 4096,
        of("handoff_limit") + " must be from 0 to 4096");
  check(options.handoff_time >= 0ms, of("handoff_time") + " must not be negative");
}

}  // namespace

struct mutex::impl {
  std::shared_ptr<engine::core> core;
  std::string name;
  engine::terms_ptr how;
  engine::line_ptr place;

  // The std shape: who holds it, and what. A thread whose lease was lost may learn it only when it unlocks,
  // while the next one of this process holds already.
  struct hold {
    std::thread::id by{};
    lease held{};
  };
  std::mutex guard;  ///< of the next two
  hold now{};
  std::vector<hold> overtaken{};         ///< lost, and not unlocked yet
  std::atomic<std::thread::id> owner{};  ///< now.by
  std::atomic<bool> any_overtaken{false};
  std::atomic<release_result> last{release_result::released};

  [[nodiscard]] bool mine() noexcept {
    auto const me = std::this_thread::get_id();
    if (owner.load(std::memory_order_relaxed) == me) return true;
    if (!any_overtaken.load(std::memory_order_relaxed)) return false;
    std::lock_guard const alone{guard};
    return find_overtaken(me) != overtaken.end();
  }

  std::vector<hold>::iterator find_overtaken(std::thread::id by) noexcept {
    return std::find_if(overtaken.begin(), overtaken.end(), [by](hold const& one) { return one.by == by; });
  }

  bool keep(engine::held_ptr of) {
    if (!of) return false;
    auto mine = engine::held::handle(std::move(of));
    std::lock_guard const alone{guard};
    if (now.by != std::thread::id{}) {
      overtaken.push_back(std::move(now));
      any_overtaken.store(true, std::memory_order_relaxed);
    }
    now = {std::this_thread::get_id(), std::move(mine)};
    owner.store(now.by, std::memory_order_relaxed);
    return true;
  }

  /// Empty when this thread holds nothing.
  std::optional<lease> take() noexcept {
    auto const me = std::this_thread::get_id();
    std::lock_guard const alone{guard};
    if (now.by == me) {
      owner.store({}, std::memory_order_relaxed);
      now.by = {};
      return std::move(now.held);
    }
    auto const lost = find_overtaken(me);
    if (lost == overtaken.end()) return std::nullopt;
    auto held = std::move(lost->held);
    overtaken.erase(lost);
    any_overtaken.store(!overtaken.empty(), std::memory_order_relaxed);
    return held;
  }

  [[nodiscard]] engine::acquire_handler adapt(acquire_handler done) const {
    return [done = std::move(done)](engine::held_ptr of, std::shared_ptr<error const> const& failure) {
      std::optional<lease> result;
      if (of) result = engine::held::handle(std::move(of));
      done(std::move(result), failure ? std::make_exception_ptr(*failure) : nullptr);
    };
  }
};

mutex::mutex(client& redis, std::string name, lock_options options) : impl_{std::make_unique<impl>()} {
  check(name, options);
  impl_->core = redis.core_;
  impl_->how = impl_->core->share(options);
  impl_->place = impl_->core->pin(sync::exclusive, name);
  impl_->name = std::move(name);
}

mutex::~mutex() {
  impl_->now = {};
  impl_->overtaken.clear();
  impl_->core->unpin(impl_->place);
}

std::string const& mutex::name() const noexcept { return impl_->name; }

void mutex::lock() {
  if (impl_->mine()) {
    throw error{std::errc::resource_deadlock_would_occur,
                "this thread holds the mutex \"" + impl_->name + "\" already: it would wait for itself"};
  }
  impl_->keep(impl_->core->acquire(impl_->place, impl_->how, std::nullopt, {}));
}

bool mutex::try_lock() { return try_lock_within({}); }

bool mutex::try_lock_within(std::chrono::nanoseconds wait) {
  if (impl_->mine()) return false;
  return impl_->keep(impl_->core->acquire(impl_->place, impl_->how, wait, {}));
}

void mutex::unlock() {
  auto mine = impl_->take();
  if (!mine) {
    throw error{std::errc::operation_not_permitted,
                "unlock of the mutex \"" + impl_->name + "\", which this thread does not hold"};
  }
  impl_->last.store(mine->release(), std::memory_order_relaxed);
}

release_result mutex::last_release() const noexcept { return impl_->last.load(std::memory_order_relaxed); }

lease mutex::acquire(std::stop_token stop) {
  return engine::held::handle(impl_->core->acquire(impl_->place, impl_->how, std::nullopt, stop));
}

std::optional<lease> mutex::try_acquire() { return try_acquire_within({}, {}); }

std::optional<lease> mutex::try_acquire_within(std::chrono::nanoseconds wait, std::stop_token stop) {
  check(wait.count() >= 0, "the time to wait for the lock \"" + impl_->name + "\" is negative");
  auto mine = impl_->core->acquire(impl_->place, impl_->how, wait, stop);
  if (!mine) return std::nullopt;
  return engine::held::handle(std::move(mine));
}

void mutex::async_acquire(acquire_handler done, std::stop_token stop) {
  impl_->core->async_acquire(impl_->place, impl_->how, std::nullopt, std::move(stop),
                             impl_->adapt(std::move(done)));
}

void mutex::async_try_acquire_within(std::chrono::nanoseconds wait, acquire_handler done,
                                     std::stop_token stop) {
  check(wait.count() >= 0, "the time to wait for the lock \"" + impl_->name + "\" is negative");
  impl_->core->async_acquire(impl_->place, impl_->how, wait, std::move(stop), impl_->adapt(std::move(done)));
}

}  // namespace holdfast
