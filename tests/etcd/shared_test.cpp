// Readers and writers of Holdfast on three members of etcd.

#include "clients_of_etcd.hpp"
#include "holder.hpp"
#include "support/eventually.hpp"

#include <gmock/gmock.h>

#include <holdfast/client.hpp>
#include <holdfast/inspect.hpp>
#include <holdfast/mutex.hpp>
#include <holdfast/shared_mutex.hpp>

#include <atomic>
#include <optional>
#include <shared_mutex>
#include <stop_token>
#include <thread>
#include <vector>

namespace holdfast::test {
namespace {

using testing::Each;
using testing::Field;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

class etcd_shared : public clients_of_etcd {
 protected:
  etcd_shared() : clients_of_etcd{"shared"} {}

  client third_ = another();
};

TEST_F(etcd_shared, has_readers_together_and_writers_alone) {
  shared_mutex here{first_, "together"};
  shared_mutex there{second_, "together"};
  auto one = here.acquire_shared();
  auto two = there.acquire_shared();
  EXPECT_EQ(places("together"), 2);
  EXPECT_FALSE(here.try_acquire());
  EXPECT_FALSE(there.try_acquire());
  EXPECT_EQ(one.release(), release_result::released);
  EXPECT_FALSE(here.try_acquire());
  auto const token = two.token();
  EXPECT_EQ(two.release(), release_result::released);
  auto writing = here.try_acquire();
  ASSERT_TRUE(writing);
  EXPECT_GT(writing->token(), token);
  EXPECT_FALSE(here.try_acquire_shared());
  EXPECT_FALSE(there.try_acquire_shared());
  EXPECT_FALSE(there.try_acquire());
  EXPECT_EQ(writing->release(), release_result::released);
  EXPECT_TRUE(come_to_be("together", 0));
}

TEST_F(etcd_shared, goes_on_in_the_order_of_arrival) {
  shared_mutex here{first_, "order"};
  shared_mutex there{second_, "order"};
  shared_mutex elsewhere{third_, "order"};
  auto reading = here.acquire_shared();
  std::optional<lease> writing;
  std::jthread writer{[&] { writing = there.acquire(); }};
  ASSERT_TRUE(come_to_be("order", 2));
  EXPECT_FALSE(elsewhere.try_acquire_shared());  // a writer waits
  EXPECT_EQ(places("order"), 2);
  std::atomic<bool> read_again = false;
  std::optional<lease> later;
  std::jthread reader{[&] {
    later = elsewhere.acquire_shared();
    read_again = true;
  }};
  ASSERT_TRUE(come_to_be("order", 3));
  auto const first = reading.token();
  EXPECT_EQ(reading.release(), release_result::released);
  writer.join();
  EXPECT_GT(writing->token(), first);
  EXPECT_FALSE(read_again);
  auto const second = writing->token();
  writing.reset();
  reader.join();
  EXPECT_GT(later->token(), second);
}

TEST_F(etcd_shared, lets_readers_pass_that_came_behind_a_writer_who_has_left) {
  shared_mutex here{first_, "left"};
  shared_mutex there{second_, "left"};
  shared_mutex elsewhere{third_, "left"};
  auto const reading = here.acquire_shared();
  std::stop_source gives_up;
  std::jthread writer{[&] { EXPECT_THROW((void)there.acquire(gives_up.get_token()), error); }};
  ASSERT_TRUE(come_to_be("left", 2));
  std::optional<lease> later;
  std::jthread reader{[&] { later = elsewhere.acquire_shared(); }};
  ASSERT_TRUE(come_to_be("left", 3));
  gives_up.request_stop();
  writer.join();
  reader.join();
  EXPECT_TRUE(later->valid());
  EXPECT_TRUE(reading.valid());
  EXPECT_TRUE(come_to_be("left", 2));
}

TEST_F(etcd_shared, leaves_no_key_of_a_reader_who_gave_up) {
  shared_mutex here{first_, "gave_up"};
  shared_mutex there{second_, "gave_up"};
  auto const writing = here.acquire();
  EXPECT_FALSE(there.try_acquire_shared_for(100ms));
  EXPECT_TRUE(come_to_be("gave_up", 1));
}

TEST_F(etcd_shared, is_the_lock_of_a_mutex) {
  shared_mutex lock{first_, "mutex"};
  mutex other{second_, "mutex"};
  auto reading = lock.acquire_shared();
  EXPECT_FALSE(other.try_acquire());
  std::optional<lease> held;
  std::jthread waiter{[&] { held = other.acquire(); }};
  ASSERT_TRUE(come_to_be("mutex", 2));
  EXPECT_EQ(reading.release(), release_result::released);
  waiter.join();
  EXPECT_FALSE(lock.try_acquire_shared());
  std::jthread reader{[&] { EXPECT_TRUE(lock.try_acquire_shared_for(wait_limit)); }};
  ASSERT_TRUE(come_to_be("mutex", 2));
  EXPECT_EQ(held->release(), release_result::released);
}

/// A writer has the number of readers at zero, and is alone.
TEST_F(etcd_shared, never_has_a_writer_beside_anybody) {
  constexpr int rounds = 12;
  std::atomic<int> readers = 0;
  std::atomic<int> writers = 0;
  std::atomic<int> together = 0;
  std::vector<std::jthread> all;
  for (int i = 0; i != 9; ++i) {
    all.emplace_back([&, i] {
      shared_mutex lock{i % 3 == 0 ? first_ : i % 3 == 1 ? second_ : third_, "law"};
      for (int n = 0; n != rounds; ++n) {
        if ((i + n) % 4 == 0) {
          auto const writing = lock.acquire();
          EXPECT_EQ(writers.fetch_add(1), 0);
          EXPECT_EQ(readers.load(), 0);
          writers.fetch_sub(1);
        } else {
          auto const reading = lock.acquire_shared();
          if (readers.fetch_add(1) > 0) ++together;
          EXPECT_EQ(writers.load(), 0);
          readers.fetch_sub(1);
        }
      }
    });
  }
  all.clear();
  EXPECT_TRUE(come_to_be("law", 0));
}

TEST_F(etcd_shared, works_with_the_locks_of_the_standard_library) {
  shared_mutex lock{first_, "std"};
  {
    std::shared_lock const reading{lock};
    std::jthread const other{[&] { std::shared_lock const too{lock}; }};
  }
  std::scoped_lock const writing{lock};
  EXPECT_EQ(places("std"), 1);
}

/// Nobody is woken but by what it waits for.
TEST_F(etcd_shared, wakes_a_writer_when_the_reader_right_before_it_leaves) {
  shared_mutex here{first_, "herd", {.handoff_limit = 0}};
  shared_mutex there{second_, "herd"};
  std::vector<lease> readers;
  for (int i = 0; i != 12; ++i) readers.push_back(here.acquire_shared());
  ASSERT_EQ(places("herd"), 12);
  std::optional<lease> writing;
  std::jthread writer{[&] { writing = there.acquire(); }};
  ASSERT_TRUE(come_to_be("herd", 13));
  ASSERT_TRUE(eventually([&] { return second_.stats().waits == 1; }));
  auto const before = second_.stats().commands;
  while (readers.size() > 1) {
    EXPECT_EQ(readers.front().release(), release_result::released);
    readers.erase(readers.begin());
  }
  readers.clear();
  writer.join();
  // One look for the last one; one more if the first look of the wait was still under way.
  EXPECT_LE(second_.stats().commands - before, 2);
}

TEST_F(etcd_shared, wakes_all_readers_behind_a_writer_with_one_look_each) {
  constexpr std::size_t count = 10;
  shared_mutex here{first_, "batch"};
  auto writing = here.acquire();
  shared_mutex there{second_, "batch", {.handoff_limit = 0}};
  std::atomic<std::size_t> reading = 0;
  std::vector<std::jthread> all;
  for (std::size_t i = 0; i != count; ++i) {
    all.emplace_back([&] {
      auto const held = there.acquire_shared();
      ++reading;
      EXPECT_TRUE(eventually([&] { return reading == count; }));
    });
  }
  ASSERT_TRUE(eventually([&] { return second_.stats().waiting_now == count; }));
  EXPECT_EQ(writing.release(), release_result::released);
  all.clear();
  EXPECT_EQ(reading, count);
}

TEST_F(etcd_shared, waits_for_a_killed_reader_until_its_ttl_is_over) {
  reader_process other{three_etcds().url("shared"), "killed", 2s};
  ASSERT_THAT(other.read_line(), StartsWith("reads "));
  shared_mutex lock{first_, "killed"};
  EXPECT_FALSE(lock.try_acquire());
  EXPECT_TRUE(lock.try_acquire_shared());
  other.kill9();
  EXPECT_TRUE(lock.try_acquire_for(wait_limit));
}

TEST_F(etcd_shared, tells_a_reader_at_once_that_its_key_is_gone) {
  shared_mutex lock{first_, "deleted", {.ttl = 60s, .renew_every = 25s}};
  auto reading = lock.acquire_shared();
  reading.renew();
  three_etcds().ctl({"del", "--prefix", "shared/deleted/"});
  EXPECT_TRUE(eventually([&] { return reading.lost_because() == loss_cause::key_gone; }));
  EXPECT_TRUE(lock.try_acquire_for(wait_limit));
}

TEST_F(etcd_shared, shows_its_readers_and_takes_the_lock_from_them_by_force) {
  shared_mutex here{first_, "seen"};
  shared_mutex there{second_, "seen"};
  auto one = here.acquire_shared();
  auto two = there.acquire_shared();
  std::optional<lease> writing;
  std::jthread writer{[&] { writing = shared_mutex(third_, "seen").acquire(); }};
  ASSERT_TRUE(come_to_be("seen", 3));
  auto const seen = inspect(first_, "seen");
  EXPECT_EQ(seen.kind, lock_kind::read_write);
  EXPECT_EQ(seen.holding, 2);
  EXPECT_EQ(seen.waiting, 1);
  EXPECT_EQ(seen.token, two.token());
  ASSERT_THAT(seen.holders, SizeIs(2));
  EXPECT_THAT(seen.holders, Each(Field(&hold_info::side, hold_side::read)));
  EXPECT_EQ(seen.holders.front().process.owner, one.owner());
  std::vector<std::string> names;
  for_each_lock(first_, "se*", [&](lock_state const& each) {
    names.push_back(each.name);
    return true;
  });
  EXPECT_THAT(names, testing::ElementsAre("seen"));
  EXPECT_EQ(force_release(third_, "seen", {.grace = 0ms, .owner = one.owner()}), force_result::deleted);
  EXPECT_TRUE(eventually([&] { return one.lost_because() != loss_cause::none; }));
  EXPECT_TRUE(two.valid());
  std::jthread const gives_back{[&] {
    EXPECT_TRUE(eventually([&] { return !two.valid(); }));
    (void)two.release();
  }};
  EXPECT_EQ(force_release(third_, "seen", {.grace = wait_limit, .owner = two.owner()}),
            force_result::released_by_holder);
}

TEST_F(etcd_shared, refuses_what_its_format_does_not_have) {
  auto const code_of = [](auto const& f) {
    try {
      f();
    } catch (error const& failure) {
      return failure.code();
    }
    return std::error_code{};
  };
  using enum sharing_policy;
  EXPECT_EQ(code_of([&] { shared_mutex{first_, "x", {.policy = prefer_readers}}; }),
            std::errc::invalid_argument);
  EXPECT_EQ(code_of([&] { shared_mutex{first_, "x", {.policy = prefer_writers}}; }),
            std::errc::invalid_argument);
  shared_mutex lock{first_, "refused"};
  EXPECT_EQ(code_of([&] { (void)lock.acquire_upgrade(); }), std::errc::not_supported);
  EXPECT_EQ(code_of([&] { (void)lock.downgrade(lock.acquire()); }), std::errc::not_supported);
  EXPECT_TRUE(come_to_be("refused", 0));
  lock.lock();
  EXPECT_EQ(code_of([&] { lock.unlock_and_lock_shared(); }), std::errc::not_supported);
  EXPECT_EQ(places("refused"), 1);
  lock.unlock();
  EXPECT_EQ(places("refused"), 0);
}

TEST(etcd_shared_members, goes_on_when_the_leader_of_etcd_is_killed) {
  etcd_cluster all{{.members = 3}};
  client first{all.url(), {.patience = wait_limit}};
  client second{all.url(), {.patience = wait_limit}};
  shared_mutex here{first, "survives", {.ttl = 15s}};
  shared_mutex there{second, "survives", {.ttl = 15s}};
  auto reading = here.acquire_shared();
  std::atomic<bool> entered = false;
  std::jthread writer{[&] {
    auto const writing = there.acquire();
    EXPECT_TRUE(writing.valid());
    entered = true;
  }};
  ASSERT_TRUE(eventually([&] { return all.keys("survives/").size() == 2; }));
  all.kill9(all.leader());
  auto const renewals = first.stats().renewals;
  ASSERT_TRUE(eventually(40s, [&] { return first.stats().renewals > renewals; }));
  EXPECT_TRUE(reading.valid());
  EXPECT_FALSE(entered);
  EXPECT_EQ(reading.release(), release_result::released);
  EXPECT_TRUE(eventually(40s, [&] { return entered.load(); }));
}

}  // namespace
}  // namespace holdfast::test
