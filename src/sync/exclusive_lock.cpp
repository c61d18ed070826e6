#include <holdfast/exclusive_lock.hpp>

#include <utility>

#include "engine/access.hpp"
#include "sync/kind.hpp"
#include "sync/lock_binding.hpp"
#include "sync/options_check.hpp"
#include "sync/std_shape.hpp"

namespace holdfast {

struct exclusive_lock::impl {
  sync::lock_binding binding;
  sync::std_shape<lease> shape;

  impl(client& redis, std::string name, lock_options const& options, engine::exclusive_kind const& kind,
       engine::recipe const& lock_recipe)
      : binding{redis, std::move(name), kind.normalize_options(options), lock_recipe},
        shape{"the lock \"" + binding.name() + "\"", kind.again,
              [core = binding.core(), title = binding.name()](lease abandoned) {
                abandoned.async_release({});
                core->warn([&title] {
                  return "a thread ended without unlocking the lock \"" + title + "\"; it is given back";
                });
              }} {}
};

exclusive_lock::exclusive_lock(client& redis, std::string name, lock_options const& options,
                               engine::exclusive_kind const& kind) {
  sync::check(name, options);
  auto const& lock_recipe = sync::choose(kind.wires, {&name, 1}, options, *engine::access::core_of(redis));
  impl_ = std::make_unique<impl>(redis, std::move(name), options, kind, lock_recipe);
}

exclusive_lock::~exclusive_lock() = default;

std::optional<busy_info> exclusive_lock::last_busy() {
  return impl_->binding.core()->locks().last_busy(*impl_->binding.queue());
}

std::string const& exclusive_lock::name() const noexcept { return impl_->binding.name(); }

void exclusive_lock::lock() {
  impl_->shape.lock([this] { return acquire(); });
}

bool exclusive_lock::try_lock() { return try_lock_within({}); }

bool exclusive_lock::try_lock_within(std::chrono::nanoseconds wait) {
  return impl_->shape.try_lock([this, wait] { return impl_->binding.acquire(wait, {}); });
}

void exclusive_lock::unlock() { impl_->shape.unlock(); }

std::optional<release_result> exclusive_lock::last_release() const noexcept {
  return impl_->shape.last_release();
}

lease_view exclusive_lock::current() const { return impl_->shape.look_at_own(engine::lease_state::view); }

lease exclusive_lock::acquire(std::stop_token stop) {
  return std::move(*impl_->binding.acquire(std::nullopt, stop));
}

std::optional<lease> exclusive_lock::try_acquire() { return try_acquire_within({}, {}); }

std::optional<lease> exclusive_lock::try_acquire_within(std::chrono::nanoseconds wait, std::stop_token stop) {
  return impl_->binding.acquire(wait, stop);
}

lease exclusive_lock::reenter(lease const& held) {
  return engine::lease_state::handle(
      impl_->binding.core()->leases().reenter(impl_->binding.queue(), engine::lease_state::behind(held)));
}

void exclusive_lock::async_acquire(acquire_handler done, std::stop_token stop) {
  impl_->binding.async_acquire(std::nullopt, std::move(done), std::move(stop));
}

void exclusive_lock::async_try_acquire_within(std::chrono::nanoseconds wait, acquire_handler done,
                                              std::stop_token stop) {
  impl_->binding.async_acquire(wait, std::move(done), std::move(stop));
}

}  // namespace holdfast
