// Locks that etcdctl has, too: it is a program with Go's concurrency.Mutex.

#include "members.hpp"
#include "support/eventually.hpp"
#include "support/line_process.hpp"

#include <gmock/gmock.h>

#include <holdfast/client.hpp>
#include <holdfast/mutex.hpp>
#include <holdfast/shared_mutex.hpp>

#include <atomic>
#include <csignal>
#include <thread>

namespace holdfast::test {
namespace {

using testing::SizeIs;
using testing::StartsWith;

client_options patient() { return {.patience = wait_limit, .recheck = 30s}; }

/// `etcdctl lock`, which prints its key when it has the lock, and gives it back when it is interrupted.
line_process etcdctl_lock(std::string const& name, int ttl = 60) {
  words command{"/usr/bin/env"};
  for (auto const& each : shared_etcd().ctl_words({"lock", name, "--ttl=" + std::to_string(ttl)}))
    command.push_back(each);
  return line_process{command};
}

TEST(etcdctl, waits_for_our_lock_and_is_woken) {
  client etcd{shared_etcd().url(), patient()};
  mutex lock{etcd, "ours"};
  auto held = lock.acquire();
  auto other = etcdctl_lock("ours");
  ASSERT_TRUE(eventually([] { return shared_etcd().keys("ours/").size() == 2; }));
  EXPECT_THROW((void)other.read_line(200ms), std::runtime_error);
  EXPECT_EQ(held.release(), release_result::released);
  EXPECT_THAT(other.read_line(), StartsWith("ours/"));
  EXPECT_FALSE(lock.try_acquire());
}

TEST(etcdctl, is_waited_for_and_wakes_us) {
  client etcd{shared_etcd().url(), patient()};
  mutex lock{etcd, "theirs"};
  auto other = etcdctl_lock("theirs");
  ASSERT_THAT(other.read_line(), StartsWith("theirs/"));
  EXPECT_FALSE(lock.try_acquire());
  std::atomic<bool> entered = false;
  std::jthread waiter{[&] {
    auto const held = lock.acquire();
    entered = true;
  }};
  ASSERT_TRUE(eventually([] { return shared_etcd().keys("theirs/").size() == 2; }));
  EXPECT_FALSE(entered);
  ::kill(other.pid(), SIGINT);
  EXPECT_TRUE(eventually([&] { return entered.load(); }));
}

TEST(etcdctl, that_was_killed_is_waited_for_until_its_ttl_is_over) {
  client etcd{shared_etcd().url(), patient()};
  mutex lock{etcd, "killed_etcdctl"};
  auto other = etcdctl_lock("killed_etcdctl", 2);
  ASSERT_THAT(other.read_line(), StartsWith("killed_etcdctl/"));
  other.kill9();
  EXPECT_TRUE(lock.try_acquire_for(wait_limit));
}

TEST(etcdctl, waits_for_our_readers_and_they_wait_for_it) {
  client etcd{shared_etcd().url(), patient()};
  shared_mutex lock{etcd, "read"};
  auto reading = lock.acquire_shared();
  auto other = etcdctl_lock("read");
  ASSERT_TRUE(eventually([] { return shared_etcd().keys("read/").size() == 2; }));
  EXPECT_THROW((void)other.read_line(200ms), std::runtime_error);
  EXPECT_FALSE(lock.try_acquire_shared());
  std::atomic<bool> entered = false;
  std::jthread reader{[&] {
    auto const later = lock.acquire_shared();
    entered = true;
  }};
  ASSERT_TRUE(eventually([] { return shared_etcd().keys("read/").size() == 3; }));
  EXPECT_EQ(reading.release(), release_result::released);
  EXPECT_THAT(other.read_line(), StartsWith("read/"));
  EXPECT_FALSE(entered);
  ::kill(other.pid(), SIGINT);
  EXPECT_TRUE(eventually([&] { return entered.load(); }));
}

TEST(etcdctl, that_was_killed_is_waited_for_by_readers_until_its_ttl_is_over) {
  client etcd{shared_etcd().url(), patient()};
  shared_mutex lock{etcd, "killed_for_readers"};
  auto other = etcdctl_lock("killed_for_readers", 2);
  ASSERT_THAT(other.read_line(), StartsWith("killed_for_readers/"));
  other.kill9();
  EXPECT_TRUE(lock.try_acquire_shared_for(wait_limit));
}

TEST(etcdctl, keeps_the_order_in_which_it_and_we_came) {
  client etcd{shared_etcd().url(), patient()};
  client third{shared_etcd().url(), patient()};
  mutex lock{etcd, "order"};
  mutex last{third, "order"};
  auto held = lock.acquire();
  auto other = etcdctl_lock("order");
  ASSERT_TRUE(eventually([] { return shared_etcd().keys("order/").size() == 2; }));
  std::atomic<bool> entered = false;
  std::jthread waiter{[&] {
    auto const later = last.acquire();
    entered = true;
  }};
  ASSERT_TRUE(eventually([] { return shared_etcd().keys("order/").size() == 3; }));
  EXPECT_EQ(held.release(), release_result::released);
  ASSERT_THAT(other.read_line(), StartsWith("order/"));
  EXPECT_FALSE(entered);
  ::kill(other.pid(), SIGINT);
  EXPECT_TRUE(eventually([&] { return entered.load(); }));
}

}  // namespace
}  // namespace holdfast::test
