/// Shared by the tests of coroutines, with Asio and without: a lock, and another client that would like to
/// have it.
#pragma once

#include <holdfast/mutex.hpp>

#include <gtest/gtest.h>

#include "support/deployment_under_test.hpp"
#include "support/leftovers.hpp"
#include "support/long_timeouts.hpp"

namespace holdfast::test {

class two_clients : public testing::Test {
 protected:
  [[nodiscard]] bool nothing_left_behind() { return test::nothing_left_behind(raw_); }

  deployment_under_test server_{};
  raw_servers raw_ = server_.raw();
  client redis_{server_.url(), with_long_timeouts()};
  client other_client_{server_.url(), with_long_timeouts()};
  mutex lock_{redis_, "orders"};
  mutex free_lock_{other_client_, "orders"};
};

}  // namespace holdfast::test
