#include "sync/lock_binding.hpp"

#include <utility>

#include "base/thrown.hpp"
#include "engine/access.hpp"
#include "sync/options_check.hpp"

namespace holdfast::sync {

lock_binding::lock_binding(client& redis, std::string name, lock_options const& options,
                           engine::recipe const& kind, int size)
    : name_{std::move(name)},
      pinned_{engine::access::core_of(redis), kind, name_},
      options_{core()->effective(options, size)} {}

std::optional<lease> lock_binding::acquire(engine::wait_limit wait, std::stop_token const& stop,
                                           int amount) const {
  return acquire_with(options_, wait, stop, amount);
}

std::optional<lease> lock_binding::acquire_with(engine::effective_options_ptr const& options,
                                                engine::wait_limit wait, std::stop_token const& stop,
                                                int amount) const {
  auto granted = core()->locks().acquire(queue(), options, wait, stop, amount);
  if (!granted) return std::nullopt;
  return engine::lease_state::handle(std::move(granted));
}

void lock_binding::async_acquire(engine::wait_limit wait, exclusive_lock::acquire_handler done,
                                 std::stop_token stop, int amount) const {
  async_acquire_with(options_, wait, std::move(done), std::move(stop), amount);
}

void lock_binding::async_acquire_with(engine::effective_options_ptr const& options, engine::wait_limit wait,
                                      exclusive_lock::acquire_handler done, std::stop_token stop,
                                      int amount) const {
  check_handler(done, name_);
  core()->locks().async_acquire(
      queue(), options, wait, std::move(stop),
      [done = std::move(done)](engine::lease_state_ptr granted,
                               std::shared_ptr<error const> const& failure) mutable {
        std::optional<lease> result;
        if (granted) result = engine::lease_state::handle(std::move(granted));
        done(std::move(result), failure ? thrown(*failure) : nullptr);
      },
      amount);
}

std::uint64_t lock_binding::take(engine::wait_limit wait, std::stop_token const& stop, int amount) const {
  auto granted = core()->locks().acquire(queue(), options_, wait, stop, amount);
  if (!granted) return 0;
  auto const number = granted->number();
  core()->leases().forget(granted);
  return number;
}

void lock_binding::async_take(engine::wait_limit wait, take_handler done, std::stop_token stop,
                              int amount) const {
  check_handler(done, name_);
  core()->locks().async_acquire(
      queue(), options_, wait, std::move(stop),
      [core = core().get(), done = std::move(done)](engine::lease_state_ptr granted,
                                                    std::shared_ptr<error const> const& failure) mutable {
        auto const number = granted ? granted->number() : 0;
        if (granted) core->leases().forget(granted);
        done(number, failure ? thrown(*failure) : nullptr);
      },
      amount);
}

}  // namespace holdfast::sync
