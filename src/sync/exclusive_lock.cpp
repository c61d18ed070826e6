#include <holdfast/exclusive_lock.hpp>

#include <utility>

#include "engine/access.hpp"
#include "engine/core.hpp"
#include "sync/kind.hpp"
#include "sync/options_check.hpp"
#include "sync/std_shape.hpp"

namespace holdfast {

struct exclusive_lock::impl {
  std::shared_ptr<engine::core> core;
  std::string name;
  engine::terms_ptr how;
  engine::line_ptr place;
  sync::std_shape<lease> shape;

  impl(client& redis, std::string what, lock_options const& options, engine::exclusive_kind const& kind)
      : core{engine::access::core_of(redis)},
        name{std::move(what)},
        how{core->share(kind.adjust(options))},
        place{core->pin(kind.how, name)},
        shape{"the lock \"" + name + "\"", kind.again, [on = core, title = name](lease mine) {
                on->warn("a thread ended without unlocking the lock \"" + title + "\"; it is given back");
                mine.async_release({});
              }} {}

  [[nodiscard]] std::optional<lease> acquire(engine::patience_time wait, std::stop_token const& stop) const {
    auto mine = core->acquire(place, how, wait, stop);
    if (!mine) return std::nullopt;
    return engine::held::handle(std::move(mine));
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
                               engine::exclusive_kind const& kind) {
  sync::check(name, options);
  impl_ = std::make_unique<impl>(redis, std::move(name), options, kind);
}

exclusive_lock::~exclusive_lock() { impl_->core->unpin(impl_->place); }

std::optional<busy_info> exclusive_lock::last_busy() { return impl_->core->last_busy(*impl_->place); }

std::string const& exclusive_lock::name() const noexcept { return impl_->name; }

void exclusive_lock::lock() {
  impl_->shape.lock([this] { return acquire(); });
}

bool exclusive_lock::try_lock() { return try_lock_within({}); }

bool exclusive_lock::try_lock_within(std::chrono::nanoseconds wait) {
  return impl_->shape.try_lock([this, wait] { return impl_->acquire(wait, {}); });
}

void exclusive_lock::unlock() { impl_->shape.unlock(); }

release_result exclusive_lock::last_release() const noexcept { return impl_->shape.last_release(); }

lease exclusive_lock::acquire(std::stop_token stop) { return std::move(*impl_->acquire(std::nullopt, stop)); }

std::optional<lease> exclusive_lock::try_acquire() { return try_acquire_within({}, {}); }

std::optional<lease> exclusive_lock::try_acquire_within(std::chrono::nanoseconds wait, std::stop_token stop) {
  sync::check(wait.count() >= 0, "the time to wait for the lock \"" + impl_->name + "\" is negative");
  return impl_->acquire(wait, stop);
}

lease exclusive_lock::reenter(lease const& held) {
  return engine::held::handle(impl_->core->reenter(impl_->place, engine::held::behind(held)));
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
