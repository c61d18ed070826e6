#include <holdfast/semaphore.hpp>

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/broken.hpp"
#include "engine/access.hpp"
#include "resp/reply.hpp"
#include "script/names.hpp"
#include "scripts/permits.hpp"
#include "scripts/redisson_semaphore.hpp"
#include "sync/lock_binding.hpp"
#include "sync/options_check.hpp"
#include "sync/permit_counts.hpp"
#include "sync/shared_counter.hpp"
#include "sync/taken_permits.hpp"
#include "sync/waiting.hpp"
#include "sync/wires.hpp"
#include "wire/plain/permits.hpp"
#include "wire/redisson/recipes.hpp"

namespace holdfast {

namespace {

constexpr sync::wires semaphore_wires{
    .plain = recipes::plain::lasting_permits, .redisson = recipes::redisson::semaphore, .fenced = nullptr};

}  // namespace

/// What differs between the wires.
struct semaphore::impl {
  /// Without waiting: what to do with the answer of a change.
  using handler = move_only_function<void(std::optional<std::int64_t>, std::exception_ptr)>;

  impl(client& redis, std::string const& name, std::int64_t size, lock_options const& options,
       engine::recipe const& kind, std::string channel, std::string marks)
      : binding{redis, name, options, kind, static_cast<int>(size)},
        permits{binding.core(), name, sync::permits_of_a_semaphore, std::move(channel), std::move(marks)} {}
  impl(impl const&) = delete;
  impl& operator=(impl const&) = delete;
  virtual ~impl() = default;

  virtual bool try_set(std::int64_t number) = 0;
  virtual void give_back(std::int64_t number) = 0;
  using effort = sync::shared_counter::effort;
  virtual void async_give_back(std::int64_t number, handler done, effort how) = 0;
  virtual void add(std::int64_t number) = 0;
  virtual std::int64_t drain() = 0;
  [[nodiscard]] virtual std::int64_t available() = 0;
  [[nodiscard]] virtual bool exists() = 0;

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
  [[nodiscard]] bool take(engine::wait_limit wait, std::stop_token const& stop, std::int64_t number) {
    auto const taker = binding.take(wait, stop, wanted(number));
    if (taker != 0 && taken) taken->add(taker, number);
    return taker != 0;
  }
  void async_take(engine::wait_limit wait, acquire_handler done, std::stop_token stop, std::int64_t number) {
    sync::check_handler(done, binding.name());
    binding.async_take(
        wait,
        [taken = taken, number, done = std::move(done)](std::uint64_t taker,
                                                        std::exception_ptr failure) mutable {
          if (taker != 0 && taken) taken->add(taker, number);
          done(taker != 0, std::move(failure));
        },
        std::move(stop), wanted(number));
  }
  void record_added(std::int64_t number) const {
    if (number > 0)
      binding.core()->record_number(history::event::added, history::kind::semaphore, binding.name(), number);
  }

  sync::lock_binding binding;
  sync::shared_counter permits;
  std::shared_ptr<sync::taken_permits> taken;  ///< shared with what is done without waiting
};

struct semaphore::on_redisson final : impl {
  on_redisson(client& redis, std::string const& name, std::int64_t size, lock_options const& options)
      : impl{redis, name, size, options, semaphore_wires.redisson, names::redisson::semaphore_channel(name),
             {}} {}

  bool try_set(std::int64_t number) override {
    return permits.try_set(broken("semaphore") ? number + 1 : number, number);
  }
  void give_back(std::int64_t number) override { permits.change(adding(number)); }
  void async_give_back(std::int64_t number, handler done, effort how) override {
    permits.async_change(adding(number), std::move(done), how);
  }
  void add(std::int64_t number) override { permits.change(adding(number)); }
  std::int64_t drain() override {
    return permits.change(scripts::redisson_semaphore::drain{.counter = {binding.name()},
                                                             .done = {},
                                                             .answered = {},
                                                             .done_ms = sync::idempotency_marks::kept_ms});
  }
  std::int64_t available() override { return permits.read().value_or(0); }
  bool exists() override { return permits.read().has_value(); }

 private:
  /// The script that adds so many permits, which it notes.
  [[nodiscard]] scripts::redisson_semaphore::add adding(std::int64_t number) {
    return {.counter = {binding.name()},
            .done = {},
            .answered = {},
            .permits = number,
            .publish = permits.publish(),
            .channel = permits.channel(),
            .done_ms = sync::idempotency_marks::kept_ms};
  }
};

struct semaphore::on_plain final : impl {
  on_plain(client& redis, std::string const& name, std::int64_t size, lock_options const& options)
      : impl{redis, name, size, options, semaphore_wires.plain, {}, names::done_prefix(name)},
        keys_{binding.name()} {
    taken = std::make_shared<sync::taken_permits>();
  }

  bool try_set(std::int64_t number) override {
    return resize("try", broken("semaphore") ? number + 1 : number);
  }
  void give_back(std::int64_t number) override {
    auto const takers = takers_of(number);
    permits.change(giving_back(number, takers));
  }
  void async_give_back(std::int64_t number, handler done, effort how) override {
    auto const takers = takers_of(number);
    permits.async_change(giving_back(number, takers), std::move(done), how);
  }
  void add(std::int64_t number) override { resize("add", number); }
  std::int64_t drain() override {
    return permits.change(scripts::permits::drain{.lock = keys_.lock,
                                                  .counter = keys_.counter,
                                                  .queue = keys_.queue,
                                                  .size = keys_.size,
                                                  .done = {},
                                                  .answered = {},
                                                  .offered = offered(),
                                                  .grant_ms = engine::grant_ttl.count(),
                                                  .publish = permits.publish(),
                                                  .done_ms = sync::idempotency_marks::kept_ms});
  }
  std::int64_t available() override { return counted(offered())[0].integer; }
  bool exists() override { return counted(0)[1].integer >= 0; }

 private:
  [[nodiscard]] resp::reply counted(std::int64_t size) { return sync::count_permits(permits, keys_, size); }
  [[nodiscard]] int offered() const { return binding.options()->size; }

  bool resize(std::string_view mode, std::int64_t number) {
    return sync::resize_permits(permits, keys_, mode, number, offered());
  }
  /// Owner ids.
  [[nodiscard]] std::vector<std::string> takers_of(std::int64_t number) {
    std::vector<std::string> all;
    for (auto const taker : taken->take_off(number))
      all.push_back(recipes::plain::lasting_permits.id_of(binding.core()->constants().owner_id(taker)));
    return all;
  }
  [[nodiscard]] scripts::permits::give_back giving_back(std::int64_t number,
                                                        std::vector<std::string> const& takers) {
    return {.lock = keys_.lock,
            .counter = keys_.counter,
            .queue = keys_.queue,
            .size = keys_.size,
            .done = {},
            .answered = {},
            .number = number,
            .client = binding.core()->constants().uuid,
            .offered = offered(),
            .grant_ms = engine::grant_ttl.count(),
            .publish = permits.publish(),
            .done_ms = sync::idempotency_marks::kept_ms,
            .takers = {takers.begin(), takers.end()}};
  }

  recipes::plain::permit_keys const keys_;
};

semaphore::semaphore(client& redis, std::string name, waiting_options options)
    : semaphore{redis, std::move(name), 0, options} {}

semaphore::semaphore(client& redis, std::string name, std::int64_t permits, waiting_options options) {
  auto const engine_options = sync::lock_options_of(options);
  sync::check_length("semaphore", name);
  sync::check_number("the number of permits of", name, permits, 0, sync::most_permits);
  sync::check(name, engine_options);
  auto const core = engine::access::core_of(redis);
  sync::check(!core->constants().deployment.etcd,
              core->constants().url + ": the permits of the semaphore \"" + name +
                  "\" have no lease, and on etcd whoever takes some has a key under one; use an "
                  "expiring_semaphore, whose permits come back when their holder dies");
  auto const& kind = sync::choose(semaphore_wires, {&name, 1}, engine_options, *core);
  if (&kind == &semaphore_wires.plain) {
    impl_ = std::make_unique<on_plain>(redis, name, permits, engine_options);
  } else {
    impl_ = std::make_unique<on_redisson>(redis, name, permits, engine_options);
  }
}

semaphore::~semaphore() = default;

std::string const& semaphore::name() const noexcept { return impl_->binding.name(); }

bool semaphore::try_set_permits(std::int64_t permits) {
  sync::check_number("the number of permits of", name(), permits, 0, sync::most_permits);
  auto& core = *impl_->binding.core();
  core.record_number(history::event::setting, history::kind::semaphore, name(), permits);
  if (!impl_->try_set(permits)) return false;
  core.record_number(history::event::set, history::kind::semaphore, name(), permits);
  return true;
}

void semaphore::acquire(std::int64_t permits, std::stop_token stop) {
  (void)impl_->take(std::nullopt, stop, permits);
}

bool semaphore::try_acquire(std::int64_t permits) { return try_acquire_within({}, permits, {}); }

bool semaphore::try_acquire_within(std::chrono::nanoseconds wait, std::int64_t permits,
                                   std::stop_token stop) {
  return impl_->take(wait, stop, permits);
}

void semaphore::async_acquire(acquire_handler done, std::int64_t permits, std::stop_token stop) {
  impl_->async_take(std::nullopt, std::move(done), std::move(stop), permits);
}

void semaphore::async_try_acquire_within(std::chrono::nanoseconds wait, acquire_handler done,
                                         std::int64_t permits, std::stop_token stop) {
  impl_->async_take(wait, std::move(done), std::move(stop), permits);
}

void semaphore::release(std::int64_t permits) {
  auto const number = impl_->given_back(permits);
  impl_->record_added(number);
  impl_->give_back(number);
}

void semaphore::async_release(release_handler done, std::int64_t permits) {
  sync::check_handler(done, name());
  auto const number = impl_->given_back(permits);
  impl_->record_added(number);
  impl_->async_give_back(
      number,
      [done = std::move(done)](auto, std::exception_ptr failure) mutable { done(std::move(failure)); },
      impl::effort::usual);
}

void semaphore::give_back_unwanted(std::int64_t permits) noexcept {
  try {
    impl_->record_added(permits);
    impl_->async_give_back(permits, [](auto, std::exception_ptr const&) {}, impl::effort::insists);
  } catch (std::exception const&) {
    return;  // the client has ended, or there is no memory: they are gone, as those of a process that died
  }
}

void semaphore::add_permits(std::int64_t permits) {
  sync::check_number("the number of permits to add to", name(), permits, -sync::most_permits,
                     sync::most_permits);
  impl_->record_added(permits);
  impl_->add(permits);
}

std::int64_t semaphore::drain() { return impl_->drain(); }

std::int64_t semaphore::available() { return impl_->available(); }

bool semaphore::exists() { return impl_->exists(); }

}  // namespace holdfast
