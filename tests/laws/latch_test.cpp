/// A count over all clients, and the callers that wait for its end; on either wire.
#include "waiting.hpp"

#include <holdfast/inspect.hpp>
#include <holdfast/latch.hpp>

#include <gmock/gmock.h>
#include <thread>

namespace holdfast::test {
namespace {

class closing : public two_clients, public testing::WithParamInterface<wire> {
 protected:
  [[nodiscard]] bool on_redisson() const { return GetParam() == wire::redisson; }
  [[nodiscard]] latch latch_of(client& redis, latch_options options = {}) const {
    options.wire = GetParam();
    return latch{redis, "ready", options};
  }

  std::string const latch_channel =
      on_redisson() ? "redisson_countdownlatch__channel__{ready}" : "{ready}:holdfast_inbox:all";
  latch local_ = latch_of(first_client_);
  latch remote_ = latch_of(second_client_);
};

INSTANTIATE_TEST_SUITE_P(every, closing, testing::Values(wire::plain, wire::redisson),
                         [](testing::TestParamInfo<wire> const& info) {
                           return std::string{info.param == wire::plain ? "plain" : "redisson"};
                         });

TEST_P(closing, opens_for_all_when_two_clients_have_counted_it_down) {
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

TEST_P(closing, is_set_once_until_it_is_open) {
  EXPECT_TRUE(local_.try_set_count(1));
  EXPECT_FALSE(remote_.try_set_count(5));
  EXPECT_EQ(remote_.count(), 1);
  remote_.count_down();
  EXPECT_TRUE(remote_.try_set_count(5));
  EXPECT_EQ(local_.count(), 5);
}

TEST_P(closing, does_nothing_below_zero) {
  local_.count_down();
  EXPECT_EQ(local_.count(), 0);
  EXPECT_FALSE(raw_.exists("ready"));
  local_.try_set_count(2);
  local_.count_down(7);
  EXPECT_EQ(remote_.count(), 0);
  EXPECT_FALSE(raw_.exists("ready"));
  if (!on_redisson()) return;
  raw_.command({"SET", "ready", "-3"});
  EXPECT_EQ(remote_.count(), 0);
  EXPECT_TRUE(remote_.try_wait());
  remote_.wait();
}

TEST_P(closing, lets_through_at_once_while_it_is_open) {
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

TEST_P(closing, brings_threads_of_two_clients_together) {
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

TEST_P(closing, is_opened_whatever_its_count) {
  EXPECT_FALSE(remote_.open());
  local_.try_set_count(100);
  pending_wait waiting;
  local_.async_wait(waiting.handler());
  ASSERT_TRUE(waits_for(first_client_, latch_channel));
  EXPECT_TRUE(remote_.open());
  EXPECT_TRUE(eventually([&] { return waiting.succeeded(); }));
  EXPECT_FALSE(raw_.exists("ready"));
}

TEST_P(closing, lets_through_within_recheck_when_its_key_is_deleted_by_hand) {
  client redis{server_.url(), with_long_timeouts({.recheck = 400ms})};
  auto closed = latch_of(redis);
  std::vector<std::vector<std::string>> deletions{{"DEL", "ready"}, {"FLUSHALL"}};
  if (on_redisson()) deletions.push_back({"SET", "ready", "0"});
  for (auto const& deletion : deletions) {
    ASSERT_TRUE(local_.try_set_count(7));
    pending_wait waiting;
    closed.async_wait(waiting.handler());
    ASSERT_TRUE(waits_for(redis, latch_channel));
    EXPECT_TRUE(always(50ms, [&] { return !waiting.done(); }));
    raw_.command(deletion);
    EXPECT_TRUE(eventually([&] { return waiting.succeeded(); }));
  }
}

TEST_P(closing, lets_through_within_recheck_when_every_message_is_lost) {
  HOLDFAST_ON_ONE_SERVER("the proxy that loses messages stands before one");
  flaky_proxy proxy{server_.socket_path()};
  proxy.swallow_messages(true);
  client deaf{proxy.url(), with_long_timeouts({.recheck = 400ms})};
  auto closed = latch_of(deaf);
  local_.try_set_count(1);
  pending_wait waiting;
  closed.async_wait(waiting.handler());
  ASSERT_TRUE(waits_for(deaf, latch_channel));
  local_.count_down();
  EXPECT_TRUE(eventually([&] { return waiting.succeeded(); }));
}

TEST_P(closing, lets_through_by_polling) {
  client polling{server_.url(), with_long_timeouts()};
  auto closed = latch_of(polling, {.wake = wake::poll});
  local_.try_set_count(1);
  pending_wait waiting;
  closed.async_wait(waiting.handler());
  ASSERT_TRUE(eventually([&] { return polling.stats().rechecks >= 3; }));
  local_.count_down();
  EXPECT_TRUE(eventually([&] { return waiting.succeeded(); }));
}

TEST_P(closing, is_not_opened_by_messages_that_say_so_without_being_true) {
  local_.try_set_count(1);
  pending_wait waiting;
  local_.async_wait(waiting.handler());
  ASSERT_TRUE(waits_for(first_client_, latch_channel));
  for (auto const* const message : {"0", "1", "", "open!"}) raw_.publish(latch_channel, message);
  EXPECT_TRUE(always(100ms, [&] { return !waiting.done(); }));
  remote_.count_down();
  EXPECT_TRUE(eventually([&] { return waiting.succeeded(); }));
}

TEST_P(closing, lets_a_waiter_go_that_is_cancelled) {
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

TEST_P(closing, refuses_counts_and_names_out_of_range) {
  EXPECT_EQ(code_of([&] { (void)local_.try_set_count(-1); }), std::errc::invalid_argument);
  EXPECT_EQ(code_of([&] { local_.count_down(0); }), std::errc::invalid_argument);
  EXPECT_EQ(code_of([&] { latch const l{first_client_, ""}; }), std::errc::invalid_argument);
  if (!on_redisson()) return;
  EXPECT_EQ(code_of([&] { latch const l{first_client_, "a}b", {.wire = wire::redisson}}; }),
            std::errc::invalid_argument);
}

TEST_P(closing, says_what_it_found_under_its_name) {
  raw_.command({"SET", "ready", "steady"});
  for (auto const& call : std::vector<std::function<void()>>{
           [&] { local_.wait(); }, [&] { local_.count_down(); }, [&] { (void)local_.count(); },
           [&] { (void)local_.open(); }, [&] { (void)local_.try_set_count(1); }}) {
    EXPECT_EQ(code_of(call), errc::wrong_type);
    EXPECT_THAT(
        message_of(call),
        testing::AllOf(testing::HasSubstr("\"ready\""), testing::HasSubstr("text of something else"),
                       testing::HasSubstr(on_redisson() ? "not the count of a latch" : "not a latch")));
  }
}

TEST_P(closing, counts_each_named_participant_once_also_from_another_process) {
  local_.try_set_count(2);
  if (on_redisson()) {
    EXPECT_EQ(code_of([&] { (void)local_.count_down("shard-7"); }), std::errc::invalid_argument);
    return;
  }
  EXPECT_TRUE(local_.count_down("shard-7"));
  EXPECT_FALSE(local_.count_down("shard-7"));
  EXPECT_FALSE(remote_.count_down("shard-7"));
  EXPECT_EQ(remote_.count(), 1);
  EXPECT_TRUE(remote_.count_down("shard-8"));
  EXPECT_TRUE(local_.try_wait());
  EXPECT_FALSE(local_.count_down("shard-9")) << "it is open";
  EXPECT_TRUE(local_.try_set_count(2));
  EXPECT_TRUE(local_.count_down("shard-7")) << "that was another time";
  EXPECT_EQ(code_of([&] { (void)local_.count_down(""); }), std::errc::invalid_argument);
}

TEST_P(closing, fails_all_that_wait_when_its_time_is_over) {
  if (on_redisson()) {
    EXPECT_EQ(code_of([&] { (void)latch_of(first_client_, {.expires_after = 1s}); }),
              std::errc::invalid_argument);
    return;
  }
  auto hasty = latch_of(first_client_, {.expires_after = 2s});
  EXPECT_TRUE(hasty.try_set_count(2));
  hasty.count_down("shard-7");
  pending_wait waiting;
  remote_.async_wait(waiting.handler());
  EXPECT_EQ(code_of([&] { local_.wait(); }), errc::expired);
  EXPECT_THAT(message_of([&] { local_.wait(); }), testing::HasSubstr("1 of 2 still to be counted"));
  EXPECT_TRUE(eventually([&] { return waiting.failed(); }));
  EXPECT_EQ(code_of([&] { (void)remote_.try_wait(); }), errc::expired);
  EXPECT_EQ(code_of([&] { (void)remote_.count_down("shard-8"); }), errc::expired);
  EXPECT_TRUE(local_.try_set_count(1));
  EXPECT_EQ(remote_.count(), 1);
  EXPECT_TRUE(remote_.count_down("shard-7"));
  remote_.wait();
}

TEST_P(closing, is_shown_with_those_that_have_counted_it_down) {
  if (on_redisson()) return;
  local_.try_set_count(3);
  local_.count_down("shard-7");
  local_.count_down();
  auto const state = inspect(second_client_, "ready");
  EXPECT_EQ(state.kind, lock_kind::latch);
  EXPECT_EQ(state.available, 1);
  EXPECT_EQ(state.permits, 3);
  EXPECT_FALSE(state.ttl_left);
  ASSERT_EQ(state.holders.size(), 2u);
  EXPECT_EQ(state.holders[0].process.owner, "shard-7");
  EXPECT_EQ(state.holders[0].side, hold_side::arrived);
  EXPECT_TRUE(state.holders[1].process.owner.starts_with(first_client_.uuid()));
  auto found = 0;
  for_each_lock(second_client_, "rea*", [&found](lock_state const& each) {
    EXPECT_EQ(each.kind, lock_kind::latch);
    return ++found != 0;
  });
  EXPECT_EQ(found, 1);
  EXPECT_EQ(force_release(second_client_, "ready"), force_result::refused_counter);
}

TEST_P(closing, and_a_lock_of_the_same_name_say_what_each_other_is) {
  if (on_redisson()) return;
  mutex lock{first_client_, "ready"};
  local_.try_set_count(1);
  for (auto const& call :
       std::vector<std::function<void()>>{[&] { (void)lock.try_acquire(); }, [&] { (void)lock.acquire(); }}) {
    EXPECT_EQ(code_of(call), errc::wrong_type);
    EXPECT_THAT(message_of(call), testing::HasSubstr("holds a latch, not a lock"));
  }
  local_.open();
  auto const held = lock.acquire();
  EXPECT_EQ(code_of([&] { local_.wait(); }), errc::wrong_type);
  EXPECT_THAT(message_of([&] { local_.count_down(); }), testing::HasSubstr("holds a lock, not a latch"));
}

}  // namespace
}  // namespace holdfast::test
