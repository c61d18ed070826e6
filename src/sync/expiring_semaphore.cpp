#include <holdfast/expiring_semaphore.hpp>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <utility>

#include "base/fork.hpp"
#include "engine/access.hpp"
#include "engine/record.hpp"
#include "engine/replies.hpp"
#include "scripts/redisson_permit.hpp"
#include "sync/lock_binding.hpp"
#include "sync/options_check.hpp"
#include "sync/permit_counts.hpp"
#include "sync/permits_on_etcd.hpp"
#include "sync/shared_counter.hpp"
#include "sync/wires.hpp"
#include "wire/plain/permits.hpp"
#include "wire/redisson/permit_id.hpp"

namespace holdfast {
namespace {

/// Fences have no effect on Redisson's wire, and are always there on the plain one.
lock_options without_fence(lock_options options) {
  options.fenced = false;
  return options;
}

constexpr std::string_view total_of{"the number of permits of"};

engine::recipe const& recipe_for(client& redis, std::string const& name, lock_options const& options) {
  return sync::choose(sync::permit_wires, {&name, 1}, without_fence(options),
                      *engine::access::core_of(redis));
}

}  // namespace

/// What differs between the wires. `size`: how many permits there are, as far as this object was told; 0: it
/// wasn't.
struct expiring_semaphore::impl {
  struct counted {
    std::int64_t available;
    std::int64_t total;
    std::int64_t acquired;
  };

  impl(client& redis, std::string const& name, lock_options const& options, engine::recipe const& kind,
       std::string channel, int size)
      : binding{redis, name, options, kind, size},
        permits{binding.core(), name, sync::permits_of_a_semaphore, std::move(channel)} {}
  impl(impl const&) = delete;
  impl& operator=(impl const&) = delete;
  virtual ~impl() = default;

  virtual bool try_set(int number) = 0;
  virtual void set(int number) = 0;
  virtual void add(int number) = 0;
  [[nodiscard]] virtual std::optional<lease> acquire(engine::wait_limit wait, std::stop_token const& stop,
                                                     int amount) = 0;
  virtual void async_acquire(engine::wait_limit wait, acquire_handler done, std::stop_token stop,
                             int amount) = 0;
  /// Whether somebody had that permit.
  virtual bool give_back(std::string_view id) = 0;
  [[nodiscard]] virtual counted count() = 0;

  [[nodiscard]] static bool was_held(net::response&& answer) {
    auto const released = engine::replies::read_release(std::move(answer));
    auto const* const found = released.outcome();
    return found != nullptr && *found == engine::ownership::held;
  }

  [[nodiscard]] std::string const& name() const noexcept { return binding.name(); }
  void record(history::event happened, std::int64_t number) const noexcept {
    binding.core()->record_number(happened, history::kind::permits, name(), number);
  }

  sync::lock_binding binding;
  sync::shared_counter permits;
};

namespace {

int checked_number(std::string_view quantity, std::string const& name, std::int64_t number,
                   std::int64_t least) {
  sync::check_number(quantity, name, number, least, sync::most_permits);
  return static_cast<int>(number);
}

int changed_by(int known, int more) {
  return static_cast<int>(std::clamp<std::int64_t>(std::int64_t{known} + more, 0, sync::most_permits));
}

}  // namespace

struct expiring_semaphore::on_redisson final : impl {
  on_redisson(client& redis, std::string const& name, lock_options const& options, int number)
      : impl{redis, name, options, sync::permit_wires.redisson, names::redisson::semaphore_channel(name), 0},
        permits_key{names::redisson::permits(name)},
        size{number} {}

  bool try_set(int number) override {
    size = number;
    return permits.try_set(number, number);
  }
  void set(int number) override {
    size = number;
    (void)permits.ask(scripts::redisson_permit::set{.counter = {name()},
                                                    .permits = {permits_key},
                                                    .altogether = number,
                                                    .publish = permits.publish(),
                                                    .channel = permits.channel()}());
  }
  void add(int number) override {
    permits.change(scripts::redisson_permit::add{.counter = {name()},
                                                 .permits = {permits_key},
                                                 .done = {},
                                                 .answered = {},
                                                 .more = number,
                                                 .publish = permits.publish(),
                                                 .channel = permits.channel(),
                                                 .done_ms = sync::idempotency_marks::kept_ms});
    if (auto const known = size.load(); known != 0) size = changed_by(known, number);
  }

  std::optional<lease> acquire(engine::wait_limit wait, std::stop_token const& stop, int amount) override {
    check_amount(amount);
    return binding.acquire(wait, stop, size);
  }
  void async_acquire(engine::wait_limit wait, acquire_handler done, std::stop_token stop,
                     int amount) override {
    check_amount(amount);
    binding.async_acquire(wait, std::move(done), std::move(stop), size);
  }
  void check_amount(int amount) const {
    sync::check(amount == 1, "on Redisson's wire a lease of \"" + name() + "\" is one permit, not " +
                                 std::to_string(amount) + ": take several leases, or use wire::plain");
  }

  bool give_back(std::string_view id) override {
    auto const bytes = recipes::redisson::read_permit_id(id);
    sync::check(bytes.has_value(), "the id of a permit of \"" + name() +
                                       "\" is 32 hexadecimal digits, not \"" + std::string{id} + "\"");
    return was_held(permits.ask(scripts::redisson_permit::release{.counter = {name()},
                                                                  .permits = {permits_key},
                                                                  .id = *bytes,
                                                                  .publish = permits.publish(),
                                                                  .channel = permits.channel()}()));
  }
  counted count() override {
    auto const response = permits.ask(scripts::redisson_permit::counts{.counter = {name()},
                                                                       .permits = {permits_key},
                                                                       .publish = permits.publish(),
                                                                       .channel = permits.channel()}());
    return {response.reply[0].integer, response.reply[1].integer, response.reply[2].integer};
  }

  std::string permits_key;  ///< the key of the acquired permits
  std::atomic<int> size;
};

/// Also on etcd, where the numbers are asked for in another way.
struct expiring_semaphore::on_plain final : impl {
  on_plain(client& redis, std::string const& name, lock_options const& options, engine::recipe const& kind,
           int number)
      : impl{redis, name, options, kind, {}, number}, options_{binding.options()}, keys_{binding.name()} {}

  bool try_set(int number) override {
    know(number);
    return resize("try", number);
  }
  void set(int number) override {
    know(number);
    resize("set", number);
  }
  void add(int number) override {
    resize("add", number);
    if (auto const known = sized()->size; known != 0) know(changed_by(known, number));
  }

  std::optional<lease> acquire(engine::wait_limit wait, std::stop_token const& stop, int amount) override {
    return binding.acquire_with(sized(), wait, stop, amount);
  }
  void async_acquire(engine::wait_limit wait, acquire_handler done, std::stop_token stop,
                     int amount) override {
    binding.async_acquire_with(sized(), wait, std::move(done), std::move(stop), amount);
  }

  bool give_back(std::string_view id) override {
    sync::check(!engine::uuid_of(id).empty(),
                "the id of a permit of \"" + name() +
                    "\" is the owner of a lease, a uuid and a number behind a colon, not \"" +
                    std::string{id} + "\"");
    if (is_on_etcd()) return sync::on_etcd::give_back_permits(*binding.core(), name(), id);
    engine::release_policy policy;
    policy.publish = binding.core()->publishing_now();
    return was_held(permits.ask(recipes::plain::permits.release({.name = name(), .owner = id}, policy)));
  }
  counted count() override {
    if (is_on_etcd()) {
      auto const found = sync::on_etcd::count_permits(*binding.core(), name(), sized()->size);
      return {found.available, found.total, found.acquired};
    }
    auto const reply = sync::count_permits(permits, keys_, sized()->size);
    return {reply[0].integer, std::max<std::int64_t>(reply[1].integer, 0), reply[2].integer};
  }

 private:
  [[nodiscard]] bool is_on_etcd() const noexcept { return binding.queue()->lock_recipe().on_etcd; }

  bool resize(std::string_view mode, int number) {
    auto const offered = mode == "add" ? sized()->size : 0;
    if (is_on_etcd()) return sync::on_etcd::resize_permits(*binding.core(), name(), mode, number, offered);
    return sync::resize_permits(permits, keys_, mode, number, offered);
  }

  /// The options of the next request, with the size that this object knows.
  [[nodiscard]] engine::effective_options_ptr sized() {
    std::lock_guard const hold{guard_across_fork(this)};
    return options_;
  }
  void know(int number) {
    auto options = binding.core()->effective(binding.options()->options, number);
    std::lock_guard const hold{guard_across_fork(this)};
    options_.swap(options);
  }

  engine::effective_options_ptr options_;  ///< under the guard
  recipes::plain::permit_keys const keys_;
};

expiring_semaphore::expiring_semaphore(client& redis, std::string name, lock_options options)
    : expiring_semaphore{redis, std::move(name), 0, options} {}

expiring_semaphore::expiring_semaphore(client& redis, std::string name, std::int64_t permits,
                                       lock_options options) {
  sync::check(name, options);
  auto const& kind = recipe_for(redis, name, options);
  auto const number = checked_number(total_of, name, permits, 0);
  if (&kind != &sync::permit_wires.redisson) {
    impl_ = std::make_unique<on_plain>(redis, name, options, kind, number);
  } else {
    impl_ = std::make_unique<on_redisson>(redis, name, options, number);
  }
}

expiring_semaphore::~expiring_semaphore() = default;

std::string const& expiring_semaphore::name() const noexcept { return impl_->name(); }

bool expiring_semaphore::try_set_permits(std::int64_t permits) {
  auto const number = checked_number(total_of, name(), permits, 0);
  impl_->record(history::event::setting, number);
  if (!impl_->try_set(number)) return false;
  impl_->record(history::event::set, number);
  return true;
}

void expiring_semaphore::set_permits(std::int64_t permits) {
  auto const number = checked_number(total_of, name(), permits, 0);
  impl_->record(history::event::setting, number);
  impl_->set(number);
  impl_->record(history::event::set, number);
}

void expiring_semaphore::add_permits(std::int64_t permits) {
  auto const number = checked_number("the number of permits to add to", name(), permits, -sync::most_permits);
  if (number > 0) impl_->record(history::event::added, number);
  impl_->add(number);
}

int expiring_semaphore::checked(std::int64_t permits) const {
  return checked_number("the number of permits to acquire of", name(), permits, 1);
}

lease expiring_semaphore::acquire(std::int64_t permits, std::stop_token stop) {
  return std::move(*impl_->acquire(std::nullopt, stop, checked(permits)));
}

std::optional<lease> expiring_semaphore::try_acquire(std::int64_t permits) {
  return try_acquire_within({}, permits, {});
}

std::optional<lease> expiring_semaphore::try_acquire_within(std::chrono::nanoseconds wait,
                                                            std::int64_t permits, std::stop_token stop) {
  return impl_->acquire(wait, stop, checked(permits));
}

void expiring_semaphore::async_acquire(acquire_handler done, std::int64_t permits, std::stop_token stop) {
  impl_->async_acquire(std::nullopt, std::move(done), std::move(stop), checked(permits));
}

void expiring_semaphore::async_try_acquire_within(std::chrono::nanoseconds wait, acquire_handler done,
                                                  std::int64_t permits, std::stop_token stop) {
  impl_->async_acquire(wait, std::move(done), std::move(stop), checked(permits));
}

release_result expiring_semaphore::release(std::string_view id) {
  return impl_->give_back(id) ? release_result::released : release_result::lost;
}

std::int64_t expiring_semaphore::available() { return impl_->count().available; }

std::int64_t expiring_semaphore::permits() { return impl_->count().total; }

std::int64_t expiring_semaphore::acquired() { return impl_->count().acquired; }

std::optional<busy_info> expiring_semaphore::last_busy() {
  auto const& binding = impl_->binding;
  return binding.core()->locks().last_busy(*binding.queue());
}

}  // namespace holdfast
