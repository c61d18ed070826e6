// Locks that programs in Go have with concurrency.Mutex. Skipped where the peer isn't built: ./check etcd.

#include "members.hpp"
#include "support/eventually.hpp"
#include "support/line_process.hpp"

#include <gmock/gmock.h>

#include <holdfast/client.hpp>
#include <holdfast/fair_mutex.hpp>
#include <holdfast/mutex.hpp>
#include <holdfast/shared_mutex.hpp>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

namespace holdfast::test {
namespace {

using testing::StartsWith;

class go_peer : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(HOLDFAST_ETCD_PEER)) GTEST_SKIP() << "there is no " << HOLDFAST_ETCD_PEER;
  }

  static line_process peer(words const& rest, int ttl = 60) {
    words command{HOLDFAST_ETCD_PEER, shared_etcd().endpoint(), std::to_string(ttl)};
    command.insert(command.end(), rest.begin(), rest.end());
    return line_process{command};
  }

  client etcd_{shared_etcd().url(), {.patience = wait_limit, .recheck = 30s}};
};

TEST_F(go_peer, waits_for_our_lock_and_is_woken) {
  mutex lock{etcd_, "go_waits"};
  auto held = lock.acquire();
  auto const token = held.token();
  auto other = peer({"hold", "go_waits"});
  ASSERT_TRUE(eventually([] { return shared_etcd().keys("go_waits/").size() == 2; }));
  EXPECT_EQ(held.release(), release_result::released);
  auto const line = other.read_line();
  ASSERT_THAT(line, StartsWith("held "));
  EXPECT_GT(std::stoll(line.substr(5)), token);
  EXPECT_FALSE(lock.try_acquire());
  EXPECT_EQ(other.reply_to("now"), "released");
  EXPECT_TRUE(lock.try_acquire_for(wait_limit));
}

TEST_F(go_peer, is_waited_for_after_it_was_killed) {
  mutex lock{etcd_, "go_killed"};
  auto other = peer({"hold", "go_killed"}, 2);
  ASSERT_THAT(other.read_line(), StartsWith("held "));
  other.kill9();
  EXPECT_TRUE(lock.try_acquire_for(wait_limit));
}

TEST_F(go_peer, and_we_never_hold_at_a_time) {
  constexpr int rounds = 25;
  temporary_folder const folder;
  auto const file = folder / "number";
  std::ofstream{file} << 0;
  auto const increment = [&] {
    int number = 0;
    std::ifstream{file} >> number;
    std::ofstream{file} << number + 1;
  };
  auto first = peer({"count", "go_counts", file, std::to_string(rounds)});
  auto second = peer({"count", "go_counts", file, std::to_string(rounds)});
  client another{shared_etcd().url(), {.patience = wait_limit}};
  std::vector<std::jthread> ours;
  for (int i = 0; i != 3; ++i) {
    ours.emplace_back([&, i] {
      mutex lock{i == 0 ? another : etcd_, "go_counts"};
      for (int n = 0; n != rounds; ++n) {
        auto const held = lock.acquire();
        increment();
      }
    });
  }
  ours.clear();
  EXPECT_EQ(first.read_line(wait_limit * 3), "done");
  EXPECT_EQ(second.read_line(wait_limit * 3), "done");
  EXPECT_EQ(content_of(file), std::to_string(5 * rounds));
}

TEST_F(go_peer, never_writes_while_we_read) {
  constexpr int rounds = 25;
  temporary_folder const folder;
  auto const file = folder / "number";
  std::ofstream{file} << 0;
  auto const number = [&] { return content_of(file); };
  auto first = peer({"count", "go_writes", file, std::to_string(rounds)});
  auto second = peer({"count", "go_writes", file, std::to_string(rounds)});
  client another{shared_etcd().url(), {.patience = wait_limit}};
  std::vector<std::jthread> ours;
  for (int i = 0; i != 4; ++i) {
    ours.emplace_back([&, i] {
      shared_mutex lock{i % 2 == 0 ? another : etcd_, "go_writes"};
      for (int n = 0; n != rounds; ++n) {
        auto const reading = lock.acquire_shared();
        auto const before = number();
        EXPECT_THAT(before, testing::Not(testing::IsEmpty()));
        std::this_thread::yield();
        EXPECT_EQ(number(), before);
      }
    });
  }
  ours.clear();
  EXPECT_EQ(first.read_line(wait_limit * 3), "done");
  EXPECT_EQ(second.read_line(wait_limit * 3), "done");
  EXPECT_EQ(number(), std::to_string(2 * rounds));
}

}  // namespace
}  // namespace holdfast::test
