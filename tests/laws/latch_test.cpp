/// A count over all clients, and those who wait for its end.
#include "waiting.hpp"

#include <holdfast/latch.hpp>

#include <gmock/gmock.h>
#include <thread>

namespace holdfast::test {
namespace {

std::string const latch_channel = "redisson_countdownlatch__channel__{ready}";

class closing : public apart {
 protected:
  latch here_{one_, "ready"};
  latch there_{two_, "ready"};
};

TEST_F(closing, opens_for_all_when_two_clients_have_counted_it_down) {
  EXPECT_TRUE(here_.try_set_count(3));
  std::vector<passing> all(6);
  for (std::size_t i = 0; i < all.size(); ++i) (i % 2 == 0 ? here_ : there_).async_wait(all[i].handler());
  ASSERT_TRUE(waits_for(one_, latch_channel) && waits_for(two_, latch_channel));
  here_.count_down();
  there_.count_down();
  EXPECT_EQ(here_.count(), 1);
  EXPECT_TRUE(always(100ms, [&] {
    return std::none_of(all.begin(), all.end(), [](passing const& p) { return p.done(); });
  }));
  there_.count_down();
  EXPECT_TRUE(eventually(
      [&] { return std::all_of(all.begin(), all.end(), [](passing const& p) { return p.got(); }); }));
  EXPECT_FALSE(raw_.exists("ready"));
}

TEST_F(closing, is_set_once_until_it_is_open) {
  EXPECT_TRUE(here_.try_set_count(1));
  EXPECT_FALSE(there_.try_set_count(5));
  EXPECT_EQ(there_.count(), 1);
  there_.count_down();
  EXPECT_TRUE(there_.try_set_count(5));
  EXPECT_EQ(here_.count(), 5);
}

TEST_F(closing, does_nothing_below_zero) {
  here_.count_down();
  EXPECT_EQ(here_.count(), 0);
  EXPECT_FALSE(raw_.exists("ready"));
  here_.try_set_count(2);
  here_.count_down(7);
  EXPECT_EQ(there_.count(), 0);
  EXPECT_FALSE(raw_.exists("ready"));
  raw_.command({"SET", "ready", "-3"});
  EXPECT_EQ(there_.count(), 0);
  EXPECT_TRUE(there_.try_wait());
  there_.wait();
}

TEST_F(closing, lets_through_at_once_while_it_is_open) {
  EXPECT_TRUE(here_.try_wait());
  here_.wait();
  EXPECT_TRUE(here_.wait_for(0s));
  here_.try_set_count(1);
  EXPECT_FALSE(here_.try_wait());
  EXPECT_FALSE(there_.wait_for(0s));
  auto const from = boot_now();
  EXPECT_FALSE(there_.wait_for(200ms));
  EXPECT_GE(boot_now() - from, 200'000'000);
  EXPECT_FALSE(there_.wait_until(std::chrono::system_clock::now() - 1s));
}

TEST_F(closing, brings_threads_of_two_clients_together) {
  here_.try_set_count(4);
  std::atomic<int> through = 0;
  {
    std::vector<std::jthread> threads;
    for (auto* const at : {&here_, &there_, &here_}) {
      threads.emplace_back([&through, at] {
        at->arrive_and_wait();
        ++through;
      });
    }
    EXPECT_TRUE(eventually([&] { return there_.count() == 1; }));
    EXPECT_EQ(through, 0);
    there_.arrive_and_wait();
  }
  EXPECT_EQ(through, 3);
}

TEST_F(closing, is_opened_whatever_its_count) {
  EXPECT_FALSE(there_.open());
  here_.try_set_count(100);
  passing waiting;
  here_.async_wait(waiting.handler());
  ASSERT_TRUE(waits_for(one_, latch_channel));
  EXPECT_TRUE(there_.open());
  EXPECT_TRUE(eventually([&] { return waiting.got(); }));
  EXPECT_FALSE(raw_.exists("ready"));
}

TEST_F(closing, lets_through_within_recheck_when_its_key_is_deleted_by_hand) {
  client redis{server_.url(), unhurried({.recheck = 400ms})};
  latch closed{redis, "ready"};
  for (auto const& deletion :
       std::vector<std::vector<std::string>>{{"DEL", "ready"}, {"FLUSHALL"}, {"SET", "ready", "0"}}) {
    raw_.command({"SET", "ready", "7"});
    passing waiting;
    closed.async_wait(waiting.handler());
    ASSERT_TRUE(waits_for(redis, latch_channel));
    EXPECT_TRUE(always(50ms, [&] { return !waiting.done(); }));
    raw_.command(deletion);
    EXPECT_TRUE(eventually([&] { return waiting.got(); }));
  }
}

TEST_F(closing, lets_through_within_recheck_when_every_message_is_lost) {
  HOLDFAST_ON_ONE_SERVER("the proxy that loses messages stands before one");
  flaky_proxy proxy{server_.socket_path()};
  proxy.swallow_messages(true);
  client deaf{proxy.url(), unhurried({.recheck = 400ms})};
  latch closed{deaf, "ready"};
  here_.try_set_count(1);
  passing waiting;
  closed.async_wait(waiting.handler());
  ASSERT_TRUE(waits_for(deaf, latch_channel));
  here_.count_down();
  EXPECT_TRUE(eventually([&] { return waiting.got(); }));
}

TEST_F(closing, lets_through_by_polling) {
  client polling{server_.url(), unhurried()};
  latch closed{polling, "ready", {.wake = wake::poll}};
  here_.try_set_count(1);
  passing waiting;
  closed.async_wait(waiting.handler());
  ASSERT_TRUE(eventually([&] { return polling.stats().rechecks >= 3; }));
  here_.count_down();
  EXPECT_TRUE(eventually([&] { return waiting.got(); }));
}

TEST_F(closing, is_not_opened_by_messages_that_say_so_without_being_true) {
  here_.try_set_count(1);
  passing waiting;
  here_.async_wait(waiting.handler());
  ASSERT_TRUE(waits_for(one_, latch_channel));
  for (auto const* const words : {"0", "1", "", "open!"}) raw_.publish(latch_channel, words);
  EXPECT_TRUE(always(100ms, [&] { return !waiting.done(); }));
  there_.count_down();
  EXPECT_TRUE(eventually([&] { return waiting.got(); }));
}

TEST_F(closing, lets_a_waiter_go_that_is_cancelled) {
  here_.try_set_count(1);
  std::stop_source stop;
  passing waiting;
  here_.async_wait(waiting.handler(), stop.get_token());
  ASSERT_TRUE(waits_for(one_, latch_channel));
  stop.request_stop();
  EXPECT_TRUE(eventually([&] { return waiting.failed(); }));
  EXPECT_EQ(code_of([&] { here_.wait(stop.get_token()); }), errc::cancelled);
  EXPECT_EQ(here_.count(), 1);
}

TEST_F(closing, refuses_counts_and_names_out_of_range) {
  EXPECT_EQ(code_of([&] { (void)here_.try_set_count(-1); }), std::errc::invalid_argument);
  EXPECT_EQ(code_of([&] { here_.count_down(0); }), std::errc::invalid_argument);
  EXPECT_EQ(code_of([&] { latch const l{one_, ""}; }), std::errc::invalid_argument);
  EXPECT_EQ(code_of([&] { latch const l{one_, "a}b"}; }), std::errc::invalid_argument);
}

TEST_F(closing, says_what_it_found_under_its_name) {
  raw_.command({"SET", "ready", "steady"});
  for (auto const& call : std::vector<std::function<void()>>{
           [&] { here_.wait(); }, [&] { here_.count_down(); }, [&] { (void)here_.count(); },
           [&] { (void)here_.open(); }, [&] { (void)here_.try_set_count(1); }}) {
    EXPECT_EQ(code_of(call), errc::wrong_type);
    EXPECT_THAT(words_of(call),
                testing::AllOf(testing::HasSubstr("\"ready\""), testing::HasSubstr("text that is no number"),
                               testing::HasSubstr("not the count of a latch")));
  }
}

}  // namespace
}  // namespace holdfast::test
