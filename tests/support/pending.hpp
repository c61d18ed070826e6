/// The outcomes of asynchronous acquisitions. Each outlives the handler that fills it in.
#pragma once

#include <holdfast/lease.hpp>
#include <holdfast/mutex.hpp>

#include <atomic>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <utility>

namespace holdfast::test {

/// Of an acquisition of a lock.
class pending {
 public:
  exclusive_lock::acquire_handler handler() {
    return [state = state_](std::optional<lease> acquired, std::exception_ptr failure) {
      std::scoped_lock const hold{state->guard};
      state->acquired = std::move(acquired);
      state->failure = std::move(failure);
      state->done = true;
    };
  }
  [[nodiscard]] bool done() const { return state_->done; }
  /// Empty when busy; throws the error of a failed acquisition.
  std::optional<lease> take() {
    std::scoped_lock const hold{state_->guard};
    if (state_->failure) std::rethrow_exception(state_->failure);
    return std::exchange(state_->acquired, std::nullopt);
  }

 private:
  struct state {
    std::mutex guard;
    std::atomic<bool> done = false;
    std::optional<lease> acquired;
    std::exception_ptr failure;
  };
  std::shared_ptr<state> state_ = std::make_shared<state>();
};

/// An acquisition that waits, and its outcome.
class waiter {
 public:
  explicit waiter(exclusive_lock& m, std::stop_token stop = {}) {
    m.async_acquire(outcome_.handler(), std::move(stop));
  }
  [[nodiscard]] bool done() const { return outcome_.done(); }
  lease take() { return outcome_.take().value_or(lease{}); }

 private:
  pending outcome_;
};

/// Of a wait for permits or a latch.
class pending_wait {
 public:
  std::function<void(bool, std::exception_ptr)> handler() {
    return [state = state_](bool succeeded, std::exception_ptr const& failure) {
      state->succeeded = succeeded;
      state->failed = failure != nullptr;
      state->done = true;
    };
  }
  [[nodiscard]] bool done() const { return state_->done; }
  [[nodiscard]] bool succeeded() const { return state_->done && state_->succeeded; }
  [[nodiscard]] bool failed() const { return state_->done && state_->failed; }

 private:
  struct state {
    std::atomic<bool> done = false;
    std::atomic<bool> succeeded = false;
    std::atomic<bool> failed = false;
  };
  std::shared_ptr<state> state_ = std::make_shared<state>();
};

}  // namespace holdfast::test
