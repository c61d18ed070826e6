/// lock_options::detect_deadlock: circles of threads that wait for one another's locks, and no others.
#include "law.hpp"

#include <holdfast/deadlock.hpp>
#include <holdfast/election.hpp>
#include <holdfast/expiring_semaphore.hpp>
#include <holdfast/multi_mutex.hpp>
#include <holdfast/shared_mutex.hpp>

#include <gmock/gmock.h>

#include <future>
#include <limits>
#include <list>
#include <random>
#include <thread>

#include "script/names.hpp"

namespace holdfast::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

constexpr lock_options detecting{.detect_deadlock = true};

class deadlock : public testing::Test {
 protected:
  [[nodiscard]] client connect(std::string label = {}) const {
    return client{server_.url(), with_long_timeouts({.label = std::move(label)})};
  }
  /// How many locks have something said beside them.
  [[nodiscard]] std::size_t said() { return raw_.keys("*holdfast_blocked*").size(); }
  [[nodiscard]] bool is_said(std::size_t locks) {
    return eventually([&] { return said() == locks; });
  }
  /// A thread of its own: takes the first lock, and later waits for the second one.
  class party {
   public:
    template <class First, class Second>
    party(First first, Second second) {
      std::promise<void> holding;
      auto holds = holding.get_future();
      thread_ = std::async(std::launch::async, [holding = std::move(holding), first = std::move(first),
                                                second = std::move(second), go = go_.get_future()]() mutable {
        auto const held = first();
        holding.set_value();
        go.wait();
        return failure_of([&] { auto const other = second(); });
      });
      holds.wait();
    }
    void wait_for_second() { go_.set_value(); }
    [[nodiscard]] failure outcome() { return thread_.get(); }
    [[nodiscard]] bool waits() { return thread_.wait_for(0s) != std::future_status::ready; }

   private:
    std::promise<void> go_;
    std::future<failure> thread_;
  };
  template <class First, class Second>
  static party take(First& first, Second& second) {
    return party{[&first] { return first.acquire(); }, [&second] { return second.acquire(); }};
  }
  /// The last one to wait fails, and the others get their locks.
  void expect_a_circle(std::vector<party*> const& parties) {
    for (std::size_t i = 0; i + 1 != parties.size(); ++i) {
      parties[i]->wait_for_second();
      ASSERT_TRUE(eventually([&] { return said() > i; }));
    }
    parties.back()->wait_for_second();
    auto const youngest = parties.back()->outcome();
    EXPECT_EQ(youngest.code, errc::deadlock) << youngest;
    for (std::size_t i = 0; i + 1 != parties.size(); ++i) {
      auto const older = parties[i]->outcome();
      EXPECT_FALSE(older.code) << older;
    }
    EXPECT_TRUE(is_said(0)) << "something stays behind";
    message_ = youngest.message;
  }

  deployment_under_test server_{};
  raw_servers raw_ = server_.raw();
  client one_ = connect("one");
  client two_ = connect("two");
  client three_ = connect("three");
  std::string message_;
};

TEST_F(deadlock, of_two_processes_fails_at_the_younger_wait_and_is_spelt_out) {
  mutex a_of_one{one_, "a", detecting};
  mutex b_of_one{one_, "b", detecting};
  mutex a_of_two{two_, "a", detecting};
  mutex b_of_two{two_, "b", detecting};
  auto first = take(a_of_one, b_of_one);
  auto second = take(b_of_two, a_of_two);
  expect_a_circle({&first, &second});
  EXPECT_THAT(message_, testing::MatchesRegex("deadlock: .* pid [0-9]+ 'two' waits for \"a\", held by .* pid "
                                              "[0-9]+ 'one', which waits for \"b\", held by .* pid [0-9]+ "
                                              "'two'; .*"));
}

TEST_F(deadlock, of_three_processes_goes_all_the_way_round) {
  mutex a_of_one{one_, "a", detecting};
  mutex b_of_one{one_, "b", detecting};
  fair_mutex b_of_two{two_, "b", detecting};
  fair_mutex c_of_two{two_, "c", detecting};
  recursive_mutex c_of_three{three_, "c", detecting};
  recursive_mutex a_of_three{three_, "a", detecting};
  auto first = take(a_of_one, b_of_one);
  auto second = take(b_of_two, c_of_two);
  auto third = take(c_of_three, a_of_three);
  expect_a_circle({&first, &second, &third});
  EXPECT_THAT(message_, AllOf(HasSubstr("'three' waits for \"a\""), HasSubstr("'one', which waits for \"b\""),
                              HasSubstr("'two', which waits for \"c\"")));
}

TEST_F(deadlock, of_threads_of_one_process_is_found_in_spite_of_handoffs) {
  mutex a{one_, "a", detecting};
  mutex b{one_, "b", detecting};
  auto first = take(a, b);
  auto second = take(b, a);
  expect_a_circle({&first, &second});
}

TEST_F(deadlock, of_a_writer_goes_through_any_of_the_readers_and_of_several_names_through_any_name) {
  shared_mutex s_of_one{one_, "s", detecting};
  multi_mutex names_of_one{one_, {"{m}1", "{m}2", "{m}3"}, detecting};
  mutex m_of_two{two_, "{m}2", detecting};
  shared_mutex s_of_two{two_, "s", detecting};
  auto const other_reader = s_of_two.try_acquire_shared();
  ASSERT_TRUE(other_reader);
  party first{[&] { return s_of_one.acquire_shared(); }, [&] { return names_of_one.acquire(); }};
  party second{[&] { return m_of_two.acquire(); },
               [&] { return s_of_two.try_acquire_for(wait_limit).value(); }};
  expect_a_circle({&first, &second});
}

TEST_F(deadlock, of_a_thread_with_itself_is_one) {
  mutex a{one_, "a", detecting};
  auto const held = a.acquire();
  auto const failure = failure_of([&] { auto const again = a.acquire(); });
  EXPECT_EQ(failure.code, errc::deadlock) << failure;
}

TEST_F(deadlock, is_none_if_a_wait_ends_or_a_lock_is_given_back) {
  mutex a_of_one{one_, "a", detecting};
  mutex b_of_one{one_, "b", detecting};
  mutex a_of_two{two_, "a", detecting};
  mutex b_of_two{two_, "b", detecting};
  auto held = a_of_one.acquire();
  auto other = take(b_of_two, a_of_two);
  other.wait_for_second();
  ASSERT_TRUE(is_said(1));
  // Together they are a circle for a moment that is too short to be found.
  EXPECT_FALSE(b_of_one.try_acquire_for(1200ms));
  held.release();
  auto const outcome = other.outcome();
  EXPECT_FALSE(outcome.code) << outcome;
  EXPECT_TRUE(is_said(0));
}

TEST_F(deadlock, is_not_looked_for_by_a_thread_that_holds_nothing_or_without_the_option) {
  mutex a{one_, "a", detecting};
  mutex b{one_, "b", detecting};
  mutex plain{two_, "p"};
  mutex a_of_two{two_, "a", detecting};
  mutex p_of_three{three_, "p"};
  mutex a_of_three{three_, "a"};
  auto const held = a.acquire();
  auto const held_plain = plain.acquire();
  auto waits = std::async(std::launch::async, [&] { return a_of_two.try_acquire_for(2500ms).has_value(); });
  auto waits_plainly =
      std::async(std::launch::async, [&] { return a_of_three.try_acquire_for(2500ms).has_value(); });
  // This thread holds p, by a lock without the option.
  EXPECT_TRUE(always(2500ms, [&] { return said() == 0; }));
  EXPECT_FALSE(waits.get());
  EXPECT_FALSE(waits_plainly.get());
  EXPECT_FALSE(p_of_three.try_acquire_for(1500ms));
  EXPECT_EQ(said(), 0u);
}

TEST_F(deadlock, is_none_whatever_stands_beside_the_locks) {
  mutex a{one_, "a", detecting};
  mutex b{one_, "b", detecting};
  auto const dead = std::string{"11111111-1111-4111-8111-111111111111:1"};
  auto held = a.acquire();
  // The words of a client that was killed: it held b, and waited for a. And those of others.
  raw_.command({"SET", "b", dead, "PX", "6000"});
  raw_.command({"ZADD", names::blocked("b", dead), "7", "11111111-1111-4111-8111-111111111111:9 1 w 1:a"});
  raw_.command({"ZADD", names::blocked("b", dead), "8", "garbage", "9", std::string("\0\xff", 2), "10",
                "11111111-1111-4111-8111-111111111111:9 1 w 99:a", "11",
                "11111111-1111-4111-8111-111111111111:9 1 w 0:", "12",
                "11111111-1111-4111-8111-111111111111:8 1 w 2:}{"});  // no name in a cluster
  EXPECT_THAT(find_deadlocks(three_), IsEmpty());
  raw_.command({"SET", names::blocked("a", held.owner()), "of another type"});
  auto const outcome = failure_of([&] { EXPECT_TRUE(b.try_acquire_for(wait_limit)); });
  EXPECT_FALSE(outcome.code) << outcome;
  held.release();
  raw_.del(names::blocked("a", held.owner()));
}

TEST_F(deadlock, is_none_if_the_end_of_a_wait_is_on_its_way) {
  HOLDFAST_ON_ONE_SERVER("the slow network is before one");
  flaky_proxy proxy{server_.socket_path()};
  client slow{proxy.url(), with_long_timeouts({})};
  mutex a_of_slow{slow, "a", detecting};
  mutex b_of_slow{slow, "b", detecting};
  mutex a{one_, "a", detecting};
  mutex b{one_, "b", detecting};
  auto const held = a.acquire();
  lease held_by_slow;
  std::stop_source stop;
  auto waits = std::async(std::launch::async, [&] {
    held_by_slow = b_of_slow.acquire();
    return code_of([&] { auto const never = a_of_slow.acquire(stop.get_token()); });
  });
  EXPECT_TRUE(is_said(1));
  proxy.freeze_requests();
  stop.request_stop();
  EXPECT_EQ(waits.get(), errc::cancelled);
  // By all that the server has heard this closes a circle.
  auto const outcome = failure_of([&] { EXPECT_FALSE(b.try_acquire_for(6s)); });
  EXPECT_FALSE(outcome.code) << outcome;
  proxy.thaw();
  EXPECT_TRUE(is_said(0));
}

TEST_F(deadlock, is_found_by_others_too) {
  mutex a_of_one{one_, "a", detecting};
  mutex b_of_one{one_, "b", detecting};
  mutex a_of_two{two_, "a", detecting};
  mutex b_of_two{two_, "b", detecting};
  EXPECT_THAT(find_deadlocks(three_), IsEmpty());
  auto first = take(a_of_one, b_of_one);
  auto second = take(b_of_two, a_of_two);
  first.wait_for_second();
  EXPECT_TRUE(is_said(1));
  EXPECT_THAT(find_deadlocks(three_), IsEmpty());
  second.wait_for_second();
  ASSERT_TRUE(is_said(2));
  auto const found = find_deadlocks(three_);
  if (!found.empty()) {  // on a busy machine it may be over
    ASSERT_THAT(found, SizeIs(1));
    ASSERT_THAT(found.front().circle, SizeIs(2));
    EXPECT_EQ(found.front().circle.front().process.label, "two");
    EXPECT_GT(found.front().circle.back().waited, found.front().circle.front().waited);
    EXPECT_THAT(found.front().to_string(), HasSubstr("'two' waits for \"a\", held by "));
  }
  EXPECT_EQ(second.outcome().code, errc::deadlock);
  EXPECT_FALSE(first.outcome().code);
}

TEST_F(deadlock, option_is_refused_where_nobody_knows_whom_a_wait_is_for) {
  auto const refused = [](auto make) {
    auto const failure = failure_of([&] { make(); });
    EXPECT_EQ(failure.code, std::errc::invalid_argument) << failure;
    EXPECT_THAT(failure.message, HasSubstr("detect_deadlock"));
  };
  auto on_redisson = detecting;
  on_redisson.wire = wire::redisson;
  refused([&] { mutex{one_, "a", on_redisson}; });
  refused([&] { shared_mutex{one_, "a", on_redisson}; });
  refused([&] { expiring_semaphore{one_, "a", 3, detecting}; });
  refused([&] { election{one_, "a", detecting}; });
  refused([] {
    client voting{"redis+quorum://127.0.0.1:1,127.0.0.1:2,127.0.0.1:3"};
    quorum_mutex{voting, "a", detecting};
  });
  refused([&] {
    client without{server_.url(), {.scripts = script_calls::never}};
    mutex{without, "a", detecting};
  });
}

/// What happened, by one clock: who waited for which name, and who held which, from when until when.
class history {
 public:
  struct interval {
    int thread;
    std::string name;
    std::int64_t from;
    std::int64_t to = std::numeric_limits<std::int64_t>::max();
  };
  std::size_t begin(std::vector<interval>& of, int thread, std::string name) {
    std::scoped_lock const hold{guard_};
    of.push_back({thread, std::move(name), boot_now()});
    return of.size() - 1;
  }
  void end(std::vector<interval>& of, std::size_t index) {
    std::scoped_lock const hold{guard_};
    of[index].to = boot_now();
  }
  /// Whether this wait was part of a circle at any moment. One can only begin when a wait or a hold does.
  [[nodiscard]] bool was_in_a_circle(std::size_t wait) const {
    auto const& own = waits[wait];
    auto const at = [&](std::int64_t moment) {
      auto thread = own.thread;
      for (std::size_t steps = 0; steps != 100; ++steps) {
        auto const is_on = [&](interval const& each) { return each.from <= moment && moment <= each.to; };
        auto const waiting = std::ranges::find_if(
            waits, [&](interval const& each) { return each.thread == thread && is_on(each); });
        if (waiting == waits.end()) return false;
        auto const holding = std::ranges::find_if(
            holds, [&](interval const& each) { return each.name == waiting->name && is_on(each); });
        if (holding == holds.end()) return false;
        thread = holding->thread;
        if (thread == own.thread) return true;
      }
      return false;
    };
    auto const begins_one = [&](interval const& each) {
      return own.from <= each.from && each.from <= own.to && at(each.from);
    };
    return std::ranges::any_of(waits, begins_one) || std::ranges::any_of(holds, begins_one);
  }

  std::vector<interval> waits;
  std::vector<interval> holds;

 private:
  std::mutex guard_;
};

TEST_F(deadlock, is_never_a_false_alarm_and_always_ends) {
  constexpr auto threads = 6;
  auto const seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  // One of the processes has a network that stands still again and again.
  std::optional<flaky_proxy> network;
  if (topology_under_test() == topology::single) network.emplace(server_.socket_path());
  client slow{network ? network->url() : server_.url(), with_long_timeouts({})};
  std::jthread const weather{[&network, seed](std::stop_token const& over) {
    std::minstd_rand random{seed};
    while (network && !over.stop_requested()) {
      std::this_thread::sleep_for(std::chrono::milliseconds{random() % 1000});
      network->freeze();
      std::this_thread::sleep_for(std::chrono::milliseconds{random() % 1000});
      network->thaw();
    }
  }};
  std::array<client*, 3> const clients{&one_, &two_, &slow};
  std::vector<std::string> const names{"a", "b", "c"};
  history seen;
  std::vector<std::size_t> alarms;
  std::mutex guard;
  auto const until = boot_now() + 5'000'000'000;
  auto const work = [&](int number) {
    std::minstd_rand random{seed + static_cast<unsigned>(number)};
    auto const below = [&random](unsigned n) { return static_cast<unsigned>(random()) % n; };
    auto& own = *clients[static_cast<std::size_t>(number) % clients.size()];
    std::vector<mutex*> locks;
    std::list<mutex> all;
    for (auto const& name : names) locks.push_back(&all.emplace_back(own, name, detecting));
    /// Waits in one of several ways; nullopt: it gave up.
    auto const take = [&](mutex& wanted) -> std::optional<lease> {
      auto const wait = seen.begin(seen.waits, number, wanted.name());
      std::optional<lease> held;
      auto alarm = false;
      try {
        switch (below(10)) {
          case 0:
            held = wanted.try_acquire_for(std::chrono::milliseconds{below(6000)});
            break;
          case 1: {
            std::stop_source stop;
            std::jthread const later{[&stop, pause = std::chrono::milliseconds{below(6000)}] {
              std::this_thread::sleep_for(pause);
              stop.request_stop();
            }};
            held = wanted.acquire(stop.get_token());
            break;
          }
          default:
            held = wanted.acquire();
        }
      } catch (error const& problem) {
        alarm = problem.code() == errc::deadlock;
        EXPECT_TRUE(alarm || problem.code() == errc::cancelled) << problem.what();
      }
      seen.end(seen.waits, wait);
      if (alarm) {
        std::scoped_lock const hold{guard};
        alarms.push_back(wait);
      }
      return held;
    };
    while (boot_now() < until) {
      auto const first = below(3);
      auto const second = (first + 1 + below(2)) % 3;
      auto held = take(*locks[first]);
      if (!held) continue;
      auto const outer = seen.begin(seen.holds, number, names[first]);
      if (auto other = take(*locks[second])) {
        auto const inner = seen.begin(seen.holds, number, names[second]);
        std::this_thread::sleep_for(std::chrono::milliseconds{below(20)});
        seen.end(seen.holds, inner);
        other->release();
      }
      seen.end(seen.holds, outer);
      held->release();
    }
  };
  {
    std::vector<std::jthread> all;
    for (auto number = 0; number != threads; ++number) all.emplace_back(work, number);
  }
  for (auto const alarm : alarms) {
    auto const& wait = seen.waits[alarm];
    EXPECT_TRUE(seen.was_in_a_circle(alarm))
        << "thread " << wait.thread << " for " << wait.name << " from " << wait.from << " to " << wait.to;
  }
  RecordProperty("alarms", std::to_string(alarms.size()));
  EXPECT_TRUE(is_said(0));
}

}  // namespace
}  // namespace holdfast::test
