/// The locks that `run` takes before its command: a lock of some kind, or one of several slots.
#pragma once

#include "run/run_options.hpp"

#include <holdfast/client.hpp>
#include <holdfast/exclusive_lock.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

namespace holdfast::cli {

/// What a lock is waited for.
struct obstacle {
  std::string text{};          ///< in words; empty: the server hasn't said yet
  std::string identity{};      ///< differs when another line is due
  bool never_expires = false;  ///< the key has no ttl: another program's
  bool answered = false;       ///< the server has said that the lock is busy
};

/// The common interface of all kinds.
class run_lock {
 public:
  using handler = exclusive_lock::acquire_handler;

  run_lock() = default;
  run_lock(run_lock const&) = delete;
  run_lock& operator=(run_lock const&) = delete;
  virtual ~run_lock() = default;

  /// `wait` empty: no limit.
  virtual void acquire(std::optional<std::chrono::milliseconds> wait, handler done, std::stop_token stop) = 0;
  /// What is in the way of an acquisition under way, or was in that of the last one. May ask the server.
  [[nodiscard]] virtual obstacle in_the_way() = 0;
};

/// For slots it also sets their number. Throws holdfast::error.
[[nodiscard]] std::unique_ptr<run_lock> make_run_lock(client&, run_options const&);

/// The name in messages: `lock "nightly"`, `slot of "licenses"`, `lead of "scheduler"`, or `lock "account:7"
/// with "rates" and "api"`.
[[nodiscard]] std::string title_of(run_options const&);
/// Of one name alone.
[[nodiscard]] std::string title_of(run_name const&);

}  // namespace holdfast::cli
