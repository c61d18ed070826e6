#include <holdfast/shared_mutex.hpp>

#include <algorithm>
#include <atomic>
#include <initializer_list>
#include <utility>

#include "engine/access.hpp"
#include "sync/lock_binding.hpp"
#include "sync/options_check.hpp"
#include "sync/std_shape.hpp"
#include "sync/upgrade.hpp"
#include "sync/wires.hpp"
#include "wire/plain/shared.hpp"
#include "wire/redisson/rw.hpp"

namespace holdfast {
namespace {

using nesting = engine::exclusive_kind::nesting;

/// The interval of Redisson's watchdog, used unless the caller sets another: Redisson's readers set the
/// shared ttl to 30 s, however long ours is, and if they die the key ends after those 30 s.
constexpr std::chrono::seconds longest_interval{10};

lock_options beside_redisson(lock_options options) {
  auto const set_by_caller = options.renew_every.count() > 0 || options.max_renewals > 0;
  if (!set_by_caller && options.ttl / 3 > longest_interval) options.renew_every = longest_interval;
  return options;
}

/// What an object needs to know before it has its two sides.
struct plan {
  engine::recipe const& writer;
  engine::recipe const& reader;
  bool redisson;
  bool upgrades;  ///< the format has upgrade leases
  lock_options writer_options;
  lock_options reader_options;

  plan(client& redis, std::string const& name, lock_options const& options)
      : plan{sync::wires_of(options.policy), redis, name, options} {}

 private:
  plan(sync::shared_wires const& kind, client& redis, std::string const& name, lock_options const& options)
      : writer{sync::choose(kind.writer, {&name, 1}, options, *engine::access::core_of(redis))},
        reader{sync::choose(kind.reader, {&name, 1}, options, *engine::access::core_of(redis))},
        redisson{&reader == &kind.reader.redisson},
        upgrades{&reader == &kind.reader.plain},
        writer_options{redisson ? beside_redisson(options)
                                : engine::without_handoffs(engine::in_server_order(options))},
        reader_options{redisson ? beside_redisson(options) : engine::in_server_order(options)} {
    sync::check(!reader.on_etcd || options.policy == sharing_policy::fair,
                "on etcd readers and writers of \"" + name +
                    "\" go in the order of arrival, for which Go's concurrency.Mutex waits, too; leave "
                    "lock_options::policy out");
  }
};

}  // namespace

struct shared_mutex::impl {
  /// The writers or the readers: each side has its own queue, and the server excludes one from the other.
  struct side {
    sync::lock_binding binding;
    sync::std_shape<lease> shape;

    side(client& redis, std::string const& name, lock_options const& options, engine::recipe const& kind,
         std::string const& title, nesting again)
        : binding{redis, name, options, kind},
          shape{title, again, [core = binding.core(), title](lease abandoned) {
                  abandoned.async_release({});
                  core->warn([&title] {
                    return "a thread ended without unlocking " + title + "; it is given back";
                  });
                }} {}

    [[nodiscard]] lease acquire(std::stop_token const& stop) const {
      return std::move(*binding.acquire(std::nullopt, stop));
    }
    [[nodiscard]] std::optional<lease> try_acquire_within(std::chrono::nanoseconds wait,
                                                          std::stop_token const& stop) const {
      return binding.acquire(wait, stop);
    }
    void async_try_acquire_within(std::chrono::nanoseconds wait, shared_mutex::acquire_handler done,
                                  std::stop_token stop) const {
      binding.async_acquire(wait, std::move(done), std::move(stop));
    }
    void lock() {
      shape.lock([this] { return acquire({}); });
    }
    [[nodiscard]] bool try_lock_within(std::chrono::nanoseconds wait) {
      return shape.try_lock([this, wait] { return binding.acquire(wait, {}); });
    }
  };

  /// The upgrade lease, and the writer that it becomes: the plain wire alone has them.
  struct upgrades {
    upgrades(client& redis, std::string const& name, plan const& of)
        : leases{redis, name, of.reader_options, recipes::plain::upgradable},
          writers{redis, name, of.writer_options, recipes::plain::upgrader} {}
    sync::lock_binding leases;
    sync::lock_binding writers;
  };

  side writers;
  side readers;
  std::optional<upgrades> upgrading;
  std::atomic<std::optional<release_result>> last{};

  impl(client& redis, std::string const& name, plan const& of)
      : writers{redis, name, of.writer_options, of.writer, "the lock \"" + name + "\"", nesting::refused},
        readers{redis,           name, of.reader_options, of.reader, "the shared lock \"" + name + "\"",
                nesting::counted} {
    if (of.upgrades) upgrading.emplace(redis, name, of);
  }

  /// On etcd each place in the queue is older or newer than another one for good.
  void check_format(char const* lack) const {
    if (!readers.binding.queue()->lock_recipe().on_etcd) return;
    throw error{
        std::errc::not_supported,
        "on etcd the shared_mutex \"" + writers.binding.name() + "\" " + lack +
            ": whoever has waited for longer comes first, and neither a writer nor a reader can take the "
            "place of the other; release, and acquire anew"};
  }

  [[nodiscard]] upgrades const& upgrading_here() const {
    if (upgrading) return *upgrading;
    check_format("has no upgrade lease");
    throw error{std::errc::not_supported,
                "on Redisson's wire the shared_mutex \"" + writers.binding.name() +
                    "\" has no upgrade lease: its format has no place for one; use wire::plain"};
  }

  /// For messages: what the lease is instead of one that this lock wants.
  [[nodiscard]] std::string described(engine::lease_state const* state) const {
    if (state == nullptr) return "is empty";
    auto const* const queue = &state->queue();
    if (queue == readers.binding.queue().get()) return "is one to read";
    if (queue == writers.binding.queue().get()) return "is one to write";
    if (upgrading && queue == upgrading->leases.queue().get()) return "is the upgrade lease";
    if (upgrading && queue == upgrading->writers.queue().get()) return "is one to write";
    return "is one of " + queue->title() + ", of the client " + state->queue().client().uuid;
  }

  /// Of this lock and client, and one of these queues.
  [[nodiscard]] engine::lease_state& own(lease const& held,
                                         std::initializer_list<engine::lock_queue const*> queues,
                                         char const* requirement) const {
    auto const* const state = engine::lease_state::behind(held);
    sync::check(state != nullptr && std::ranges::find(queues, &state->queue()) != queues.end(),
                std::string{requirement} + " the lock \"" + writers.binding.name() +
                    "\", of the same client; this one " + described(state));
    return *engine::lease_state::behind(held);
  }

  /// Leases that write: also those that were upgraded.
  [[nodiscard]] engine::lease_state& own_writer(lease const& held, char const* requirement) const {
    auto const* const plain_writers = upgrading ? upgrading->writers.queue().get() : nullptr;
    return own(held, {writers.binding.queue().get(), plain_writers}, requirement);
  }

  /// The writers, one of which takes the place of `held`, the upgrade lease.
  [[nodiscard]] sync::lock_binding const& upgrader_of(lease const& held) const {
    auto const& here = upgrading_here();
    (void)own(held, {here.leases.queue().get()}, "only the upgrade lease can become one to write: that of");
    return here.writers;
  }

  void unlock(side& held_side) {
    auto const result = held_side.shape.unlock();
    if (result) last.store(result, std::memory_order_relaxed);
  }
};

shared_mutex::shared_mutex(client& redis, std::string name, lock_options options) {
  sync::check(name, options);
  impl_ = std::make_unique<impl>(redis, name, plan{redis, name, options});
}

shared_mutex::~shared_mutex() = default;

std::string const& shared_mutex::name() const noexcept { return impl_->writers.binding.name(); }

void shared_mutex::lock() {
  if (impl_->readers.shape.held_by_this_thread()) {
    throw error{std::errc::resource_deadlock_would_occur,
                "this thread reads with the shared lock \"" + name() +
                    "\": to write it would wait for itself; call unlock_shared() first"};
  }
  impl_->writers.lock();
}

bool shared_mutex::try_lock() { return try_lock_within({}); }

bool shared_mutex::try_lock_within(std::chrono::nanoseconds wait) {
  return !impl_->readers.shape.held_by_this_thread() && impl_->writers.try_lock_within(wait);
}

void shared_mutex::unlock() { impl_->unlock(impl_->writers); }

void shared_mutex::lock_shared() {
  if (impl_->writers.shape.held_by_this_thread()) {
    throw error{std::errc::resource_deadlock_would_occur,
                "this thread writes with the lock \"" + name() +
                    "\": to read it would wait for itself; unlock_and_lock_shared() makes it a reader"};
  }
  impl_->readers.lock();
}

bool shared_mutex::try_lock_shared() { return try_lock_shared_within({}); }

bool shared_mutex::try_lock_shared_within(std::chrono::nanoseconds wait) {
  return !impl_->writers.shape.held_by_this_thread() && impl_->readers.try_lock_within(wait);
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
  auto& side = impl_->writers.shape.held_by_this_thread() ? impl_->writers : impl_->readers;
  return side.shape.look_at_own(engine::lease_state::view);
}

lease shared_mutex::acquire(std::stop_token stop) { return impl_->writers.acquire(stop); }

std::optional<lease> shared_mutex::try_acquire() { return try_acquire_within({}, {}); }

std::optional<lease> shared_mutex::try_acquire_within(std::chrono::nanoseconds wait, std::stop_token stop) {
  return impl_->writers.try_acquire_within(wait, stop);
}

lease shared_mutex::acquire_shared(std::stop_token stop) { return impl_->readers.acquire(stop); }

std::optional<lease> shared_mutex::try_acquire_shared() { return try_acquire_shared_within({}, {}); }

std::optional<lease> shared_mutex::try_acquire_shared_within(std::chrono::nanoseconds wait,
                                                             std::stop_token stop) {
  return impl_->readers.try_acquire_within(wait, stop);
}

namespace {

/// A lease to write becomes one of the queue `to`, by that script.
lease become(engine::core& core, lease writing, engine::lock_queue_ptr const& to,
             call (*script)(engine::owned, engine::milliseconds, engine::publishing)) {
  auto const& held = *engine::lease_state::behind(writing);
  auto const owner = core.constants().owner_id(held.number());
  auto const request =
      script({.name = to->name(), .owner = owner}, held.options().ttl, core.publishing_now());
  return engine::lease_state::handle(
      core.leases().become(engine::lease_state::take(std::move(writing)), to, request));
}

}  // namespace

lease shared_mutex::downgrade(lease writing) {
  impl_->check_format("can't turn a writer into a reader");
  (void)impl_->own_writer(writing, "only a lease to write can become one to read: one of");
  auto const& readers = impl_->readers.binding;
  return become(*readers.core(), std::move(writing), readers.queue(),
                impl_->upgrading ? recipes::plain::downgrade : recipes::redisson::downgrade);
}

lease shared_mutex::downgrade_to_upgrade(lease writing) {
  auto const& leases = impl_->upgrading_here().leases;
  (void)impl_->own_writer(writing, "only a lease to write can become the upgrade lease: one of");
  return become(*leases.core(), std::move(writing), leases.queue(), recipes::plain::downgrade_to_upgrade);
}

lease shared_mutex::acquire_upgrade(std::stop_token stop) {
  return std::move(*impl_->upgrading_here().leases.acquire(std::nullopt, stop));
}

std::optional<lease> shared_mutex::try_acquire_upgrade() { return try_acquire_upgrade_within({}, {}); }

std::optional<lease> shared_mutex::try_acquire_upgrade_within(std::chrono::nanoseconds wait,
                                                              std::stop_token stop) {
  return impl_->upgrading_here().leases.acquire(wait, stop);
}

void shared_mutex::async_acquire_upgrade(acquire_handler done, std::stop_token stop) {
  impl_->upgrading_here().leases.async_acquire(std::nullopt, std::move(done), std::move(stop));
}

void shared_mutex::async_try_acquire_upgrade_within(std::chrono::nanoseconds wait, acquire_handler done,
                                                    std::stop_token stop) {
  impl_->upgrading_here().leases.async_acquire(wait, std::move(done), std::move(stop));
}

void shared_mutex::upgrade(lease& held, std::stop_token stop) {
  (void)upgrade_within(held, std::nullopt, std::move(stop));
}

bool shared_mutex::try_upgrade(lease& held) { return upgrade_within(held, std::chrono::nanoseconds{0}, {}); }

bool shared_mutex::upgrade_within(lease& held, std::optional<std::chrono::nanoseconds> wait,
                                  std::stop_token stop) {
  return sync::upgrade(held, impl_->upgrader_of(held), wait, std::move(stop));
}

void shared_mutex::async_upgrade_within(lease& held, std::optional<std::chrono::nanoseconds> wait,
                                        upgrade_handler done, std::stop_token stop) {
  sync::async_upgrade(held, impl_->upgrader_of(held), wait, std::move(done), std::move(stop));
}

void shared_mutex::async_acquire(acquire_handler done, std::stop_token stop) {
  impl_->writers.binding.async_acquire(std::nullopt, std::move(done), std::move(stop));
}

void shared_mutex::async_acquire_shared(acquire_handler done, std::stop_token stop) {
  impl_->readers.binding.async_acquire(std::nullopt, std::move(done), std::move(stop));
}

void shared_mutex::async_try_acquire_within(std::chrono::nanoseconds wait, acquire_handler done,
                                            std::stop_token stop) {
  impl_->writers.async_try_acquire_within(wait, std::move(done), std::move(stop));
}

void shared_mutex::async_try_acquire_shared_within(std::chrono::nanoseconds wait, acquire_handler done,
                                                   std::stop_token stop) {
  impl_->readers.async_try_acquire_within(wait, std::move(done), std::move(stop));
}

std::optional<busy_info> shared_mutex::last_busy() {
  auto& locks = impl_->writers.binding.core()->locks();
  auto const* latest = impl_->readers.binding.queue().get();
  auto const consider = [&](sync::lock_binding const& other) {
    if (locks.last_busy_at(*other.queue()) > locks.last_busy_at(*latest)) latest = other.queue().get();
  };
  consider(impl_->writers.binding);
  if (impl_->upgrading) {
    consider(impl_->upgrading->leases);
    consider(impl_->upgrading->writers);
  }
  return locks.last_busy(*latest);
}

}  // namespace holdfast
