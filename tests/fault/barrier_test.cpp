/// Participants of a barrier are killed and frozen, its server is emptied, and its requests are lost, sent
/// twice, and delivered late: all are told, and no generation opens with fewer than it needs.
#include "fault.hpp"

#include <holdfast/barrier.hpp>

#include <gmock/gmock.h>
#include <future>

#include "scripts/barrier.hpp"

namespace holdfast::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class barrier_fault : public fault {
 protected:
  using arrival = std::future<std::pair<std::int64_t, std::string>>;

  /// The generation, or the error.
  static arrival arrive(barrier& at, std::stop_token stop = {}) {
    return std::async(std::launch::async, [&at, stop] {
      try {
        auto const generation = at.try_arrive_and_wait_for(60s, stop);
        return std::pair{generation.value_or(0), std::string{generation ? "" : "its time was up"}};
      } catch (error const& failure) {
        return std::pair{std::int64_t{0}, std::string{failure.what()}};
      }
    });
  }
  [[nodiscard]] bool have_arrived(std::int64_t count) {
    return eventually([&] { return raw_.command({"ZCARD", "{step}:holdfast_arrived"}).integer == count; });
  }
  [[nodiscard]] worker participant() const {
    auto other = worker::session(server_.url(), "mutex_inbox", "m", 10s);
    other.write_line("arrive step 2 1000");
    return other;
  }
  void hold_back(script const& disturbed) {
    raw_.command({"SCRIPT", "LOAD", std::string{disturbed.text}});
    held_back_ = false;
    proxy_.decide([this, sha = std::string{disturbed.sha1}](request const& r) {
      if (held_back_ || !r.has(sha)) return fate::pass();
      held_back_ = true;
      return fate::hold_back();
    });
  }
  void deliver() {
    EXPECT_TRUE(held_back_);
    proxy_.deliver();
    EXPECT_TRUE(eventually([this] { return proxy_.held_back() == 0; }));
  }

  std::atomic<bool> held_back_ = false;
  flaky_proxy proxy_{server_.socket_path()};
  client redis_{server_.url(), with_long_timeouts()};
  client disturbed_{proxy_.url(), with_long_timeouts({.reply_timeout = 500ms, .cas = cas::lua})};
  barrier step_{redis_, "step", 2, {.ttl = 20s}};
  barrier disturbed_step_{disturbed_, "step", 2, {.ttl = 20s}};
};

TEST_F(barrier_fault, is_broken_by_a_killed_participant_whose_name_it_tells) {
  barrier three{redis_, "step", 3};
  auto waiting = arrive(three);
  ASSERT_TRUE(have_arrived(1));
  auto killed = worker::session(server_.url(), "mutex_inbox", "m", 10s);
  killed.write_line("arrive step 3 1000");
  ASSERT_TRUE(have_arrived(2));
  auto const pid = std::to_string(killed.pid());
  killed.kill9();
  EXPECT_THAT(waiting.get().second,
              AllOf(HasSubstr("is broken"), HasSubstr("wasn't heard of"), HasSubstr("pid " + pid)));
  EXPECT_TRUE(have_arrived(0));
}

TEST_F(barrier_fault, is_broken_by_a_frozen_participant_which_is_told_when_it_is_back) {
  barrier three{redis_, "step", 3};
  auto waiting = arrive(three);
  ASSERT_TRUE(have_arrived(1));
  auto frozen = worker::session(server_.url(), "mutex_inbox", "m", 10s);
  frozen.write_line("arrive step 3 1000");
  ASSERT_TRUE(have_arrived(2));
  frozen.freeze();
  EXPECT_THAT(waiting.get().second, HasSubstr("wasn't heard of"));
  auto first = arrive(three);
  auto second = arrive(three);
  ASSERT_TRUE(have_arrived(2));
  frozen.thaw();
  EXPECT_THAT(frozen.read_line(), AllOf(HasSubstr("is broken"), HasSubstr("wasn't heard of")));
  EXPECT_GT(three.arrive_and_wait(), 0);
  EXPECT_GT(first.get().first, 0);
  EXPECT_GT(second.get().first, 0);
}

TEST_F(barrier_fault, keeps_those_that_wait_for_longer_than_their_ttl) {
  auto other = participant();
  ASSERT_TRUE(have_arrived(1));
  auto const score = [this] {
    return raw_.command({"ZRANGE", "{step}:holdfast_arrived", "0", "0", "WITHSCORES"}).elements.at(1).text;
  };
  auto const before = std::stoll(score());
  ASSERT_TRUE(eventually([&] { return std::stoll(score()) > before + 2000; })) << "it is renewed";
  auto const generation = step_.arrive_and_wait();
  EXPECT_EQ(other.read_line(), "passed " + std::to_string(generation));
}

TEST_F(barrier_fault, is_broken_when_the_server_comes_back_empty) {
  barrier three{redis_, "step", 3};
  auto const waits = redis_.stats().waits;
  auto first = arrive(three);
  auto second = arrive(three);
  // Whoever hasn't heard yet that it has arrived arrives again.
  ASSERT_TRUE(eventually([&] { return redis_.stats().waits == waits + 2; }));
  server_.kill9();
  server_.start();
  EXPECT_THAT(first.get().second, HasSubstr("the server has lost who had arrived"));
  EXPECT_THAT(second.get().second, HasSubstr("the server has lost who had arrived"));
  raw_ = server_.raw();
  first = arrive(three);
  second = arrive(three);
  ASSERT_TRUE(have_arrived(2));
  auto const generation = three.arrive_and_wait();
  EXPECT_EQ(first.get().first, generation);
  EXPECT_EQ(second.get().first, generation);
}

TEST_F(barrier_fault, says_whose_time_was_up_before_it_had_an_answer) {
  barrier three{redis_, "step", 3};
  barrier disturbed_three{disturbed_, "step", 3};
  auto waiting = arrive(three);
  ASSERT_TRUE(have_arrived(1));
  proxy_.once([sha = scripts::barrier::arrive::source.sha1](request const& r) { return kind_of(r) == sha; },
              fate::delay_reply(200ms));
  EXPECT_EQ(disturbed_three.try_arrive_and_wait_for(20ms), std::nullopt);
  EXPECT_THAT(waiting.get().second, HasSubstr("has waited for as long as it wanted to"));
}

TEST_F(barrier_fault, counts_each_arrival_once_whatever_becomes_of_its_request) {
  auto loading = arrive(disturbed_step_);
  EXPECT_GT(step_.arrive_and_wait(), 0);  // loads the scripts
  std::int64_t last = 0;
  for (auto const& h : harms) {
    SCOPED_TRACE(h.title);
    for (auto const comes_last : {false, true}) {
      SCOPED_TRACE(comes_last ? "last" : "first");
      proxy_.once(
          [sha = scripts::barrier::arrive::source.sha1](request const& r) { return kind_of(r) == sha; },
          h.effect);
      auto first = arrive(comes_last ? step_ : disturbed_step_);
      ASSERT_TRUE(have_arrived(1));
      auto second = arrive(comes_last ? disturbed_step_ : step_);
      auto const one = first.get();
      auto const other = second.get();
      EXPECT_EQ(one.second + other.second, "");
      EXPECT_EQ(one.first, other.first);
      EXPECT_TRUE(last == 0 || one.first == last + 1) << one.first << " after " << last;
      last = one.first;
      EXPECT_TRUE(have_arrived(0));
    }
  }
  EXPECT_GE(disturbed_.stats().resent, 8u);
}

TEST_F(barrier_fault, is_broken_once_whatever_becomes_of_the_request_that_leaves) {
  auto loading = arrive(disturbed_step_);
  EXPECT_GT(step_.arrive_and_wait(), 0);
  barrier three{redis_, "three", 3};
  barrier disturbed_three{disturbed_, "three", 3};
  auto const arrived = [this](std::int64_t count) {
    return eventually([&] { return raw_.command({"ZCARD", "{three}:holdfast_arrived"}).integer == count; });
  };
  for (auto const& h : harms) {
    SCOPED_TRACE(h.title);
    std::stop_source stop;
    auto waiting = arrive(three);
    auto leaving = arrive(disturbed_three, stop.get_token());
    ASSERT_TRUE(arrived(2));
    proxy_.once([sha = scripts::barrier::leave::source.sha1](request const& r) { return kind_of(r) == sha; },
                h.effect);
    stop.request_stop();
    EXPECT_THAT(leaving.get().second, HasSubstr("cancelled"));
    EXPECT_THAT(waiting.get().second, HasSubstr("has left"));
    EXPECT_TRUE(arrived(0));
  }
}

TEST_F(barrier_fault, counts_no_late_copy_of_an_arrival_for_a_later_generation) {
  for (auto const kill_is_allowed : {true, false}) {
    SCOPED_TRACE(kill_is_allowed);
    if (!kill_is_allowed) raw_.command({"ACL", "SETUSER", "default", "-client|kill"});
    hold_back(scripts::barrier::arrive::source);
    auto first = arrive(disturbed_step_);
    ASSERT_TRUE(have_arrived(1));
    auto const generation = step_.arrive_and_wait();
    EXPECT_EQ(first.get().first, generation);
    deliver();
    EXPECT_TRUE(have_arrived(0)) << "the copy counts for nothing";
    auto next = arrive(step_);
    ASSERT_TRUE(have_arrived(1));
    EXPECT_EQ(disturbed_step_.arrive_and_wait(), generation + 1);
    EXPECT_EQ(next.get().first, generation + 1);
  }
}

TEST_F(barrier_fault, counts_no_late_copy_of_an_arrival_that_was_given_up) {
  raw_.command({"ACL", "SETUSER", "default", "-client|kill"});
  hold_back(scripts::barrier::arrive::source);
  std::stop_source stop;
  auto leaving = arrive(disturbed_step_, stop.get_token());
  ASSERT_TRUE(have_arrived(1));
  stop.request_stop();
  EXPECT_THAT(leaving.get().second, HasSubstr("cancelled"));
  ASSERT_TRUE(have_arrived(0));
  deliver();
  auto waiting = arrive(step_);
  ASSERT_TRUE(have_arrived(1)) << "the copy would be the second, and it would open";
  EXPECT_GT(disturbed_step_.arrive_and_wait(), 0);
  EXPECT_GT(waiting.get().first, 0);
}

}  // namespace
}  // namespace holdfast::test
