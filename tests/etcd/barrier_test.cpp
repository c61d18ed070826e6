// Barriers of Holdfast on three members of etcd.

#include "barriers_fixture.hpp"
#include "support/failure_of.hpp"

#include <gmock/gmock.h>

#include <holdfast/barrier.hpp>
#include <holdfast/client.hpp>
#include <holdfast/expiring_semaphore.hpp>
#include <holdfast/inspect.hpp>
#include <holdfast/latch.hpp>
#include <holdfast/mutex.hpp>

#include <unistd.h>

#include <chrono>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace holdfast::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

TEST_F(etcd_barrier, opens_for_all_when_the_last_one_arrives) {
  barrier here{first_, "step", 3};
  barrier there{second_, "step", 3};
  auto first = arrive(here);
  auto second = arrive(there);
  ASSERT_TRUE(have_arrived("step", 2));
  EXPECT_FALSE(is_done(first) || is_done(second));
  auto const generation = there.arrive_and_wait();
  EXPECT_GT(generation, 0);
  EXPECT_EQ(first.get().generation, generation);
  EXPECT_EQ(second.get().generation, generation);
  EXPECT_EQ(first_.stats().rechecks + second_.stats().rechecks, 0u);  // watches have told it
  EXPECT_TRUE(have_arrived("step", 0));
  EXPECT_THAT(three_etcds().keys("barriers/step/"), ElementsAre("barriers/step/barrier"));
}

TEST_F(etcd_barrier, goes_on_from_generation_to_generation) {
  barrier here{first_, "steps", 3};
  barrier there{second_, "steps", 3};
  constexpr int generations = 30;
  std::mutex guard;
  std::map<std::int64_t, int> passed;
  {
    std::vector<std::jthread> all;
    for (auto* const at : {&here, &there, &there}) {
      all.emplace_back([&, at] {
        for (int i = 0; i != generations; ++i) {
          auto const generation = at->arrive_and_wait();
          std::scoped_lock const hold{guard};
          ++passed[generation];
        }
      });
    }
  }
  EXPECT_THAT(passed, SizeIs(generations));
  for (auto const& [generation, count] : passed) EXPECT_EQ(count, 3) << generation;
  EXPECT_EQ(passed.rbegin()->first - passed.begin()->first, generations - 1);
  EXPECT_TRUE(have_arrived("steps", 0));
}

TEST_F(etcd_barrier, never_opens_with_fewer_arrivals_than_parties_when_there_are_more_participants) {
  constexpr int parties = 3;
  constexpr int enough = 30;
  barrier here{first_, "crowd", parties};
  barrier there{second_, "crowd", parties};
  std::mutex guard;
  std::map<std::int64_t, int> passed;
  int full = 0;
  std::stop_source stop;
  {
    std::vector<std::jthread> all;
    for (int i = 0; i != 8; ++i) {
      all.emplace_back([&, at = i % 2 == 0 ? &here : &there] {
        try {
          for (;;) {
            auto const generation = at->arrive_and_wait(stop.get_token());
            std::scoped_lock const hold{guard};
            if (++passed[generation] == parties && ++full == enough) stop.request_stop();
          }
        } catch (error const& end) {
          EXPECT_TRUE(end.code() == errc::cancelled || end.code() == errc::broken) << end.what();
        }
      });
    }
  }
  EXPECT_GE(full, enough);
  // One that was cancelled just then isn't told that its generation has opened.
  for (auto const& [generation, count] : passed) EXPECT_LE(count, parties) << generation;
  EXPECT_TRUE(have_arrived("crowd", 0));
}

TEST_F(etcd_barrier, opens_for_many_that_arrive_at_a_time) {
  constexpr int parties = 40;
  barrier here{first_, "many", parties};
  barrier there{second_, "many", parties};
  std::vector<arrival> all;
  all.reserve(parties);
  for (int i = 0; i != parties; ++i) all.push_back(arrive(i % 2 == 0 ? here : there));
  auto const generation = all.front().get().generation;
  EXPECT_GT(generation, 0);
  for (int i = 1; i != parties; ++i) EXPECT_EQ(all[static_cast<std::size_t>(i)].get().generation, generation);
  // How often slots meet, and so tries are made anew, isn't the square of the number.
  EXPECT_LT(first_.stats().commands + second_.stats().commands, std::uint64_t{parties} * 20);
}

TEST_F(etcd_barrier, wakes_nobody_before_the_end) {
  barrier here{first_, "quiet", 4};
  barrier there{second_, "quiet", 4};
  auto first = arrive(here);
  ASSERT_TRUE(eventually([&] { return first_.stats().waiting_now == 1; }));
  auto second = arrive(there);
  ASSERT_TRUE(have_arrived("quiet", 2) && eventually([&] { return second_.stats().waiting_now == 1; }));
  auto const before = first_.stats().commands;
  auto third = arrive(there);
  ASSERT_TRUE(have_arrived("quiet", 3));
  EXPECT_LE(first_.stats().commands - before, 1);  // its second look may have been under way
  auto const generation = there.arrive_and_wait();
  for (auto* const each : {&first, &second, &third}) EXPECT_EQ(each->get().generation, generation);
  EXPECT_LE(first_.stats().commands - before, 3);
}

TEST_F(etcd_barrier, says_of_how_many_parties_it_is_until_they_are_gone) {
  barrier here{first_, "parties", 2};
  barrier there{second_, "parties", 3};
  auto first = arrive(here);
  ASSERT_TRUE(have_arrived("parties", 1));
  auto const [code, what] = failure_of([&] { (void)there.arrive_and_wait(); });
  EXPECT_EQ(code, errc::wrong_type);
  EXPECT_THAT(what, AllOf(HasSubstr("in use for 2 parties"), HasSubstr("this one is for 3")));
  auto const generation = here.arrive_and_wait();
  EXPECT_EQ(first.get().generation, generation);
  auto second = arrive(there);
  auto third = arrive(there);
  ASSERT_TRUE(have_arrived("parties", 2));
  EXPECT_GT(there.arrive_and_wait(), generation);
}

TEST_F(etcd_barrier, lets_one_party_pass_at_once) {
  barrier alone{first_, "alone", 1};
  auto const first = alone.arrive_and_wait();
  EXPECT_EQ(alone.arrive_and_wait(), first + 1);
  EXPECT_EQ(alone.try_arrive_and_wait_for(0s), first + 2);
}

TEST_F(etcd_barrier, counts_on_behind_one_that_was_deleted) {
  barrier alone{first_, "anew", 1};
  std::int64_t last = 0;
  for (int i = 0; i != 20; ++i) last = alone.arrive_and_wait();
  three_etcds().ctl({"del", "barriers/anew/barrier"});
  EXPECT_GT(alone.arrive_and_wait(), last);
  barrier two{first_, "anew_two", 2};
  auto waiting = arrive(two);
  ASSERT_TRUE(have_arrived("anew_two", 1));
  three_etcds().ctl({"del", "--prefix", "barriers/anew_two/"});
  EXPECT_THAT(waiting.get().failed.message, HasSubstr("the server has lost who had arrived"));
}

TEST_F(etcd_barrier, opens_and_breaks_by_polling) {
  barrier polling{second_, "polled", 2, {.wake = wake::poll}};
  barrier here{first_, "polled", 2};
  auto first = arrive(polling);
  ASSERT_TRUE(have_arrived("polled", 1));
  auto const generation = here.arrive_and_wait();
  EXPECT_EQ(first.get().generation, generation);
  std::stop_source stop;
  auto leaving = arrive(polling, stop.get_token());
  ASSERT_TRUE(have_arrived("polled", 1));
  stop.request_stop();
  EXPECT_EQ(leaving.get().failed.code, errc::cancelled);
  EXPECT_TRUE(have_arrived("polled", 0));
}

TEST_F(etcd_barrier, calls_back) {
  barrier here{first_, "async", 2};
  auto first = arrive(here);
  ASSERT_TRUE(have_arrived("async", 1));
  std::promise<std::int64_t> called;
  {
    barrier short_lived{second_, "async", 2};
    short_lived.async_arrive_and_wait([&called](std::int64_t generation, std::exception_ptr const& failed) {
      called.set_value(failed ? -1 : generation);
    });
  }
  EXPECT_EQ(called.get_future().get(), first.get().generation);
}

TEST_F(etcd_barrier, and_other_kinds_of_the_same_name_say_what_each_other_is) {
  barrier here{first_, "kinds", 2};
  mutex lock{second_, "kinds"};
  latch closed{second_, "kinds"};
  expiring_semaphore permits{second_, "kinds", 2};
  {
    auto const held = lock.acquire();
    auto const [code, what] = failure_of([&] { (void)here.arrive_and_wait(); });
    EXPECT_EQ(code, errc::wrong_type);
    EXPECT_THAT(what, HasSubstr("can't be a barrier"));
  }
  ASSERT_TRUE(closed.try_set_count(1));
  EXPECT_EQ(code_of([&] { (void)here.arrive_and_wait(); }), errc::wrong_type);
  EXPECT_TRUE(closed.open());
  auto first = arrive(here);
  ASSERT_TRUE(have_arrived("kinds", 1));
  auto const [code, what] = failure_of([&] { (void)lock.acquire(); });
  EXPECT_EQ(code, errc::wrong_type);
  EXPECT_THAT(what, HasSubstr("is a barrier"));
  EXPECT_EQ(code_of([&] { (void)closed.try_set_count(1); }), errc::wrong_type);
  EXPECT_EQ(code_of([&] { (void)permits.acquire(); }), errc::wrong_type);
  EXPECT_EQ(here.arrive_and_wait(), first.get().generation);
}

TEST_F(etcd_barrier, is_shown_with_those_that_have_arrived_and_broken_by_force) {
  barrier here{first_, "seen", 3};
  auto first = arrive(here);
  ASSERT_TRUE(have_arrived("seen", 1));
  auto const state = inspect(second_, "seen");
  EXPECT_EQ(state.kind, lock_kind::barrier);
  EXPECT_EQ(state.permits, 3);
  EXPECT_EQ(state.available, 2);
  EXPECT_GT(state.generation.value_or(0), 0);
  ASSERT_THAT(state.holders, SizeIs(1));
  EXPECT_EQ(state.holders.front().side, hold_side::arrived);
  EXPECT_EQ(state.holders.front().process.pid, getpid());
  EXPECT_TRUE(state.holders.front().ttl_left);
  std::vector<std::string> names;
  for_each_lock(second_, "se*", [&](lock_state const& each) {
    names.push_back(each.name);
    return each.kind == lock_kind::barrier;
  });
  EXPECT_THAT(names, ElementsAre("seen"));
  EXPECT_EQ(force_release(second_, "seen", {.owner = "somebody else"}), force_result::changed);
  EXPECT_EQ(force_release(second_, "seen"), force_result::deleted);
  auto const told = first.get().failed;
  EXPECT_EQ(told.code, errc::broken);
  EXPECT_THAT(told.message, HasSubstr("has broken it by force"));
  EXPECT_EQ(force_release(second_, "seen"), force_result::not_held);
}

TEST_F(etcd_barrier, refuses_names_and_options_out_of_range) {
  auto const refused = [&](std::string const& name, std::int64_t parties, barrier_options const& options) {
    return code_of([&] { barrier const b{first_, name, parties, options}; }) == std::errc::invalid_argument;
  };
  EXPECT_TRUE(refused("", 2, {}));
  EXPECT_TRUE(refused("a/b", 2, {}));
  EXPECT_TRUE(refused("b", 0, {}));
  EXPECT_TRUE(refused("b", 1'000'001, {}));
  EXPECT_TRUE(refused("b", 2, {.ttl = 99ms}));
  EXPECT_TRUE(refused("b", 2, {.ttl = 61min}));
  barrier short_ttl{first_, "short", 2, {.ttl = 500ms}};
  EXPECT_THAT(failure_of([&] { (void)short_ttl.arrive_and_wait(); }).message,
              HasSubstr("shortest lease is 2 s"));
}

/// As docs/etcd.md says.
TEST_F(etcd_barrier, takes_as_many_requests_as_are_documented) {
  barrier here{first_, "cost", 2};
  barrier there{second_, "cost", 2};
  auto const pass_once = [&] {
    auto const before = first_.stats().commands;
    auto const of_last = second_.stats().commands;
    auto first = arrive(here);
    EXPECT_TRUE(have_arrived("cost", 1));
    EXPECT_TRUE(eventually([&] { return first_.stats().waiting_now == 1; }));
    EXPECT_GT(there.arrive_and_wait(), 0);
    EXPECT_GT(first.get().generation, 0);
    EXPECT_TRUE(have_arrived("cost", 0));
    return std::pair{first_.stats().commands - before, second_.stats().commands - of_last};
  };
  (void)pass_once();  // makes the barrier, and seats
  auto const [waiter, last] = pass_once();
  EXPECT_LE(waiter, 4u);
  EXPECT_LE(last, 3u);
}

/// The leader of the cluster is killed while some wait.
TEST_F(etcd_barrier, opens_with_another_leader) {
  etcd_cluster all{{.members = 3}};
  client one{all.url(prefix_), options()};
  client other{all.url(prefix_), options()};
  barrier here{one, "led", 3};
  barrier there{other, "led", 3};
  auto first = arrive(here);
  auto second = arrive(there);
  ASSERT_TRUE(eventually([&] { return all.keys("barriers/led/barrier-here-").size() == 2; }));
  all.kill9(all.leader());
  auto const generation = there.arrive_and_wait();
  EXPECT_EQ(first.get().generation, generation);
  EXPECT_EQ(second.get().generation, generation);
}

}  // namespace
}  // namespace holdfast::test
