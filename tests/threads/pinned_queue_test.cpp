/// Objects of one name on many threads of one client.
#include <gtest/gtest.h>

#include <holdfast/multi_mutex.hpp>
#include <holdfast/mutex.hpp>
#include <holdfast/testing.hpp>
#include <thread>
#include <vector>

namespace holdfast {
namespace {

/// What they share is made by the first of them, and ends with the last.
TEST(objects_of_one_name, may_come_and_go_on_many_threads_at_once) {
  memory::deployment servers;
  auto redis = servers.connect();
  {
    std::vector<std::jthread> threads;
    threads.reserve(4);
    for (auto i = 0; i != 4; ++i) {
      threads.emplace_back([&redis] {
        for (auto round = 0; round != 3'000; ++round) {
          mutex const one{redis, "orders"};
          multi_mutex const several{redis, {"orders", "parts"}};
        }
      });
    }
  }
  mutex m{redis, "orders"};
  EXPECT_EQ(m.acquire().release(), release_result::released);
}

}  // namespace
}  // namespace holdfast
