/// Binds a public object to its queue in the engine: written once for all kinds.
#pragma once

#include <holdfast/client.hpp>
#include <holdfast/exclusive_lock.hpp>
#include <holdfast/lease.hpp>
#include <holdfast/move_only_function.hpp>
#include <holdfast/options.hpp>

#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "engine/core.hpp"
#include "sync/pinned_queue.hpp"

namespace holdfast::sync {

/// One name, one kind, one set of options, in one client. Constant after construction; for any thread.
class lock_binding {
 public:
  /// The name and the options must have been checked. `size`: see engine::acquire_request.
  lock_binding(client& redis, std::string name, lock_options const& options, engine::recipe const& kind,
               int size = 0);
  ~lock_binding() = default;
  lock_binding(lock_binding const&) = delete;
  lock_binding& operator=(lock_binding const&) = delete;

  [[nodiscard]] std::string const& name() const noexcept { return name_; }
  [[nodiscard]] std::shared_ptr<engine::core> const& core() const noexcept { return pinned_.core(); }
  [[nodiscard]] engine::lock_queue_ptr const& queue() const noexcept { return pinned_.queue(); }
  [[nodiscard]] engine::effective_options_ptr const& options() const noexcept { return options_; }

  /// `amount`: the permits wanted. On Redisson's wire, where a lease has one permit: how many permits there
  /// are altogether, a number that the server may have lost.
  [[nodiscard]] std::optional<lease> acquire(engine::wait_limit wait, std::stop_token const& stop,
                                             int amount = 1) const;
  void async_acquire(engine::wait_limit wait, exclusive_lock::acquire_handler done, std::stop_token stop,
                     int amount = 1) const;

  /// The same with other options than those of this binding: for a kind that learns its size later.
  [[nodiscard]] std::optional<lease> acquire_with(engine::effective_options_ptr const& options,
                                                  engine::wait_limit wait, std::stop_token const& stop,
                                                  int amount) const;
  void async_acquire_with(engine::effective_options_ptr const& options, engine::wait_limit wait,
                          exclusive_lock::acquire_handler done, std::stop_token stop, int amount) const;

  /// For a kind that isn't leased: the number of the acquisition when `amount` was granted, otherwise 0.
  [[nodiscard]] std::uint64_t take(engine::wait_limit wait, std::stop_token const& stop,
                                   int amount = 1) const;
  using take_handler = move_only_function<void(std::uint64_t, std::exception_ptr)>;
  void async_take(engine::wait_limit wait, take_handler done, std::stop_token stop, int amount = 1) const;

 private:
  std::string name_;
  pinned_queue pinned_;
  engine::effective_options_ptr options_;
};

}  // namespace holdfast::sync
