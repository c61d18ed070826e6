// Latches of Holdfast on three members of etcd.

#include "clients_of_etcd.hpp"
#include "support/failure_of.hpp"

#include <gmock/gmock.h>

#include <holdfast/client.hpp>
#include <holdfast/inspect.hpp>
#include <holdfast/latch.hpp>
#include <holdfast/mutex.hpp>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

namespace holdfast::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class etcd_latch : public clients_of_etcd {
 protected:
  etcd_latch() : clients_of_etcd{"latches"} {}
};

TEST_F(etcd_latch, opens_when_it_was_counted_down) {
  latch here{first_, "count"};
  latch there{second_, "count"};
  EXPECT_TRUE(here.try_wait());  // nobody has set it
  EXPECT_TRUE(here.try_set_count(3));
  EXPECT_FALSE(there.try_set_count(5));
  EXPECT_EQ(there.count(), 3);
  EXPECT_FALSE(there.wait_for(10ms));
  here.count_down();
  EXPECT_FALSE(there.try_wait());
  there.count_down(2);
  EXPECT_TRUE(here.try_wait());
  EXPECT_EQ(here.count(), 0);
  here.wait();
  EXPECT_THAT(keys_of("count"), IsEmpty());
  EXPECT_TRUE(there.try_set_count(1));
  EXPECT_EQ(here.count(), 1);
  EXPECT_TRUE(here.open());
  EXPECT_FALSE(here.open());
}

TEST_F(etcd_latch, counts_a_named_participant_once) {
  latch here{first_, "named"};
  latch there{second_, "named"};
  EXPECT_FALSE(here.count_down("shard-1"));  // it is open
  ASSERT_TRUE(here.try_set_count(2));
  EXPECT_TRUE(here.count_down("shard-1"));
  EXPECT_FALSE(there.count_down("shard-1"));
  EXPECT_EQ(there.count(), 1);
  EXPECT_TRUE(there.count_down("shards/2"));
  EXPECT_TRUE(here.try_wait());
  // Set again, it knows nothing of them.
  ASSERT_TRUE(here.try_set_count(1));
  EXPECT_TRUE(there.count_down("shard-1"));
  EXPECT_TRUE(here.try_wait());
}

TEST_F(etcd_latch, counts_down_to_no_less_than_nothing) {
  latch here{first_, "less"};
  ASSERT_TRUE(here.try_set_count(2));
  here.count_down(7);
  EXPECT_EQ(here.count(), 0);
  here.count_down();
  ASSERT_TRUE(here.try_set_count(2));
  EXPECT_EQ(here.count(), 2);
  EXPECT_TRUE(here.open());
}

TEST_F(etcd_latch, wakes_all_that_wait_and_nobody_before) {
  constexpr int count = 6;
  latch here{first_, "wait"};
  ASSERT_TRUE(here.try_set_count(count));
  std::atomic<int> through = 0;
  std::vector<std::jthread> all;
  for (int i = 0; i != 4; ++i) {
    all.emplace_back([&, i] {
      latch there{i % 2 == 0 ? first_ : second_, "wait"};
      there.wait();
      ++through;
    });
  }
  ASSERT_TRUE(eventually([&] { return first_.stats().waiting_now + second_.stats().waiting_now == 4; }));
  auto const before = second_.stats().commands;
  for (int i = 1; i != count; ++i) here.count_down();
  ASSERT_EQ(here.count(), 1);
  EXPECT_LE(second_.stats().commands - before, 1);  // the first look of the wait may have been under way
  EXPECT_EQ(through, 0);
  here.count_down("last");
  EXPECT_TRUE(eventually([&] { return through == 4; }));
}

TEST_F(etcd_latch, counts_each_of_many_at_a_time_once) {
  constexpr int participants = 16;
  latch here{first_, "many"};
  ASSERT_TRUE(here.try_set_count(participants));
  std::atomic<int> counted = 0;
  std::vector<std::jthread> all;
  for (int i = 0; i != 2 * participants; ++i) {
    all.emplace_back([&, i] {
      latch there{i % 2 == 0 ? first_ : second_, "many"};
      if (there.count_down("p" + std::to_string(i / 2))) ++counted;
      there.wait();
    });
  }
  all.clear();
  EXPECT_EQ(counted, participants);
  EXPECT_THAT(keys_of("many"), IsEmpty());
}

/// It died behind its count, and before it took the latch away.
TEST_F(etcd_latch, is_open_though_who_counted_last_has_left_its_keys) {
  latch here{first_, "dead"};
  ASSERT_TRUE(here.try_set_count(1));
  three_etcds().ctl({"put", "latches/dead/latch-counted-1-pdied", "holdfast x"});
  EXPECT_TRUE(here.try_wait());
  EXPECT_TRUE(here.try_set_count(1));
  EXPECT_FALSE(here.try_wait());
  EXPECT_TRUE(here.count_down("died"));
  EXPECT_TRUE(here.try_wait());
}

TEST_F(etcd_latch, is_over_when_its_time_is) {
  latch here{first_, "time", {.expires_after = 2s}};
  latch there{second_, "time"};
  ASSERT_TRUE(here.try_set_count(2));
  EXPECT_TRUE(there.count_down("one"));
  EXPECT_EQ(code_of([&] { there.wait(); }), errc::expired);
  EXPECT_EQ(code_of([&] { (void)there.count(); }), errc::expired);
  EXPECT_EQ(code_of([&] { there.count_down("two"); }), errc::expired);
  EXPECT_EQ(code_of([&] { (void)there.wait_for(1s); }), errc::expired);
  EXPECT_THAT(keys_of("time"), SizeIs(2));
  EXPECT_TRUE(here.try_set_count(1));
  EXPECT_EQ(there.count(), 1);
  EXPECT_TRUE(there.count_down("one"));
  EXPECT_TRUE(here.try_wait());
  EXPECT_THAT(keys_of("time"), IsEmpty());
}

TEST_F(etcd_latch, counts_down_without_waiting) {
  latch here{first_, "async"};
  ASSERT_TRUE(here.try_set_count(2));
  std::atomic<int> counted = 0;
  std::atomic<bool> opened = false;
  here.async_wait([&](bool open, std::exception_ptr const&) { opened = open; });
  here.async_count_down([&](std::exception_ptr const& failure) { counted += failure ? 100 : 1; });
  ASSERT_TRUE(eventually([&] { return counted == 1; }));
  EXPECT_FALSE(opened);
  here.async_count_down("one",
                        [&](bool changed, std::exception_ptr const&) { counted += changed ? 1 : 100; });
  EXPECT_TRUE(eventually([&] { return counted == 2 && opened; }));
}

TEST_F(etcd_latch, leaves_waiters_that_are_cancelled_nothing) {
  latch here{first_, "cancelled"};
  ASSERT_TRUE(here.try_set_count(1));
  std::stop_source stop;
  std::jthread const waiter{
      [&] { EXPECT_EQ(code_of([&] { here.wait(stop.get_token()); }), errc::cancelled); }};
  ASSERT_TRUE(eventually([&] { return first_.stats().waiting_now == 1; }));
  stop.request_stop();
  EXPECT_TRUE(eventually([&] { return first_.stats().waiting_now == 0; }));
  EXPECT_TRUE(here.open());
}

TEST_F(etcd_latch, is_no_lock_and_a_lock_is_no_latch) {
  latch here{first_, "kinds"};
  mutex lock{second_, "kinds"};
  {
    auto const held = lock.acquire();
    EXPECT_EQ(code_of([&] { here.try_set_count(1); }), errc::wrong_type);
    EXPECT_EQ(code_of([&] { here.wait(); }), errc::wrong_type);
  }
  ASSERT_TRUE(here.try_set_count(1));
  EXPECT_EQ(code_of([&] { (void)lock.acquire(); }), errc::wrong_type);
  ASSERT_TRUE(eventually([&] { return keys_of("kinds").size() == 1; }));
  EXPECT_EQ(here.count(), 1);
  EXPECT_TRUE(here.open());
}

TEST_F(etcd_latch, is_shown_with_those_that_have_counted) {
  latch here{first_, "seen"};
  ASSERT_TRUE(here.try_set_count(3));
  EXPECT_TRUE(here.count_down("one"));
  here.count_down();
  auto const seen = inspect(second_, "seen");
  EXPECT_EQ(seen.kind, lock_kind::latch);
  EXPECT_EQ(seen.permits, 3);
  EXPECT_EQ(seen.available, 1);
  ASSERT_THAT(seen.holders, SizeIs(2));
  EXPECT_EQ(seen.holders[0].process.owner, "one");
  EXPECT_GT(seen.holders[1].process.pid, 0);
  std::vector<std::string> names;
  for_each_lock(second_, "se*", [&](lock_state const& each) {
    names.push_back(each.name);
    return true;
  });
  EXPECT_THAT(names, ElementsAre("seen"));
  EXPECT_EQ(force_release(second_, "seen"), force_result::refused_counter);
  EXPECT_TRUE(here.open());
  EXPECT_EQ(inspect(second_, "seen").kind, lock_kind::free);
}

}  // namespace
}  // namespace holdfast::test
