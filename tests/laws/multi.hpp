/// The common fixture of the laws of multi_mutex.
#pragma once

#include "law.hpp"

namespace holdfast::test {

class multi : public testing::Test {
 protected:
  /// Starts an acquisition, which increments `served` when it succeeds.
  static void start(multi_mutex& m, std::atomic<int>& served, std::stop_token stop = {}) {
    m.async_acquire(
        [&served](std::optional<multi_lease> lease, std::exception_ptr const&) { served += lease ? 1 : 0; },
        std::move(stop));
  }

  deployment_under_test server_{};
  raw_servers raw_ = server_.raw();
  client redis_{server_.url(), with_long_timeouts()};
};

}  // namespace holdfast::test
