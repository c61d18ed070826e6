/// Shared by the tests of coroutines, with Asio and without: a lock, and another client that would like to
/// have it.
#pragma once

#include <holdfast/mutex.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "support/deployment_under_test.hpp"
#include "support/leftovers.hpp"
#include "support/long_timeouts.hpp"

namespace holdfast::test {

class two_clients : public testing::Test {
 protected:
  two_clients() = default;
  /// Both clients run on event loops: make_loop() makes one for each, null for a client with a thread.
  template <class MakeLoop>
  explicit two_clients(MakeLoop make_loop) : redis_{make(make_loop())}, other_client_{make(make_loop())} {}

  [[nodiscard]] client make(std::shared_ptr<event_loop> runs_on) const {
    return runs_on ? client{server_.url(), with_long_timeouts(), std::move(runs_on)}
                   : client{server_.url(), with_long_timeouts()};
  }
  [[nodiscard]] bool nothing_left_behind() { return test::nothing_left_behind(raw_); }

  deployment_under_test server_{};
  raw_servers raw_ = server_.raw();
  client redis_ = make(nullptr);
  client other_client_ = make(nullptr);
  mutex lock_{redis_, "orders"};
  mutex free_lock_{other_client_, "orders"};
};

}  // namespace holdfast::test
