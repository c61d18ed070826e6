#include <holdfast/shared_mutex.hpp>

#include <utility>

#include "engine/access.hpp"
#include "sync/shared_sides.hpp"

namespace holdfast {

shared_mutex::shared_mutex(client& redis, std::string name, lock_options options)
    : upgradable_lock{impl::make(redis, name, options)} {}

shared_mutex::~shared_mutex() = default;

std::string const& shared_mutex::name() const noexcept { return impl_->writers.binding.name(); }

void shared_mutex::lock() { impl_->lock(impl_->writers); }

bool shared_mutex::try_lock() { return try_lock_within({}); }

bool shared_mutex::try_lock_within(std::chrono::nanoseconds wait) {
  return impl_->try_lock(impl_->writers, wait);
}

void shared_mutex::unlock() { impl_->unlock(impl_->writers); }

void shared_mutex::lock_shared() { impl_->lock(impl_->readers); }

bool shared_mutex::try_lock_shared() { return try_lock_shared_within({}); }

bool shared_mutex::try_lock_shared_within(std::chrono::nanoseconds wait) {
  return impl_->try_lock(impl_->readers, wait);
}

void shared_mutex::unlock_shared() { impl_->unlock(impl_->readers); }

void shared_mutex::unlock_and_lock_shared() {
  impl_->check_format("can't turn a writer into a reader");
  if (auto writing = impl_->writers.shape.leave()) impl_->readers.shape.add(downgrade(std::move(*writing)));
}

std::optional<release_result> shared_mutex::last_release() const noexcept {
  return impl_->last.load(std::memory_order_relaxed);
}

lease_view shared_mutex::current() const {
  auto const* const held = impl_->held_by_this_thread();
  return (held != nullptr ? *held : impl_->readers).shape.look_at_own(engine::lease_state::view);
}

lease shared_mutex::acquire(std::stop_token stop) { return impl_->writers.acquire(stop); }

std::optional<lease> shared_mutex::try_acquire() { return try_acquire_within({}, {}); }

std::optional<lease> shared_mutex::try_acquire_within(std::chrono::nanoseconds wait, std::stop_token stop) {
  return impl_->writers.binding.acquire(wait, stop);
}

lease shared_mutex::acquire_shared(std::stop_token stop) { return impl_->readers.acquire(stop); }

std::optional<lease> shared_mutex::try_acquire_shared() { return try_acquire_shared_within({}, {}); }

std::optional<lease> shared_mutex::try_acquire_shared_within(std::chrono::nanoseconds wait,
                                                             std::stop_token stop) {
  return impl_->readers.binding.acquire(wait, stop);
}

lease shared_mutex::downgrade(lease held) {
  impl_->check_format("can't turn a writer into a reader");
  return impl_->downgrade(std::move(held));
}

void shared_mutex::async_acquire(acquire_handler done, std::stop_token stop) {
  impl_->writers.binding.async_acquire(std::nullopt, std::move(done), std::move(stop));
}

void shared_mutex::async_acquire_shared(acquire_handler done, std::stop_token stop) {
  impl_->readers.binding.async_acquire(std::nullopt, std::move(done), std::move(stop));
}

void shared_mutex::async_try_acquire_within(std::chrono::nanoseconds wait, acquire_handler done,
                                            std::stop_token stop) {
  impl_->writers.binding.async_acquire(wait, std::move(done), std::move(stop));
}

void shared_mutex::async_try_acquire_shared_within(std::chrono::nanoseconds wait, acquire_handler done,
                                                   std::stop_token stop) {
  impl_->readers.binding.async_acquire(wait, std::move(done), std::move(stop));
}

std::optional<busy_info> shared_mutex::last_busy() {
  auto& locks = impl_->writers.binding.core()->locks();
  auto const* latest = impl_->readers.binding.queue().get();
  auto const consider = [&](sync::lock_binding const& other) {
    if (locks.last_busy_at(*other.queue()) > locks.last_busy_at(*latest)) latest = other.queue().get();
  };
  consider(impl_->writers.binding);
  if (impl_->upgrading) {
    consider(impl_->upgrading->leases.binding);
    consider(impl_->upgrading->writers);
  }
  return locks.last_busy(*latest);
}

}  // namespace holdfast
