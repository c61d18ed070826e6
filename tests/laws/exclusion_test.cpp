/// S1 and S3: holders never overlap and tokens grow, for any mix of competing threads, clients and processes.
#include "law.hpp"

#include <filesystem>
#include <thread>

namespace holdfast::test {
namespace {

class exclusion : public law {
 protected:
  /// Acquires and releases until `end`, and until there are more than eight leases, and records each.
  void compete(any_lock& lock, std::int64_t id, std::int64_t end) {
    while (boot_now() < end || leases() <= 8) {
      auto lease = lock.try_acquire_for(1s);
      if (!lease) continue;
      interval i{.from = boot_now(), .to = 0, .token = lease->token(), .holder = id};
      if (!lease->valid()) continue;
      i.to = i.from;
      for (auto checks = 0; checks < 5; ++checks) {
        auto const now = boot_now();
        if (lease->valid()) i.to = now;
        std::this_thread::yield();
      }
      {
        std::scoped_lock const hold{guard_};
        history_.push_back(i);
      }
      lease->release();
    }
  }

  std::size_t leases() {
    std::scoped_lock const hold{guard_};
    return history_.size();
  }

  std::mutex guard_;
  std::vector<interval> history_;
};
HOLDFAST_LAW(exclusion);

TEST_P(exclusion, holds_among_threads_of_one_client) {
  auto redis = connect();
  auto const contended = lock(redis);
  auto const end = boot_now() + 700'000'000;
  std::vector<std::jthread> threads;
  for (auto id = 0; id < 8; ++id) threads.emplace_back([&, id] { compete(*contended, id, end); });
  threads.clear();
  EXPECT_GT(history_.size(), 8u);
  EXPECT_EQ(judge(history_), "");
  EXPECT_TRUE(nothing_left_behind(raw_));
}

TEST_P(exclusion, holds_among_threads_clients_and_processes) {
  auto const file = (server_.folder() / "history").string();
  auto const counter = (server_.folder() / "counter").string();
  std::vector<worker> workers;
  for (auto i = 0; i < 3; ++i) {
    workers.push_back(worker::loop(server_.url_for_workers(), std::string{GetParam().title}, "orders", 5s, 2s,
                                   100us, file, counter));
  }
  {
    auto const end = boot_now() + 2'000'000'000;
    auto first = connect();
    auto second = connect();
    std::vector<std::unique_ptr<any_lock>> locks;
    // What a master of several is told too late, since the client has ended, lasts for the ttl.
    for (auto* redis : {&first, &second}) locks.push_back(lock(*redis, {.ttl = 5s}));
    std::vector<std::jthread> threads;
    for (auto id = 0; id < 6; ++id) {
      threads.emplace_back([&, id] { compete(*locks[static_cast<std::size_t>(id) % 2], id, end); });
    }
  }
  for (auto& w : workers) {
    EXPECT_EQ(w.read_line(60s).rfind("taken ", 0), 0u);
    EXPECT_EQ(w.wait(), 0);
  }
  auto const history = read_history(file);
  std::string digits;
  std::ifstream{counter} >> digits;
  EXPECT_EQ(digits, std::to_string(history.size())) << "the counter that only the lock guards lost updates";
  history_.insert(history_.end(), history.begin(), history.end());
  EXPECT_GT(history.size(), 3u);
  EXPECT_EQ(judge(history_), "");
  // The last requests of a client that ended may still be on their way to a master.
  EXPECT_TRUE(nothing_left_behind(raw_));
}

TEST_P(exclusion, gives_growing_tokens_across_handoffs_releases_and_an_empty_server) {
  if (GetParam().on_redisson()) GTEST_SKIP() << "only RFencedLock has tokens, and they begin at 1";
  auto redis = connect();
  auto const handed = lock(redis);
  std::int64_t last = 0;
  for (auto round = 0; round < 40; ++round) {
    auto first = handed->acquire();
    EXPECT_GT(first.token(), last);
    pending next;
    handed->async_acquire(next.handler());
    last = first.token();
    first.release();
    ASSERT_TRUE(eventually([&] { return next.done(); }));
    auto second = next.take();
    ASSERT_TRUE(second);
    EXPECT_GT(second->token(), last);
    last = second->token();
    second->release();
    if (round % 10 == 9) raw_.command({"FLUSHALL"});
  }
}

}  // namespace
}  // namespace holdfast::test
