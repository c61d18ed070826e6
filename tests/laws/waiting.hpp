/// Waiting for what is not exclusive: semaphores and latches.
#pragma once

#include "law.hpp"

namespace holdfast::test {

/// The outcome of one asynchronous wait for permits or a latch.
class passing {
 public:
  std::function<void(bool, std::exception_ptr)> handler() {
    return [state = state_](bool got, std::exception_ptr const& failure) {
      state->got = got;
      state->failed = failure != nullptr;
      state->done = true;
    };
  }
  [[nodiscard]] bool done() const { return state_->done; }
  [[nodiscard]] bool got() const { return state_->done && state_->got; }
  [[nodiscard]] bool failed() const { return state_->done && state_->failed; }

 private:
  struct state {
    std::atomic<bool> done = false;
    std::atomic<bool> got = false;
    std::atomic<bool> failed = false;
  };
  std::shared_ptr<state> state_ = std::make_shared<state>();
};

/// Two clients of one server that ask only when they are told to, but for the first seconds of a wait.
class apart : public testing::Test {
 protected:
  /// Somebody of that client waits, and its channel is heard.
  [[nodiscard]] bool waits_for(client& who, std::string const& channel) {
    return eventually([&] { return who.stats().waits >= 1 && raw_.listeners(channel) >= 1; });
  }

  served server_{};
  raw_servers raw_ = server_.raw();
  client one_{server_.url(), unhurried({.recheck = 30s})};
  client two_{server_.url(), unhurried({.recheck = 30s})};
};

/// What a failing call said.
template <class F>
std::string words_of(F f) {
  try {
    f();
  } catch (error const& e) {
    return e.what();
  }
  return {};
}

}  // namespace holdfast::test
