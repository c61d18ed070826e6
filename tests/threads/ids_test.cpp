#include "base/ids.hpp"

#include <gmock/gmock.h>

#include <mutex>
#include <set>
#include <thread>
#include <vector>

namespace {

using holdfast::make_uuid;
using holdfast::random_seed;

TEST(ids, makes_random_uuids_of_version_4) {
  for (int i = 0; i < 1'000; ++i) {
    EXPECT_THAT(make_uuid(),
                testing::MatchesRegex("[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"));
  }
}

TEST(ids, makes_no_uuid_twice_in_several_threads) {
  std::mutex mutex;
  std::set<std::string> all;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 500; ++i) {
          auto id = make_uuid();
          std::lock_guard const hold{mutex};
          all.insert(std::move(id));
        }
      });
    }
  }
  EXPECT_EQ(all.size(), 2'000u);
}

TEST(ids, gives_another_seed_each_time) { EXPECT_NE(random_seed(), random_seed()); }

}  // namespace
