#include <holdfast/upgradable_lock.hpp>

#include <utility>

#include "sync/shared_sides.hpp"
#include "sync/upgrade.hpp"
#include "wire/plain/shared.hpp"

namespace holdfast {

upgradable_lock::upgradable_lock(std::unique_ptr<impl> of_the_lock) noexcept
    : impl_{std::move(of_the_lock)} {}

upgradable_lock::~upgradable_lock() = default;

lease upgradable_lock::downgrade_to_upgrade(lease writing) {
  auto const& leases = impl_->upgrading_here().leases.binding;
  impl_->check_own_writer(writing, "only a lease to write can become the upgrade lease: one of");
  return sync::become(std::move(writing), leases, recipes::plain::downgrade_to_upgrade);
}

void upgradable_lock::lock_upgrade() { impl_->lock(impl_->upgrading_here().leases); }

bool upgradable_lock::try_lock_upgrade() { return try_lock_upgrade_within({}); }

bool upgradable_lock::try_lock_upgrade_within(std::chrono::nanoseconds wait) {
  return impl_->try_lock(impl_->upgrading_here().leases, wait);
}

void upgradable_lock::unlock_upgrade() { impl_->unlock(impl_->upgrading_here().leases); }

void upgradable_lock::unlock_upgrade_and_lock() { (void)unlock_upgrade_and_lock_within(std::nullopt); }

bool upgradable_lock::try_unlock_upgrade_and_lock() {
  return unlock_upgrade_and_lock_within(std::chrono::nanoseconds{0});
}

bool upgradable_lock::unlock_upgrade_and_lock_within(std::optional<std::chrono::nanoseconds> wait) {
  auto& both = impl_->upgrading_here();
  auto held = both.leases.shape.leave();
  if (!held) return false;  // the thread is ending
  bool upgraded = false;
  try {
    upgraded = upgrade_within(*held, wait, {});
  } catch (...) {
    both.leases.shape.add(std::move(*held));
    throw;
  }
  (upgraded ? impl_->writers : both.leases).shape.add(std::move(*held));
  return upgraded;
}

void upgradable_lock::unlock_and_lock_upgrade() {
  auto& leases = impl_->upgrading_here().leases;
  if (auto writing = impl_->writers.shape.leave())
    leases.shape.add(downgrade_to_upgrade(std::move(*writing)));
}

void upgradable_lock::unlock_upgrade_and_lock_shared() {
  auto& leases = impl_->upgrading_here().leases;
  if (auto held = leases.shape.leave()) impl_->readers.shape.add(impl_->downgrade(std::move(*held)));
}

lease upgradable_lock::acquire_upgrade(std::stop_token stop) {
  return std::move(*impl_->upgrading_here().leases.binding.acquire(std::nullopt, stop));
}

std::optional<lease> upgradable_lock::try_acquire_upgrade() { return try_acquire_upgrade_within({}, {}); }

std::optional<lease> upgradable_lock::try_acquire_upgrade_within(std::chrono::nanoseconds wait,
                                                                 std::stop_token stop) {
  return impl_->upgrading_here().leases.binding.acquire(wait, stop);
}

void upgradable_lock::async_acquire_upgrade(acquire_handler done, std::stop_token stop) {
  impl_->upgrading_here().leases.binding.async_acquire(std::nullopt, std::move(done), std::move(stop));
}

void upgradable_lock::async_try_acquire_upgrade_within(std::chrono::nanoseconds wait, acquire_handler done,
                                                       std::stop_token stop) {
  impl_->upgrading_here().leases.binding.async_acquire(wait, std::move(done), std::move(stop));
}

void upgradable_lock::upgrade(lease& held, std::stop_token stop) {
  (void)upgrade_within(held, std::nullopt, std::move(stop));
}

bool upgradable_lock::try_upgrade(lease& held) {
  return upgrade_within(held, std::chrono::nanoseconds{0}, {});
}

bool upgradable_lock::upgrade_within(lease& held, std::optional<std::chrono::nanoseconds> wait,
                                     std::stop_token stop) {
  return sync::upgrade(held, impl_->upgrader_of(held), wait, std::move(stop));
}

void upgradable_lock::async_upgrade_within(lease& held, std::optional<std::chrono::nanoseconds> wait,
                                           upgrade_handler done, std::stop_token stop) {
  sync::async_upgrade(held, impl_->upgrader_of(held), wait, std::move(done), std::move(stop));
}

}  // namespace holdfast
