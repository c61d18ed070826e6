/// Waiting for synchronizers that are not exclusive: semaphores and latches.
#pragma once

#include "law.hpp"

namespace holdfast::test {

/// The outcome of one asynchronous wait for permits or a latch.
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

/// Two clients of one server that send requests only after a message, except in the first seconds of a wait.
class two_clients : public testing::Test {
 protected:
  /// A caller of the client waits, and the channel has a subscriber.
  [[nodiscard]] bool waits_for(client& waiter, std::string const& channel) {
    return eventually([&] { return waiter.stats().waits >= 1 && raw_.listeners(channel) >= 1; });
  }

  served server_{};
  raw_servers raw_ = server_.raw();
  client first_client_{server_.url(), with_long_timeouts({.recheck = 30s})};
  client second_client_{server_.url(), with_long_timeouts({.recheck = 30s})};
};

/// The message of the error that `f` throws; empty when it throws nothing.
template <class F>
std::string message_of(F f) {
  try {
    f();
  } catch (error const& e) {
    return e.what();
  }
  return {};
}

}  // namespace holdfast::test
