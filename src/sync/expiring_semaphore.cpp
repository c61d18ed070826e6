#include <holdfast/expiring_semaphore.hpp>

#include <algorithm>
#include <atomic>
#include <utility>

#include "engine/replies.hpp"
#include "scripts/redisson_permit.hpp"
#include "sync/lock_binding.hpp"
#include "sync/options_check.hpp"
#include "sync/shared_counter.hpp"
#include "wire/redisson/permit_id.hpp"
#include "wire/redisson/recipes.hpp"

namespace holdfast {

namespace format = recipes::redisson;

struct expiring_semaphore::impl {
  sync::lock_binding binding;
  sync::shared_counter permits;
  std::string permits_key;   ///< the key of the acquired permits
  std::atomic<int> size{0};  ///< the number of permits as told last; 0: never told

  impl(client& redis, std::string const& name, lock_options const& options)
      : binding{redis, name, options, format::permit},
        permits{binding.core(), name, sync::permits_of_a_semaphore, names::redisson::semaphore_channel(name)},
        permits_key{names::redisson::permits(name)} {}

  struct counted {
    std::int64_t available;
    std::int64_t total;
    std::int64_t acquired;
  };
  [[nodiscard]] counted count() {
    auto const response = permits.ask(scripts::redisson_permit::counts{.counter = {binding.name()},
                                                                       .permits = {permits_key},
                                                                       .publish = permits.publish(),
                                                                       .channel = permits.channel()}());
    return {response.reply[0].integer, response.reply[1].integer, response.reply[2].integer};
  }
};

expiring_semaphore::expiring_semaphore(client& redis, std::string name, lock_options options)
    : expiring_semaphore{redis, std::move(name), 0, options} {}

expiring_semaphore::expiring_semaphore(client& redis, std::string name, std::int64_t permits,
                                       lock_options options) {
  sync::check_name("semaphore", name);
  sync::check_number("the number of permits of", name, permits, 0, sync::most_permits);
  sync::check(name, options);
  impl_ = std::make_unique<impl>(redis, name, options);
  impl_->size = static_cast<int>(permits);
}

expiring_semaphore::~expiring_semaphore() = default;

std::string const& expiring_semaphore::name() const noexcept { return impl_->binding.name(); }

bool expiring_semaphore::try_set_permits(std::int64_t permits) {
  sync::check_number("the number of permits of", name(), permits, 0, sync::most_permits);
  impl_->size = static_cast<int>(permits);
  return impl_->permits.try_set(permits, permits);
}

void expiring_semaphore::set_permits(std::int64_t permits) {
  sync::check_number("the number of permits of", name(), permits, 0, sync::most_permits);
  impl_->size = static_cast<int>(permits);
  (void)impl_->permits.ask(scripts::redisson_permit::set{.counter = {name()},
                                                         .permits = {impl_->permits_key},
                                                         .altogether = permits,
                                                         .publish = impl_->permits.publish(),
                                                         .channel = impl_->permits.channel()}());
}

void expiring_semaphore::add_permits(std::int64_t permits) {
  sync::check_number("the number of permits to add to", name(), permits, -sync::most_permits,
                     sync::most_permits);
  impl_->permits.change(scripts::redisson_permit::add{.counter = {name()},
                                                      .permits = {impl_->permits_key},
                                                      .done = {},
                                                      .answered = {},
                                                      .more = permits,
                                                      .publish = impl_->permits.publish(),
                                                      .channel = impl_->permits.channel(),
                                                      .done_ms = sync::idempotency_marks::kept_ms});
  if (auto const known = impl_->size.load(); known != 0) {
    impl_->size = static_cast<int>(std::clamp<std::int64_t>(known + permits, 0, sync::most_permits));
  }
}

lease expiring_semaphore::acquire(std::stop_token stop) {
  return std::move(*impl_->binding.acquire(std::nullopt, stop, impl_->size));
}

std::optional<lease> expiring_semaphore::try_acquire() { return try_acquire_within({}, {}); }

std::optional<lease> expiring_semaphore::try_acquire_within(std::chrono::nanoseconds wait,
                                                            std::stop_token stop) {
  return impl_->binding.acquire(wait, stop, impl_->size);
}

void expiring_semaphore::async_acquire(acquire_handler done, std::stop_token stop) {
  impl_->binding.async_acquire(std::nullopt, std::move(done), std::move(stop), impl_->size);
}

void expiring_semaphore::async_try_acquire_within(std::chrono::nanoseconds wait, acquire_handler done,
                                                  std::stop_token stop) {
  impl_->binding.async_acquire(wait, std::move(done), std::move(stop), impl_->size);
}

release_result expiring_semaphore::release(std::string_view id) {
  auto const bytes = format::read_permit_id(id);
  sync::check(bytes.has_value(), "the id of a permit of \"" + name() + "\" is 32 hexadecimal digits, not \"" +
                                     std::string{id} + "\"");
  auto const answer = engine::replies::read_release(
      impl_->permits.ask(scripts::redisson_permit::release{.counter = {name()},
                                                           .permits = {impl_->permits_key},
                                                           .id = *bytes,
                                                           .publish = impl_->permits.publish(),
                                                           .channel = impl_->permits.channel()}()));
  auto const* const found = answer.outcome();
  return found != nullptr && *found == engine::ownership::mine ? release_result::released
                                                               : release_result::lost;
}

std::int64_t expiring_semaphore::available() { return impl_->count().available; }

std::int64_t expiring_semaphore::permits() { return impl_->count().total; }

std::int64_t expiring_semaphore::acquired() { return impl_->count().acquired; }

}  // namespace holdfast
