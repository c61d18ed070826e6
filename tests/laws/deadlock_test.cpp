/// lock_options::detect_deadlock: circles of threads that wait for one another's locks, and no others.
#include "deadlocking.hpp"

#include <holdfast/deadlock.hpp>
#include <holdfast/election.hpp>
#include <holdfast/expiring_semaphore.hpp>
#include <holdfast/multi_mutex.hpp>
#include <holdfast/shared_mutex.hpp>

#include <gmock/gmock.h>

#include "script/names.hpp"

namespace holdfast::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

TEST_F(deadlock, of_two_processes_fails_at_the_younger_wait_and_is_spelt_out) {
  mutex a_of_one{one_, "a", detecting};
  mutex b_of_one{one_, "b", detecting};
  mutex a_of_two{two_, "a", detecting};
  mutex b_of_two{two_, "b", detecting};
  auto first = take(a_of_one, b_of_one);
  auto second = take(b_of_two, a_of_two);
  ASSERT_TRUE(has_record(one_, raw_) && has_record(two_, raw_));
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
  ASSERT_TRUE(has_record(one_, raw_) && has_record(two_, raw_) && has_record(three_, raw_));
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
  ASSERT_TRUE(has_record(one_, raw_) && has_record(two_, raw_));
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

}  // namespace
}  // namespace holdfast::test
