#include "sync/shared_sides.hpp"

#include <algorithm>

#include "engine/access.hpp"
#include "sync/options_check.hpp"
#include "sync/wires.hpp"
#include "wire/plain/shared.hpp"
#include "wire/redisson/rw.hpp"

namespace holdfast {
namespace sync {
namespace {

/// The interval of Redisson's watchdog, used unless the caller sets another: Redisson's readers set the
/// shared ttl to 30 s, however long ours is, and if they die the key ends after those 30 s.
constexpr std::chrono::seconds longest_interval{10};

lock_options beside_redisson(lock_options options) {
  auto const set_by_caller = options.renew_every.count() > 0 || options.max_renewals > 0;
  if (!set_by_caller && options.ttl / 3 > longest_interval) options.renew_every = longest_interval;
  return options;
}

}  // namespace

struct shared_plan {
  engine::recipe const& writer;
  engine::recipe const& reader;
  bool redisson;
  bool upgrades;  ///< the format has upgrade leases
  lock_options writer_options;
  lock_options reader_options;

  shared_plan(client& redis, std::string const& name, lock_options const& options)
      : shared_plan{wires_of(options.policy), redis, name, options} {}

 private:
  shared_plan(shared_wires const& kind, client& redis, std::string const& name, lock_options const& options)
      : writer{choose(kind.writer, {&name, 1}, options, *engine::access::core_of(redis))},
        reader{choose(kind.reader, {&name, 1}, options, *engine::access::core_of(redis))},
        redisson{&reader == &kind.reader.redisson},
        upgrades{&reader == &kind.reader.plain},
        writer_options{redisson ? beside_redisson(options)
                                : engine::without_handoffs(engine::in_server_order(options))},
        reader_options{redisson ? beside_redisson(options) : engine::in_server_order(options)} {
    check(!reader.on_etcd || options.policy == sharing_policy::fair,
          "on etcd readers and writers of \"" + name +
              "\" go in the order of arrival, for which Go's concurrency.Mutex waits, too; leave "
              "lock_options::policy out");
  }
};

upgrades::upgrades(client& redis, std::string const& name, shared_plan const& of)
    : leases{redis,
             name,
             of.reader_options,
             recipes::plain::upgradable,
             "the upgrade lease of the lock \"" + name + "\"",
             side::nesting::refused},
      writers{redis, name, of.writer_options, recipes::plain::upgrader} {}

side::side(client& redis, std::string const& name, lock_options const& options, engine::recipe const& kind,
           std::string const& title, nesting again)
    : binding{redis, name, options, kind},
      shape{title, again, [core = binding.core(), title](lease abandoned) {
              abandoned.async_release({});
              core->warn(
                  [&title] { return "a thread ended without unlocking " + title + "; it is given back"; });
            }} {}

lease become(lease held, lock_binding const& to,
             call (*script)(engine::owned, engine::milliseconds, engine::publishing)) {
  auto& core = *to.core();
  auto const& state = *engine::lease_state::behind(held);
  auto const owner = core.constants().owner_id(state.number());
  auto const request =
      script({.name = to.queue()->name(), .owner = owner}, state.options().ttl, core.publishing_now());
  return engine::lease_state::handle(
      core.leases().become(engine::lease_state::take(std::move(held)), to.queue(), request));
}

}  // namespace sync

upgradable_lock::impl::impl(client& redis, std::string const& name, sync::shared_plan const& of)
    : writers{redis,
              name,
              of.writer_options,
              of.writer,
              "the lock \"" + name + "\"",
              sync::side::nesting::refused},
      readers{redis,
              name,
              of.reader_options,
              of.reader,
              "the shared lock \"" + name + "\"",
              sync::side::nesting::counted} {
  if (of.upgrades) upgrading.emplace(redis, name, of);
}

std::unique_ptr<upgradable_lock::impl> upgradable_lock::impl::make(client& redis, std::string const& name,
                                                                   lock_options const& options) {
  sync::check(name, options);
  return std::make_unique<impl>(redis, name, sync::shared_plan{redis, name, options});
}

void upgradable_lock::impl::check_format(char const* lack) const {
  if (!readers.binding.queue()->lock_recipe().on_etcd) return;
  throw error{
      std::errc::not_supported,
      "on etcd the shared_mutex \"" + writers.binding.name() + "\" " + lack +
          ": whoever has waited for longer comes first, and neither a writer nor a reader can take the "
          "place of the other; release, and acquire anew"};
}

sync::upgrades& upgradable_lock::impl::upgrading_here() {
  if (upgrading) return *upgrading;
  check_format("has no upgrade lease");
  throw error{std::errc::not_supported,
              "on Redisson's wire the shared_mutex \"" + writers.binding.name() +
                  "\" has no upgrade lease: its format has no place for one; use wire::plain"};
}

std::string upgradable_lock::impl::described(engine::lease_state const* state) const {
  if (state == nullptr) return "is empty";
  auto const* const queue = &state->queue();
  if (queue == readers.binding.queue().get()) return "is one to read";
  if (queue == writers.binding.queue().get()) return "is one to write";
  if (upgrading && queue == upgrading->leases.binding.queue().get()) return "is the upgrade lease";
  if (upgrading && queue == upgrading->writers.queue().get()) return "is one to write";
  return "is one of " + queue->title() + ", of the client " + state->queue().client().uuid;
}

void upgradable_lock::impl::check_own(lease const& held,
                                      std::initializer_list<engine::lock_queue const*> queues,
                                      char const* requirement) const {
  auto const* const state = engine::lease_state::behind(held);
  sync::check(state != nullptr && std::ranges::find(queues, &state->queue()) != queues.end(),
              std::string{requirement} + " the lock \"" + writers.binding.name() +
                  "\", of the same client; this one " + described(state));
}

void upgradable_lock::impl::check_own_writer(lease const& held, char const* requirement) const {
  auto const* const upgraded = upgrading ? upgrading->writers.queue().get() : nullptr;
  check_own(held, {writers.binding.queue().get(), upgraded}, requirement);
}

lease upgradable_lock::impl::downgrade(lease held) const {
  auto const* const upgrade_lease = upgrading ? upgrading->leases.binding.queue().get() : nullptr;
  auto const* const state = engine::lease_state::behind(held);
  if (state != nullptr && &state->queue() == upgrade_lease)
    return sync::become(std::move(held), readers.binding, recipes::plain::keep_reading);
  check_own_writer(held, "only a lease to write, or the upgrade lease, can become one to read: one of");
  return sync::become(std::move(held), readers.binding,
                      upgrading ? recipes::plain::downgrade : recipes::redisson::downgrade);
}

sync::lock_binding const& upgradable_lock::impl::upgrader_of(lease const& held) {
  auto const& both = upgrading_here();
  check_own(held, {both.leases.binding.queue().get()},
            "only the upgrade lease can become one to write: that of");
  return both.writers;
}

sync::side* upgradable_lock::impl::held_by_this_thread(sync::side const* const but) {
  for (auto* const each : {&readers, &writers, upgrading ? &upgrading->leases : nullptr}) {
    if (each != nullptr && each != but && each->shape.held_by_this_thread()) return each;
  }
  return nullptr;
}

void upgradable_lock::impl::lock(sync::side& wanted) {
  if (auto const* const held = held_by_this_thread(&wanted); held != nullptr)
    throw error{std::errc::resource_deadlock_would_occur, why_not_beside(*held, wanted)};
  wanted.lock();
}

bool upgradable_lock::impl::try_lock(sync::side& wanted, std::chrono::nanoseconds const wait) {
  return held_by_this_thread(&wanted) == nullptr && wanted.try_lock_within(wait);
}

/// The thread would wait for itself.
std::string upgradable_lock::impl::why_not_beside(sync::side const& held, sync::side const& wanted) const {
  auto const lock = '"' + writers.binding.name() + '"';
  if (&held == &readers)
    return "this thread reads with the shared lock " + lock + ": " +
           (&wanted == &writers ? "to write" : "for the upgrade lease") +
           " it would wait for itself; call unlock_shared() first";
  if (&held == &writers)
    return "this thread writes with the lock " + lock + ": " +
           (&wanted == &readers
                ? "to read it would wait for itself; unlock_and_lock_shared() makes it a reader"
                : "for the upgrade lease it would wait for itself; unlock_and_lock_upgrade() makes it that");
  return "this thread has the upgrade lease of the lock " + lock + ": " +
         (&wanted == &writers
              ? "to write it would wait for itself; unlock_upgrade_and_lock() makes it the writer"
              : "it reads already, and behind a writer it would wait for itself");
}

void upgradable_lock::impl::unlock(sync::side& held_side) {
  auto const result = held_side.shape.unlock();
  if (result) last.store(result, std::memory_order_relaxed);
}

}  // namespace holdfast
