// Waiters for several names that stand aside, and whom a release wakes.

#include "multi_faults.hpp"
#include "store.hpp"
#include "support/eventually.hpp"

#include <gmock/gmock.h>

#include <holdfast/client.hpp>
#include <holdfast/multi_mutex.hpp>
#include <holdfast/mutex.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace holdfast::test {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

/// Waiters for two names of several clients, of which another one has the first.
class etcd_multi_aside : public etcd_multi_faults {
 protected:
  static constexpr std::size_t count = 4;

  explicit etcd_multi_aside(std::string name = "herd") : name_{std::move(name)} {
    the_store().tell_of(name_);
    busy_ = mutex(other_, name_ + "_a").acquire();
    for (std::size_t i = 0; i != count; ++i) {
      clients_.push_back(std::make_unique<client>("etcd://memory"));
      waiters_.push_back(std::make_unique<waiter>(*clients_.back(), name_));
    }
  }
  [[nodiscard]] std::int64_t watchers_of_lock() const {
    return the_store().watchers(the_store().keys(name_ + "_a/").at(0));
  }
  [[nodiscard]] std::ptrdiff_t entered() const {
    return std::ranges::count_if(waiters_, [](auto const& each) { return each->entered(); });
  }

  std::string name_;
  lease busy_;
  std::vector<std::unique_ptr<client>> clients_;
  std::vector<std::unique_ptr<waiter>> waiters_;
};

/// FOUND 477.
TEST_F(etcd_multi_aside, has_one_that_watches_the_lock_while_the_others_watch_one_another) {
  EXPECT_TRUE(eventually([this] {
    auto const all = aside(name_ + "_a");
    std::int64_t watched = 0;
    for (auto const& each : all) watched += the_store().watchers(each);
    return all.size() == count && watchers_of_lock() == 1 && watched == count - 1;
  }));
}

TEST_F(etcd_multi_aside, has_one_that_watches_the_lock_also_when_others_leave) {
  for (auto left = count; left != 0; --left) {
    EXPECT_TRUE(eventually([&] { return aside(name_ + "_a").size() == left && watchers_of_lock() == 1; }));
    waiters_[left - 1]->go();
  }
  EXPECT_TRUE(eventually([this] { return aside(name_ + "_a").empty(); }));
}

TEST_F(etcd_multi_aside, takes_the_names_one_after_the_other) {
  ASSERT_TRUE(eventually([this] { return aside(name_ + "_a").size() == count; }));
  EXPECT_EQ(busy_.release(), release_result::released);
  for (auto left = count; left != 0; --left) {
    ASSERT_TRUE(eventually([this] { return entered() == 1; }));
    auto const holder = std::ranges::find_if(waiters_, [](auto const& each) { return each->entered(); });
    (*holder)->go();
    waiters_.erase(holder);
  }
  EXPECT_TRUE(eventually(
      [this] { return places(name_ + "_a") + places(name_ + "_b") + aside(name_ + "_a").size() == 0; }));
}

TEST_F(etcd_multi_faults, a_waiter_waits_in_another_name_when_that_is_in_its_way) {
  auto busy_a = mutex(other_, "moves_a").acquire();
  auto busy_b = mutex(other_, "moves_b").acquire();
  the_store().tell_of("moves");
  waiter both{etcd_, "moves"};
  ASSERT_TRUE(eventually([] { return aside("moves_a").size() == 1; }));
  EXPECT_EQ(busy_a.release(), release_result::released);
  EXPECT_TRUE(eventually([] { return aside("moves_b").size() == 1 && aside("moves_a").empty(); }));
  EXPECT_EQ(busy_b.release(), release_result::released);
  EXPECT_TRUE(eventually([&] { return both.entered(); }));
  EXPECT_THAT(aside("moves_b"), IsEmpty());
  both.go();
}

/// Its user may have the right to use the names, and no others.
TEST_F(etcd_multi_faults, a_waiter_that_may_not_say_that_it_stands_aside_watches_the_lock) {
  auto busy = mutex(other_, "right_a").acquire();
  the_store().next_put(store::fate::answered);  // it queues up
  the_store().next_put(store::fate::answered);  // it takes the names if all are free
  the_store().next_put(store::fate::refused);
  waiter both{etcd_, "right"};
  ASSERT_TRUE(eventually([] { return the_store().are_decided(); }));
  EXPECT_TRUE(eventually([] { return the_store().watchers(the_store().keys("right_a/").at(0)) == 1; }));
  EXPECT_EQ(busy.release(), release_result::released);
  EXPECT_TRUE(eventually([&] { return both.entered(); }));
  both.go();
}

TEST_F(etcd_multi_faults, a_late_copy_leaves_nobody_standing_aside_who_has_gone) {
  mutex lasting{etcd_, "multi_lasting_copy", {.ttl = 3s}};
  auto const keeps_the_lease = lasting.acquire();
  auto busy = mutex(other_, "ghost_a").acquire();
  the_store().next_put(store::fate::answered);
  the_store().next_put(store::fate::answered);
  the_store().next_put(store::fate::held_back);
  waiter both{etcd_, "ghost"};
  ASSERT_TRUE(eventually([] { return the_store().holds_back() && aside("ghost_a").size() == 1; }));
  both.go();
  ASSERT_TRUE(eventually([] { return aside("ghost_a").empty(); }));
  the_store().carry_out();
  ASSERT_THAT(aside("ghost_a"), SizeIs(1));
  EXPECT_TRUE(eventually([] { return aside("ghost_a").empty(); }));
  EXPECT_TRUE(keeps_the_lease.valid());
}

/// FOUND 472. Each of these callers waits for less than a second, and somebody always does.
TEST_F(etcd_multi_faults, callers_who_follow_one_another_step_aside_together) {
  auto busy = mutex(other_, "follow_a").acquire();
  multi_mutex both{etcd_, {"follow_a", "follow_b"}, {.ttl = 3s}};
  std::atomic<bool> enough = false;
  std::vector<std::jthread> callers;
  for (auto const time : {500ms, 600ms, 700ms, 800ms}) {
    callers.emplace_back([&, time] {
      while (!enough) EXPECT_FALSE(both.try_acquire_for(time));
    });
  }
  EXPECT_TRUE(eventually([] { return !aside("follow_a").empty(); }));
  enough = true;
}

}  // namespace
}  // namespace holdfast::test
