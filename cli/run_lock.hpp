/// What `run` takes before its command runs: a lock of some kind, or a slot of several.
#pragma once

#include "run.hpp"

#include <holdfast/client.hpp>
#include <holdfast/exclusive_lock.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

namespace holdfast::cli {

/// All kinds alike.
class run_lock {
 public:
  using handler = exclusive_lock::acquire_handler;

  run_lock() = default;
  run_lock(run_lock const&) = delete;
  run_lock& operator=(run_lock const&) = delete;
  virtual ~run_lock() = default;

  /// `wait` empty: for ever.
  virtual void acquire(std::optional<std::chrono::milliseconds> wait, handler done, std::stop_token stop) = 0;
  /// Who was in the way, in words; empty when nobody knows.
  [[nodiscard]] virtual std::string why_busy() = 0;
};

/// Of slots it also makes sure that there are as many as there should be. Throws holdfast::error.
[[nodiscard]] std::unique_ptr<run_lock> make_run_lock(client&, run_options const&);

/// `lock "nightly"`, or `slot of "licenses"`: what messages call it.
[[nodiscard]] std::string title_of(run_options const&);

}  // namespace holdfast::cli
