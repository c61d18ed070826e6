/// What the laws of multi_mutex share.
#pragma once

#include "law.hpp"

namespace holdfast::test {

class multi : public testing::Test {
 protected:
  std::vector<std::string> residue() {
    std::vector<std::string> left;
    for (auto& key : raw_.keys()) {
      if (!test::outlives_locks(key)) left.push_back(std::move(key));
    }
    return left;
  }

  /// Waits for it, and is done when it has it.
  static void start(multi_mutex& m, std::atomic<int>& served, std::stop_token stop = {}) {
    m.async_acquire(
        [&served](std::optional<multi_lease> got, std::exception_ptr const&) { served += got ? 1 : 0; },
        std::move(stop));
  }

  served server_{};
  raw_servers raw_ = server_.raw();
  client redis_{server_.url(), unhurried()};
};

}  // namespace holdfast::test
