/// For synchronizers that are not exclusive: semaphores and latches.
#pragma once

#include "law.hpp"

namespace holdfast::test {

/// Two clients of one server that send requests only after a message, except in the first seconds of a wait.
class two_clients : public testing::Test {
 protected:
  /// A caller of the client waits, and the channel has a subscriber.
  [[nodiscard]] bool waits_for(client& waiter, std::string const& channel) {
    return eventually([&] { return waiter.stats().waits >= 1 && raw_.listeners(channel) >= 1; });
  }

  deployment_under_test server_{};
  raw_servers raw_ = server_.raw();
  client first_client_{server_.url(), with_long_timeouts({.recheck = 30s})};
  client second_client_{server_.url(), with_long_timeouts({.recheck = 30s})};
};

}  // namespace holdfast::test
