#include <holdfast/latch.hpp>

#include <algorithm>
#include <utility>

#include "engine/access.hpp"
#include "scripts/redisson_latch.hpp"
#include "sync/lock_binding.hpp"
#include "sync/options_check.hpp"
#include "sync/shared_counter.hpp"
#include "sync/waiting.hpp"
#include "wire/redisson/recipes.hpp"

namespace holdfast {

namespace format = recipes::redisson;

namespace {

/// The greatest integer that a number of Lua represents exactly.
constexpr std::int64_t highest_count = std::int64_t{1} << 53;

/// The message that Redisson's waiters take for "there is a count now".
constexpr std::int64_t closed_message = 1;

}  // namespace

struct latch::impl {
  sync::lock_binding binding;
  sync::shared_counter count;

  impl(client& redis, std::string const& name, waiting_options const& options)
      : binding{redis, name, sync::lock_options_of(options), format::latch},
        count{binding.core(), name, sync::count_of_a_latch, names::redisson::latch_channel(name)} {}
};

latch::latch(client& redis, std::string name, waiting_options options) {
  sync::check_name("latch", name);
  sync::check(name, sync::lock_options_of(options));
  // Redisson puts braces round any name, and so a tag in the name doesn't count in the channel's.
  auto const core = engine::access::core_of(redis);
  sync::check(
      core->slot_of(names::redisson::latch_channel(name)) == core->slot_of(name),
      "the name \"" + name +
          "\" of a latch can't be used in a cluster: with braces in it, its channel is in another hash slot "
          "than its count. Leave the braces out");
  impl_ = std::make_unique<impl>(redis, name, options);
}

latch::~latch() = default;

std::string const& latch::name() const noexcept { return impl_->binding.name(); }

bool latch::try_set_count(std::int64_t count) {
  sync::check_number("the count of", name(), count, 0, highest_count);
  return impl_->count.try_set(count, closed_message);
}

void latch::count_down(std::int64_t n) {
  sync::check_number("the number to count down", name(), n, 1, highest_count);
  impl_->count.change(scripts::redisson_latch::count_down{.counter = {name()},
                                                          .done = {},
                                                          .answered = {},
                                                          .n = n,
                                                          .publish = impl_->count.publish(),
                                                          .channel = impl_->count.channel(),
                                                          .done_ms = sync::idempotency_marks::kept_ms});
}

std::int64_t latch::count() { return std::max<std::int64_t>(impl_->count.read().value_or(0), 0); }

bool latch::try_wait() { return count() == 0; }

void latch::wait(std::stop_token stop) { (void)impl_->binding.take(std::nullopt, stop); }

bool latch::wait_within(std::chrono::nanoseconds time, std::stop_token stop) {
  return impl_->binding.take(time, stop);
}

void latch::arrive_and_wait(std::int64_t n, std::stop_token stop) {
  count_down(n);
  wait(std::move(stop));
}

void latch::async_wait(wait_handler done, std::stop_token stop) {
  impl_->binding.async_take(std::nullopt, std::move(done), std::move(stop));
}

bool latch::open() {
  return impl_->count.change(scripts::redisson_latch::open{.counter = {name()},
                                                           .done = {},
                                                           .answered = {},
                                                           .publish = impl_->count.publish(),
                                                           .channel = impl_->count.channel(),
                                                           .done_ms = sync::idempotency_marks::kept_ms}) == 1;
}

}  // namespace holdfast
