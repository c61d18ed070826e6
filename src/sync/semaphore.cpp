#include <holdfast/semaphore.hpp>

#include <utility>

#include "base/broken.hpp"
#include "scripts/redisson_semaphore.hpp"
#include "sync/lock_binding.hpp"
#include "sync/options_check.hpp"
#include "sync/shared_counter.hpp"
#include "sync/waiting.hpp"
#include "wire/redisson/recipes.hpp"

namespace holdfast {

namespace format = recipes::redisson;

struct semaphore::impl {
  sync::lock_binding binding;
  sync::shared_counter permits;

  impl(client& redis, std::string const& name, std::int64_t size, waiting_options const& options)
      : binding{redis, name, sync::lock_options_of(options), format::semaphore, static_cast<int>(size)},
        permits{binding.core(), name, sync::permits_of_a_semaphore,
                names::redisson::semaphore_channel(name)} {}

  [[nodiscard]] int checked(std::string_view quantity, std::int64_t number) const {
    sync::check_number(quantity, binding.name(), number, 1, sync::most_permits);
    return static_cast<int>(number);
  }
  [[nodiscard]] int wanted(std::int64_t number) const {
    return checked("the number of permits to acquire of", number);
  }

  [[nodiscard]] int given_back(std::int64_t number) const {
    return checked("the number of permits to release to", number);
  }

  /// The script that adds so many permits, which it notes.
  [[nodiscard]] scripts::redisson_semaphore::add adding(std::int64_t number) {
    if (number > 0)
      binding.core()->record_number(history::event::added, history::kind::semaphore, binding.name(), number);
    return {.counter = {binding.name()},
            .done = {},
            .answered = {},
            .permits = number,
            .publish = permits.publish(),
            .channel = permits.channel(),
            .done_ms = sync::idempotency_marks::kept_ms};
  }
};

semaphore::semaphore(client& redis, std::string name, waiting_options options)
    : semaphore{redis, std::move(name), 0, options} {}

semaphore::semaphore(client& redis, std::string name, std::int64_t permits, waiting_options options) {
  sync::check_name("semaphore", name);
  sync::check_number("the number of permits of", name, permits, 0, sync::most_permits);
  sync::check(name, sync::lock_options_of(options));
  impl_ = std::make_unique<impl>(redis, name, permits, options);
}

semaphore::~semaphore() = default;

std::string const& semaphore::name() const noexcept { return impl_->binding.name(); }

bool semaphore::try_set_permits(std::int64_t permits) {
  sync::check_number("the number of permits of", name(), permits, 0, sync::most_permits);
  auto& core = *impl_->binding.core();
  core.record_number(history::event::setting, history::kind::semaphore, name(), permits);
  if (!impl_->permits.try_set(broken("semaphore") ? permits + 1 : permits, permits)) return false;
  core.record_number(history::event::set, history::kind::semaphore, name(), permits);
  return true;
}

void semaphore::acquire(std::int64_t permits, std::stop_token stop) {
  (void)impl_->binding.take(std::nullopt, stop, impl_->wanted(permits));
}

bool semaphore::try_acquire(std::int64_t permits) { return try_acquire_within({}, permits, {}); }

bool semaphore::try_acquire_within(std::chrono::nanoseconds wait, std::int64_t permits,
                                   std::stop_token stop) {
  return impl_->binding.take(wait, stop, impl_->wanted(permits));
}

void semaphore::async_acquire(acquire_handler done, std::int64_t permits, std::stop_token stop) {
  impl_->binding.async_take(std::nullopt, std::move(done), std::move(stop), impl_->wanted(permits));
}

void semaphore::async_try_acquire_within(std::chrono::nanoseconds wait, acquire_handler done,
                                         std::int64_t permits, std::stop_token stop) {
  impl_->binding.async_take(wait, std::move(done), std::move(stop), impl_->wanted(permits));
}

void semaphore::release(std::int64_t permits) {
  impl_->permits.change(impl_->adding(impl_->given_back(permits)));
}

void semaphore::async_release(release_handler done, std::int64_t permits) {
  sync::check_handler(done, name());
  impl_->permits.async_change(
      impl_->adding(impl_->given_back(permits)),
      [done = std::move(done)](auto, std::exception_ptr failure) mutable { done(std::move(failure)); });
}

void semaphore::add_permits(std::int64_t permits) {
  sync::check_number("the number of permits to add to", name(), permits, -sync::most_permits,
                     sync::most_permits);
  impl_->permits.change(impl_->adding(permits));
}

std::int64_t semaphore::drain() {
  return impl_->permits.change(scripts::redisson_semaphore::drain{
      .counter = {name()}, .done = {}, .answered = {}, .done_ms = sync::idempotency_marks::kept_ms});
}

std::int64_t semaphore::available() { return impl_->permits.read().value_or(0); }

bool semaphore::exists() { return impl_->permits.read().has_value(); }

}  // namespace holdfast
