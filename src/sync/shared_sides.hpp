/// What is behind a shared_mutex: its writers, its readers, and the upgrade lease.
#pragma once

#include <holdfast/shared_mutex.hpp>

#include <atomic>
#include <chrono>
#include <initializer_list>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

#include "engine/recipe.hpp"
#include "sync/lock_binding.hpp"
#include "sync/std_shape.hpp"

namespace holdfast {
namespace sync {

/// The writers or the readers: each side has its own queue, and the server excludes one from the other.
struct side {
  using nesting = engine::exclusive_kind::nesting;

  lock_binding binding;
  std_shape<lease> shape;

  side(client& redis, std::string const& name, lock_options const& options, engine::recipe const& kind,
       std::string const& title, nesting again);

  [[nodiscard]] lease acquire(std::stop_token const& stop) const {
    return std::move(*binding.acquire(std::nullopt, stop));
  }
  void lock() {
    shape.lock([this] { return acquire({}); });
  }
  [[nodiscard]] bool try_lock_within(std::chrono::nanoseconds wait) {
    return shape.try_lock([this, wait] { return binding.acquire(wait, {}); });
  }
};

/// What an object needs to know before it has its two sides.
struct shared_plan;

/// The upgrade lease, and the writer that it becomes: the plain wire alone has them.
struct upgrades {
  side leases;
  lock_binding writers;

  upgrades(client& redis, std::string const& name, shared_plan const& of);
};

}  // namespace sync

struct upgradable_lock::impl {
  sync::side writers;
  sync::side readers;
  std::optional<sync::upgrades> upgrading;
  std::atomic<std::optional<release_result>> last{};

  impl(client& redis, std::string const& name, sync::shared_plan const& of);

  [[nodiscard]] static std::unique_ptr<impl> make(client& redis, std::string const& name,
                                                  lock_options const& options);

  /// On etcd each place in the queue is older or newer than another one for good.
  void check_format(char const* lack) const;

  [[nodiscard]] sync::upgrades& upgrading_here();

  /// For messages: what the lease is instead of one that this lock wants.
  [[nodiscard]] std::string described(engine::lease_state const* state) const;

  /// Throws unless the lease is of this lock and client, and of one of these queues.
  void check_own(lease const& held, std::initializer_list<engine::lock_queue const*> queues,
                 char const* requirement) const;

  /// Throws unless the lease is one to write; also one that was upgraded is.
  void check_own_writer(lease const& held, char const* requirement) const;

  /// A lease to write, or the upgrade lease, becomes one to read.
  [[nodiscard]] lease downgrade(lease held) const;

  /// The writers, one of which takes the place of `held`, the upgrade lease.
  [[nodiscard]] sync::lock_binding const& upgrader_of(lease const& held);

  /// A side that the calling thread has locked, other than that one; null: none.
  [[nodiscard]] sync::side* held_by_this_thread(sync::side const* but = nullptr);
  [[nodiscard]] std::string why_not_beside(sync::side const& held, sync::side const& wanted) const;
  void lock(sync::side& wanted);
  [[nodiscard]] bool try_lock(sync::side& wanted, std::chrono::nanoseconds wait);
  void unlock(sync::side& held_side);
};

namespace sync {

/// A lease becomes one of the queue of `to`, by that script.
[[nodiscard]] lease become(lease held, lock_binding const& to,
                           call (*script)(engine::owned, engine::milliseconds, engine::publishing));

}  // namespace sync
}  // namespace holdfast
