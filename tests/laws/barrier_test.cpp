/// holdfast::barrier: participants of many clients go on together, or are told together why they don't.
#include "waiting.hpp"

#include <holdfast/barrier.hpp>
#include <holdfast/inspect.hpp>
#include <holdfast/latch.hpp>

#include <gmock/gmock.h>
#include <future>
#include <latch>
#include <map>
#include <mutex>
#include <set>
#include <thread>

namespace holdfast::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string const arrived = "{step}:holdfast_arrived";

/// Clients that hear of a generation's end by message alone.
class meeting : public two_clients {
 protected:
  struct outcome {
    std::int64_t generation = 0;
    std::error_code code{};
    std::string text{};
  };
  /// Arrives in a thread of its own. The time is for tests that fail.
  [[nodiscard]] static std::future<outcome> arrive(barrier& at, std::stop_token stop = {}) {
    return std::async(std::launch::async, [&at, stop] {
      try {
        return outcome{.generation = at.try_arrive_and_wait_for(60s, stop).value_or(0)};
      } catch (error const& failure) {
        return outcome{.code = failure.code(), .text = failure.what()};
      }
    });
  }
  [[nodiscard]] static bool is_done(std::future<outcome> const& arrival) {
    return arrival.wait_for(0s) == std::future_status::ready;
  }
  [[nodiscard]] bool have_arrived(std::int64_t count) {
    return eventually([&] { return raw_.command({"ZCARD", arrived}).integer == count; });
  }
  /// Its client hears messages.
  [[nodiscard]] bool listening(std::int64_t count = 1) {
    return eventually([&] { return raw_.listeners("{step}:holdfast_inbox:all") >= count; });
  }

  /// So that a short time is spent at the barrier, and not until a cluster has said who serves it.
  static void connect(barrier& participant) {
    EXPECT_EQ(participant.try_arrive_and_wait_for(0s), std::nullopt);
  }

  barrier local_{first_client_, "step", 3};
  barrier remote_{second_client_, "step", 3};
};

TEST_F(meeting, opens_for_all_when_the_last_one_arrives) {
  auto first = arrive(local_);
  auto second = arrive(remote_);
  ASSERT_TRUE(have_arrived(2) && listening(2));
  EXPECT_FALSE(is_done(first));
  EXPECT_FALSE(is_done(second));
  auto const generation = local_.arrive_and_wait();
  EXPECT_GT(generation, 0);
  EXPECT_EQ(first.get().generation, generation);
  EXPECT_EQ(second.get().generation, generation);
  EXPECT_FALSE(raw_.exists(arrived));
}

TEST_F(meeting, goes_on_from_generation_to_generation) {
  std::vector<std::jthread> threads;
  std::mutex guard;
  std::map<std::int64_t, int> passed;
  constexpr int generations = 30;
  std::latch done{3};
  for (auto* const at : {&local_, &remote_, &remote_}) {
    threads.emplace_back([&, at] {
      for (int i = 0; i < generations; ++i) {
        auto const generation = at->arrive_and_wait();
        std::scoped_lock const hold{guard};
        ++passed[generation];
      }
      done.count_down();
    });
  }
  done.wait();
  EXPECT_EQ(passed.size(), generations);
  for (auto const& [generation, count] : passed) EXPECT_EQ(count, 3) << generation;
  EXPECT_EQ(passed.rbegin()->first - passed.begin()->first, generations - 1);
}

/// Whoever comes first makes up a generation: never with fewer than the parties.
TEST_F(meeting, never_opens_with_fewer_arrivals_than_parties_when_there_are_more_participants) {
  std::atomic<int> arriving = 0;
  std::mutex guard;
  std::map<std::int64_t, int> passed;
  std::stop_source enough;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 7; ++i) {
      threads.emplace_back([&, at = i % 2 == 0 ? &local_ : &remote_] {
        try {
          while (true) {
            auto const generation = at->arrive_and_wait(enough.get_token());
            std::scoped_lock const hold{guard};
            if (++passed[generation] == 3 && ++arriving == 40) enough.request_stop();
          }
        } catch (error const& end) {
          EXPECT_TRUE(end.code() == errc::cancelled || end.code() == errc::broken) << end.what();
        }
      });
    }
  }
  for (auto const& [generation, count] : passed) EXPECT_LE(count, 3) << generation;
  EXPECT_GE(arriving, 40);
  EXPECT_TRUE(have_arrived(0));
}

/// The last one arrives at the moment at which the time of the other is up.
TEST_F(meeting, opens_for_both_or_for_neither_when_a_time_is_up) {
  constexpr auto time = 3ms;
  for (int i = 0; i != 300; ++i) {
    auto const name = "step " + std::to_string(i);
    barrier waits{first_client_, name, 2};
    barrier comes_last{second_client_, name, 2};
    connect(waits);
    connect(comes_last);
    auto const start = std::chrono::steady_clock::now();
    auto first = std::async(std::launch::async, [&] { return waits.try_arrive_and_wait_for(time); });
    std::this_thread::sleep_until(start + time + std::chrono::microseconds{i});
    auto const second = comes_last.try_arrive_and_wait_for(0s);
    ASSERT_EQ(first.get(), second) << i;
  }
}

TEST_F(meeting, is_broken_for_all_when_one_is_cancelled_and_begins_again) {
  std::stop_source stop;
  auto first = arrive(local_);
  auto leaving = arrive(remote_, stop.get_token());
  ASSERT_TRUE(have_arrived(2) && listening(2));
  stop.request_stop();
  EXPECT_EQ(leaving.get().code, errc::cancelled);
  auto const told = first.get();
  EXPECT_EQ(told.code, errc::broken);
  EXPECT_THAT(told.text, AllOf(HasSubstr("the barrier \"step\""),
                               HasSubstr("pid " + std::to_string(getpid())), HasSubstr("has left")));
  auto again = arrive(local_);
  auto others = arrive(remote_);
  ASSERT_TRUE(have_arrived(2));
  auto const generation = remote_.arrive_and_wait();
  EXPECT_EQ(again.get().generation, generation);
  EXPECT_EQ(others.get().generation, generation);
}

TEST_F(meeting, is_broken_for_all_when_the_time_of_one_is_up) {
  connect(remote_);
  auto first = arrive(local_);
  ASSERT_TRUE(have_arrived(1) && listening());
  EXPECT_EQ(remote_.try_arrive_and_wait_for(200ms), std::nullopt);
  auto const told = first.get();
  EXPECT_EQ(told.code, errc::broken);
  EXPECT_THAT(told.text, HasSubstr("has waited for as long as it wanted to"));
  EXPECT_TRUE(have_arrived(0));
}

TEST_F(meeting, names_a_participant_without_effect_on_a_terminal) {
  connect(remote_);
  auto first = arrive(local_);
  ASSERT_TRUE(have_arrived(1) && listening());
  raw_.command({"ZADD", arrived, "1000", "somebody e\x1bv\xc2\x9bil"});
  EXPECT_EQ(remote_.try_arrive_and_wait_for(1ms), std::nullopt);
  EXPECT_THAT(first.get().text, HasSubstr(R"(e?v\xc2\x9bil wasn't heard of)"));
}

TEST_F(meeting, breaks_nothing_for_one_that_does_not_want_to_wait) {
  EXPECT_EQ(remote_.try_arrive_and_wait_for(0s), std::nullopt);
  auto first = arrive(local_);
  auto second = arrive(local_);
  ASSERT_TRUE(have_arrived(2));
  barrier other{second_client_, "step", 3};
  auto const generation = other.try_arrive_and_wait_for(0s);
  ASSERT_TRUE(generation);
  EXPECT_EQ(first.get().generation, *generation);
  EXPECT_EQ(second.get().generation, *generation);
}

TEST_F(meeting, is_broken_when_the_client_of_one_ends) {
  auto first = arrive(local_);
  client third{server_.url(), with_long_timeouts({.label = "nightly import"})};
  barrier theirs{third, "step", 3};
  auto leaving = arrive(theirs);
  ASSERT_TRUE(have_arrived(2) && listening(2));
  EXPECT_TRUE(third.shutdown(60s));
  EXPECT_EQ(leaving.get().code, errc::closed);
  auto const told = first.get();
  EXPECT_EQ(told.code, errc::broken);
  EXPECT_THAT(told.text, HasSubstr("'nightly import'"));
}

TEST_F(meeting, refuses_another_number_of_parties_and_names_both) {
  auto first = arrive(local_);
  ASSERT_TRUE(have_arrived(1));
  barrier larger{second_client_, "step", 5};
  EXPECT_EQ(code_of([&] { (void)larger.arrive_and_wait(); }), errc::wrong_type);
  EXPECT_THAT(message_of([&] { (void)larger.arrive_and_wait(); }),
              AllOf(HasSubstr("in use for 3 parties"), HasSubstr("this one is for 5")));
  auto second = arrive(remote_);
  auto third = arrive(remote_);
  EXPECT_GT(first.get().generation, 0);
  EXPECT_GT(second.get().generation, 0);
  EXPECT_GT(third.get().generation, 0);
}

TEST_F(meeting, opens_within_recheck_when_every_message_is_lost) {
  HOLDFAST_ON_ONE_SERVER("the proxy that loses messages stands before one");
  flaky_proxy proxy{server_.socket_path()};
  proxy.swallow_messages(true);
  client deaf{proxy.url(), with_long_timeouts({.recheck = 400ms})};
  barrier step{deaf, "step", 3};
  auto first = arrive(step);
  auto second = arrive(step);
  ASSERT_TRUE(have_arrived(2));
  auto const generation = local_.arrive_and_wait();
  EXPECT_EQ(first.get().generation, generation);
  EXPECT_EQ(second.get().generation, generation);
}

TEST_F(meeting, opens_by_polling_and_is_broken_by_one_that_polls_and_leaves) {
  barrier polling{second_client_, "step", 3, {.wake = wake::poll}};
  auto first = arrive(polling);
  auto second = arrive(polling);
  ASSERT_TRUE(have_arrived(2));
  auto const generation = local_.arrive_and_wait();
  EXPECT_EQ(first.get().generation, generation);
  EXPECT_EQ(second.get().generation, generation);
  std::stop_source stop;
  auto leaving = arrive(polling, stop.get_token());
  auto waiting = arrive(local_);
  ASSERT_TRUE(have_arrived(2) && listening());
  stop.request_stop();
  EXPECT_EQ(leaving.get().code, errc::cancelled);
  EXPECT_EQ(waiting.get().code, errc::broken);
}

TEST_F(meeting, calls_back) {
  auto first = arrive(local_);
  auto second = arrive(local_);
  ASSERT_TRUE(have_arrived(2));
  std::promise<std::int64_t> called;
  {
    barrier short_lived{second_client_, "step", 3};
    short_lived.async_arrive_and_wait([&called](std::int64_t generation, std::exception_ptr const& failure) {
      called.set_value(failure ? -1 : generation);
    });
  }
  EXPECT_EQ(called.get_future().get(), first.get().generation);
  EXPECT_GT(second.get().generation, 0);
}

TEST_F(meeting, is_for_nobody_who_hears_messages_that_are_not_true) {
  auto first = arrive(local_);
  auto second = arrive(local_);
  ASSERT_TRUE(have_arrived(2) && listening());
  for (auto const* const message : {"0", "1", "", "open!"})
    raw_.publish("{step}:holdfast_inbox:all", message);
  EXPECT_TRUE(always(100ms, [&] { return !is_done(first) && !is_done(second); }));
  (void)remote_.arrive_and_wait();
}

TEST_F(meeting, lets_one_party_pass_at_once) {
  barrier alone{first_client_, "alone", 1};
  auto const first = alone.arrive_and_wait();
  EXPECT_EQ(alone.arrive_and_wait(), first + 1);
}

TEST_F(meeting, and_other_kinds_of_the_same_name_say_what_each_other_is) {
  auto first = arrive(local_);
  ASSERT_TRUE(have_arrived(1));
  mutex lock{second_client_, "step"};
  EXPECT_EQ(code_of([&] { (void)lock.try_acquire(); }), errc::wrong_type);
  EXPECT_THAT(message_of([&] { (void)lock.acquire(); }), HasSubstr("holds a barrier, not a lock"));
  latch closed{second_client_, "step"};
  EXPECT_THAT(message_of([&] { (void)closed.try_set_count(1); }), HasSubstr("holds a barrier, not a latch"));
  latch other{second_client_, "other"};
  other.try_set_count(1);
  barrier misnamed{second_client_, "other", 2};
  EXPECT_EQ(code_of([&] { (void)misnamed.arrive_and_wait(); }), errc::wrong_type);
  EXPECT_THAT(message_of([&] { (void)misnamed.arrive_and_wait(); }),
              HasSubstr("holds a latch, not a barrier"));
  auto second = arrive(remote_);
  (void)remote_.arrive_and_wait();
  EXPECT_EQ(first.get().generation, second.get().generation);
}

TEST_F(meeting, is_shown_with_those_that_have_arrived_and_broken_by_force) {
  auto first = arrive(local_);
  ASSERT_TRUE(have_arrived(1) && listening());
  ASSERT_TRUE(has_record(first_client_, raw_));
  auto const state = inspect(second_client_, "step");
  EXPECT_EQ(state.kind, lock_kind::barrier);
  EXPECT_EQ(state.permits, 3);
  EXPECT_EQ(state.available, 2);
  EXPECT_GT(state.generation.value_or(0), 0);
  ASSERT_EQ(state.holders.size(), 1u);
  EXPECT_EQ(state.holders.front().side, hold_side::arrived);
  EXPECT_EQ(state.holders.front().process.pid, getpid());
  EXPECT_TRUE(state.holders.front().ttl_left);
  auto found = 0;
  for_each_lock(second_client_, "st*", [&found](lock_state const& each) {
    EXPECT_EQ(each.kind, lock_kind::barrier);
    return ++found != 0;
  });
  EXPECT_EQ(found, 1);
  EXPECT_EQ(force_release(second_client_, "step", {.owner = "somebody else"}), force_result::changed);
  EXPECT_EQ(force_release(second_client_, "step"), force_result::deleted);
  auto const told = first.get();
  EXPECT_EQ(told.code, errc::broken);
  EXPECT_THAT(told.text, HasSubstr("has broken it by force"));
  EXPECT_EQ(force_release(second_client_, "step"), force_result::not_held);
}

TEST_F(meeting, refuses_options_and_names_out_of_range) {
  auto const refused = std::errc::invalid_argument;
  EXPECT_EQ(code_of([&] { barrier const b{first_client_, "", 2}; }), refused);
  EXPECT_EQ(code_of([&] { barrier const b{first_client_, "b", 0}; }), refused);
  EXPECT_EQ(code_of([&] { barrier const b{first_client_, "b", 1'000'001}; }), refused);
  EXPECT_EQ(code_of([&] { barrier const b{first_client_, "b", 2, {.ttl = 99ms}}; }), refused);
  EXPECT_EQ(code_of([&] { barrier const b{first_client_, "b", 2, {.ttl = 61min}}; }), refused);
}

}  // namespace
}  // namespace holdfast::test
