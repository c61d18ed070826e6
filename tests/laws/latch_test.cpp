/// A count over all clients, and the callers that wait for its end.
#include "waiting.hpp"

#include <holdfast/latch.hpp>

#include <gmock/gmock.h>
#include <thread>

namespace holdfast::test {
namespace {

std::string const latch_channel = "redisson_countdownlatch__channel__{ready}";

class closing : public two_clients {
 protected:
  latch local_{first_client_, "ready"};
  latch remote_{second_client_, "ready"};
};

TEST_F(closing, opens_for_all_when_two_clients_have_counted_it_down) {
  EXPECT_TRUE(local_.try_set_count(3));
  std::vector<pending_wait> all(6);
  for (std::size_t i = 0; i < all.size(); ++i) (i % 2 == 0 ? local_ : remote_).async_wait(all[i].handler());
  ASSERT_TRUE(waits_for(first_client_, latch_channel) && waits_for(second_client_, latch_channel));
  local_.count_down();
  remote_.count_down();
  EXPECT_EQ(local_.count(), 1);
  EXPECT_TRUE(always(100ms, [&] {
    return std::none_of(all.begin(), all.end(), [](pending_wait const& p) { return p.done(); });
  }));
  remote_.count_down();
  EXPECT_TRUE(eventually([&] {
    return std::all_of(all.begin(), all.end(), [](pending_wait const& p) { return p.succeeded(); });
  }));
  EXPECT_FALSE(raw_.exists("ready"));
}

TEST_F(closing, is_set_once_until_it_is_open) {
  EXPECT_TRUE(local_.try_set_count(1));
  EXPECT_FALSE(remote_.try_set_count(5));
  EXPECT_EQ(remote_.count(), 1);
  remote_.count_down();
  EXPECT_TRUE(remote_.try_set_count(5));
  EXPECT_EQ(local_.count(), 5);
}

TEST_F(closing, does_nothing_below_zero) {
  local_.count_down();
  EXPECT_EQ(local_.count(), 0);
  EXPECT_FALSE(raw_.exists("ready"));
  local_.try_set_count(2);
  local_.count_down(7);
  EXPECT_EQ(remote_.count(), 0);
  EXPECT_FALSE(raw_.exists("ready"));
  raw_.command({"SET", "ready", "-3"});
  EXPECT_EQ(remote_.count(), 0);
  EXPECT_TRUE(remote_.try_wait());
  remote_.wait();
}

TEST_F(closing, lets_through_at_once_while_it_is_open) {
  EXPECT_TRUE(local_.try_wait());
  local_.wait();
  EXPECT_TRUE(local_.wait_for(0s));
  local_.try_set_count(1);
  EXPECT_FALSE(local_.try_wait());
  EXPECT_FALSE(remote_.wait_for(0s));
  auto const start = boot_now();
  EXPECT_FALSE(remote_.wait_for(200ms));
  EXPECT_GE(boot_now() - start, 200'000'000);
  EXPECT_FALSE(remote_.wait_until(std::chrono::system_clock::now() - 1s));
}

TEST_F(closing, brings_threads_of_two_clients_together) {
  local_.try_set_count(4);
  std::atomic<int> through = 0;
  {
    std::vector<std::jthread> threads;
    for (auto* const gate : {&local_, &remote_, &local_}) {
      threads.emplace_back([&through, gate] {
        gate->arrive_and_wait();
        ++through;
      });
    }
    EXPECT_TRUE(eventually([&] { return remote_.count() == 1; }));
    EXPECT_EQ(through, 0);
    remote_.arrive_and_wait();
  }
  EXPECT_EQ(through, 3);
}

TEST_F(closing, is_opened_whatever_its_count) {
  EXPECT_FALSE(remote_.open());
  local_.try_set_count(100);
  pending_wait waiting;
  local_.async_wait(waiting.handler());
  ASSERT_TRUE(waits_for(first_client_, latch_channel));
  EXPECT_TRUE(remote_.open());
  EXPECT_TRUE(eventually([&] { return waiting.succeeded(); }));
  EXPECT_FALSE(raw_.exists("ready"));
}

TEST_F(closing, lets_through_within_recheck_when_its_key_is_deleted_by_hand) {
  client redis{server_.url(), with_long_timeouts({.recheck = 400ms})};
  latch closed{redis, "ready"};
  for (auto const& deletion :
       std::vector<std::vector<std::string>>{{"DEL", "ready"}, {"FLUSHALL"}, {"SET", "ready", "0"}}) {
    raw_.command({"SET", "ready", "7"});
    pending_wait waiting;
    closed.async_wait(waiting.handler());
    ASSERT_TRUE(waits_for(redis, latch_channel));
    EXPECT_TRUE(always(50ms, [&] { return !waiting.done(); }));
    raw_.command(deletion);
    EXPECT_TRUE(eventually([&] { return waiting.succeeded(); }));
  }
}

TEST_F(closing, lets_through_within_recheck_when_every_message_is_lost) {
  HOLDFAST_ON_ONE_SERVER("the proxy that loses messages stands before one");
  flaky_proxy proxy{server_.socket_path()};
  proxy.swallow_messages(true);
  client deaf{proxy.url(), with_long_timeouts({.recheck = 400ms})};
  latch closed{deaf, "ready"};
  local_.try_set_count(1);
  pending_wait waiting;
  closed.async_wait(waiting.handler());
  ASSERT_TRUE(waits_for(deaf, latch_channel));
  local_.count_down();
  EXPECT_TRUE(eventually([&] { return waiting.succeeded(); }));
}

TEST_F(closing, lets_through_by_polling) {
  client polling{server_.url(), with_long_timeouts()};
  latch closed{polling, "ready", {.wake = wake::poll}};
  local_.try_set_count(1);
  pending_wait waiting;
  closed.async_wait(waiting.handler());
  ASSERT_TRUE(eventually([&] { return polling.stats().rechecks >= 3; }));
  local_.count_down();
  EXPECT_TRUE(eventually([&] { return waiting.succeeded(); }));
}

TEST_F(closing, is_not_opened_by_messages_that_say_so_without_being_true) {
  local_.try_set_count(1);
  pending_wait waiting;
  local_.async_wait(waiting.handler());
  ASSERT_TRUE(waits_for(first_client_, latch_channel));
  for (auto const* const message : {"0", "1", "", "open!"}) raw_.publish(latch_channel, message);
  EXPECT_TRUE(always(100ms, [&] { return !waiting.done(); }));
  remote_.count_down();
  EXPECT_TRUE(eventually([&] { return waiting.succeeded(); }));
}

TEST_F(closing, lets_a_waiter_go_that_is_cancelled) {
  local_.try_set_count(1);
  std::stop_source stop;
  pending_wait waiting;
  local_.async_wait(waiting.handler(), stop.get_token());
  ASSERT_TRUE(waits_for(first_client_, latch_channel));
  stop.request_stop();
  EXPECT_TRUE(eventually([&] { return waiting.failed(); }));
  EXPECT_EQ(code_of([&] { local_.wait(stop.get_token()); }), errc::cancelled);
  EXPECT_EQ(local_.count(), 1);
}

TEST_F(closing, refuses_counts_and_names_out_of_range) {
  EXPECT_EQ(code_of([&] { (void)local_.try_set_count(-1); }), std::errc::invalid_argument);
  EXPECT_EQ(code_of([&] { local_.count_down(0); }), std::errc::invalid_argument);
  EXPECT_EQ(code_of([&] { latch const l{first_client_, ""}; }), std::errc::invalid_argument);
  EXPECT_EQ(code_of([&] { latch const l{first_client_, "a}b"}; }), std::errc::invalid_argument);
}

TEST_F(closing, says_what_it_found_under_its_name) {
  raw_.command({"SET", "ready", "steady"});
  for (auto const& call : std::vector<std::function<void()>>{
           [&] { local_.wait(); }, [&] { local_.count_down(); }, [&] { (void)local_.count(); },
           [&] { (void)local_.open(); }, [&] { (void)local_.try_set_count(1); }}) {
    EXPECT_EQ(code_of(call), errc::wrong_type);
    EXPECT_THAT(message_of(call),
                testing::AllOf(testing::HasSubstr("\"ready\""), testing::HasSubstr("text that is no number"),
                               testing::HasSubstr("not the count of a latch")));
  }
}

}  // namespace
}  // namespace holdfast::test
