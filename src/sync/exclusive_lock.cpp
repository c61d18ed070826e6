#include <holdfast/exclusive_lock.hpp>

#include <atomic>
#include <utility>

#include "engine/access.hpp"
#include "engine/core.hpp"
#include "sync/kind.hpp"
#include "sync/options_check.hpp"
#include "sync/thread_holds.hpp"

namespace holdfast {

struct exclusive_lock::impl {
  std::shared_ptr<engine::core> core;
  std::string name;
  engine::terms_ptr how;
  engine::line_ptr place;
  sync::thread_holds<lease> holds{};
  std::atomic<release_result> last{release_result::released};

  bool keep(engine::held_ptr of) {
    if (!of) return false;
    holds.keep(engine::held::handle(std::move(of)));
    return true;
  }

  [[nodiscard]] engine::acquire_handler adapt(acquire_handler done) const {
    return [done = std::move(done)](engine::held_ptr of, std::shared_ptr<error const> const& failure) {
      std::optional<lease> result;
      if (of) result = engine::held::handle(std::move(of));
      done(std::move(result), failure ? std::make_exception_ptr(*failure) : nullptr);
    };
  }
};

exclusive_lock::exclusive_lock(client& redis, std::string name, lock_options const& options,
                               engine::exclusive_kind const& kind)
    : impl_{std::make_unique<impl>()} {
  sync::check(name, options);
  impl_->core = engine::access::core_of(redis);
  impl_->how = impl_->core->share(kind.adjust(options));
  impl_->place = impl_->core->pin(kind.how, name);
  impl_->name = std::move(name);
}

exclusive_lock::~exclusive_lock() {
  impl_->holds.clear();
  impl_->core->unpin(impl_->place);
}

std::optional<busy_info> exclusive_lock::last_busy() { return impl_->core->last_busy(*impl_->place); }

std::string const& exclusive_lock::name() const noexcept { return impl_->name; }

void exclusive_lock::lock() {
  if (impl_->holds.mine()) {
    throw error{std::errc::resource_deadlock_would_occur,
                "this thread holds the lock \"" + impl_->name + "\" already: it would wait for itself"};
  }
  impl_->keep(impl_->core->acquire(impl_->place, impl_->how, std::nullopt, {}));
}

bool exclusive_lock::try_lock() { return try_lock_within({}); }

bool exclusive_lock::try_lock_within(std::chrono::nanoseconds wait) {
  if (impl_->holds.mine()) return false;
  return impl_->keep(impl_->core->acquire(impl_->place, impl_->how, wait, {}));
}

void exclusive_lock::unlock() {
  auto mine = impl_->holds.take();
  if (!mine) {
    throw error{std::errc::operation_not_permitted,
                "unlock of the lock \"" + impl_->name + "\", which this thread does not hold"};
  }
  impl_->last.store(mine->release(), std::memory_order_relaxed);
}

release_result exclusive_lock::last_release() const noexcept {
  return impl_->last.load(std::memory_order_relaxed);
}

lease exclusive_lock::acquire(std::stop_token stop) {
  return engine::held::handle(impl_->core->acquire(impl_->place, impl_->how, std::nullopt, stop));
}

std::optional<lease> exclusive_lock::try_acquire() { return try_acquire_within({}, {}); }

std::optional<lease> exclusive_lock::try_acquire_within(std::chrono::nanoseconds wait, std::stop_token stop) {
  sync::check(wait.count() >= 0, "the time to wait for the lock \"" + impl_->name + "\" is negative");
  auto mine = impl_->core->acquire(impl_->place, impl_->how, wait, stop);
  if (!mine) return std::nullopt;
  return engine::held::handle(std::move(mine));
}

void exclusive_lock::async_acquire(acquire_handler done, std::stop_token stop) {
  impl_->core->async_acquire(impl_->place, impl_->how, std::nullopt, std::move(stop),
                             impl_->adapt(std::move(done)));
}

void exclusive_lock::async_try_acquire_within(std::chrono::nanoseconds wait, acquire_handler done,
                                              std::stop_token stop) {
  sync::check(wait.count() >= 0, "the time to wait for the lock \"" + impl_->name + "\" is negative");
  impl_->core->async_acquire(impl_->place, impl_->how, wait, std::move(stop), impl_->adapt(std::move(done)));
}

}  // namespace holdfast
