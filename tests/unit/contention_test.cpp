// The waiting loop with a backend that records: which requests it sends, and who gets the lock.

#include "unit/a_contention.hpp"
#include "wire/plain/fair.hpp"

namespace holdfast::engine {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST_F(a_contention, gives_a_free_lock_with_one_request) {
  auto const& caller = start();
  EXPECT_THAT(backend_.take_sent(), ElementsAre("acquire 1"));
  backend_.answer(granted_from(500));
  ASSERT_TRUE(caller.lease);
  EXPECT_EQ(caller.times_finished, 1);
  EXPECT_EQ(caller.lease->token(), 500);
  EXPECT_EQ(queue_->holder, caller.lease.get());
}

TEST_F(a_contention, has_one_request_for_all_callers_of_a_name) {
  start();
  start();
  start();
  EXPECT_THAT(backend_.take_sent(), ElementsAre("acquire 1"));
}

TEST_F(a_contention, gives_back_by_force_what_was_to_be_kept_though_its_request_is_answered_later) {
  auto& caller = start({.keep = true});
  backend_.answer(busy_for(10s));
  open_channels();
  backend_.answer(busy_for(10s));
  message("woken 1 orders");
  message("granted 1 101 1 orders");
  ASSERT_TRUE(caller.lease);
  loop_of_client_.ends.lose(*caller.lease, loss_cause::forced, boot_clock::now());
  (void)backend_.take_sent();
  backend_.answer(granted_from(102));
  EXPECT_THAT(backend_.take_sent(), ElementsAre("abandon 1"));
}

TEST_F(a_contention, hands_the_lock_over_without_a_request) {
  auto& first = start();
  auto const& second = start();
  backend_.answer(granted_from(500));
  (void)backend_.take_sent();
  EXPECT_FALSE(second.lease);
  EXPECT_EQ(release(first), release_result::released);
  EXPECT_THAT(backend_.take_sent(), IsEmpty());
  ASSERT_TRUE(second.lease);
  EXPECT_EQ(second.lease->token(), 501);
}

TEST_F(a_contention, releases_a_lock_that_nobody_here_wants) {
  auto& caller = start();
  backend_.answer(granted_from(500));
  (void)backend_.take_sent();
  (void)release(caller);
  EXPECT_THAT(backend_.take_sent(), ElementsAre("fast release orders"));
  EXPECT_EQ(queue_->holder, nullptr);
}

TEST_F(a_contention, asks_again_once_its_channel_is_open_and_then_sleeps) {
  start();
  backend_.answer(busy_for(10s));
  EXPECT_THAT(backend_.take_sent(), ElementsAre("acquire 1"));
  open_channels();
  EXPECT_THAT(backend_.take_sent(), ElementsAre("acquire 1"));
  backend_.answer(busy_for(10s));
  EXPECT_THAT(backend_.take_sent(), IsEmpty());
  pass(1s);
  EXPECT_THAT(backend_.take_sent(), testing::Contains("acquire 1")) << "a message may have been lost";
}

TEST_F(a_contention, asks_about_all_soon_and_not_while_it_walks_over_its_callers) {
  start_and_sleep();
  loop_of_client_.requests.send_all_soon(boot_clock::now());
  EXPECT_THAT(backend_.take_sent(), IsEmpty()) << "the answer of a try may begin another contender";
  pass(0s);
  EXPECT_THAT(backend_.take_sent(), ElementsAre("acquire 1"));
}

TEST_F(a_contention, asks_when_it_is_woken) {
  start_and_sleep();
  message("woken 1 orders");
  EXPECT_THAT(backend_.take_sent(), ElementsAre("acquire 1"));
  message("woken 1 orders");
  EXPECT_THAT(backend_.take_sent(), IsEmpty()) << "a request is under way";
  backend_.answer(busy_for(10s));
  EXPECT_THAT(backend_.take_sent(), ElementsAre("acquire 1")) << "the message came after that request";
}

TEST_F(a_contention, takes_a_grant_by_message_without_a_request) {
  auto const& caller = start_and_sleep();
  message("granted 1 101 1 orders");
  ASSERT_TRUE(caller.lease);
  EXPECT_TRUE(caller.lease->provisional);
  EXPECT_EQ(stats_.granted, 1u);
  EXPECT_THAT(backend_.take_sent(), IsEmpty());
}

TEST_F(a_contention, asks_about_a_grant_that_may_be_an_old_one) {
  auto const& caller = start_and_sleep();
  message("granted 1 100 1 orders");
  EXPECT_FALSE(caller.lease);
  EXPECT_THAT(backend_.take_sent(), ElementsAre("acquire 1"));
}

TEST_F(a_contention, releases_nothing_when_the_response_comes_after_the_message) {
  auto const& caller = start_and_sleep();
  message("woken 1 orders");
  message("granted 1 101 1 orders");
  ASSERT_TRUE(caller.lease);
  (void)backend_.take_sent();
  backend_.answer(granted_from(101));
  EXPECT_THAT(backend_.take_sent(), IsEmpty());
}

TEST_F(a_contention, waits_for_the_first_reply_beyond_the_time_of_a_caller_but_not_for_ever) {
  auto& caller = start();
  caller.time_up.set([&] { loop_of_client_.membership.on_time_up(caller, boot_clock::now()); });
  caller.last_look = boot_clock::now() + 75ms;
  loop_.arm(caller.time_up, boot_clock::now() + 100ms);
  pass(100ms);
  EXPECT_EQ(caller.times_finished, 0);
  pass(client_.options.connect_timeout + client_.options.reply_timeout);
  ASSERT_EQ(caller.times_finished, 1);
  ASSERT_TRUE(caller.failure) << "a server that didn't answer is no busy lock";
  EXPECT_EQ(caller.failure->code(), errc::unreachable);
}

TEST_F(a_contention, lets_the_reply_under_way_decide_where_replicas_have_to_acknowledge) {
  auto& caller = start({.replicas = 1});
  caller.time_up.set([&] { loop_of_client_.membership.on_time_up(caller, boot_clock::now()); });
  backend_.answer(busy_for(10s));
  backend_.reply(resp::make_integer(1));
  open_channels();
  caller.last_look = boot_clock::now() + 1ms;
  loop_.arm(caller.time_up, boot_clock::now() + 1ms);
  pass(1ms);
  EXPECT_EQ(caller.times_finished, 0) << "whether it hears of missing replicas must not depend on timing";
  backend_.answer(granted_from(500));
  backend_.reply(resp::make_integer(0));
  ASSERT_EQ(caller.times_finished, 1);
  ASSERT_TRUE(caller.failure);
  EXPECT_EQ(caller.failure->code(), errc::unreplicated);
}

TEST_F(a_contention, gives_back_what_comes_when_no_caller_is_left) {
  auto& caller = start();
  loop_of_client_.membership.leave(caller, boot_clock::now());
  EXPECT_EQ(caller.times_finished, 1);
  (void)backend_.take_sent();
  backend_.answer(granted_from(500));
  EXPECT_THAT(backend_.take_sent(), ElementsAre("abandon 1"));
}

TEST_F(a_contention, leaves_the_servers_queue_with_its_last_caller) {
  auto& caller = start_and_sleep();
  loop_of_client_.membership.leave(caller, boot_clock::now());
  EXPECT_THAT(backend_.take_sent(), ElementsAre("abandon 1"));
  EXPECT_FALSE(queue_->contender);
}

TEST_F(a_contention, closes_its_channel_some_time_after_its_last_caller) {
  auto& caller = start_and_sleep();
  loop_of_client_.membership.leave(caller, boot_clock::now());
  EXPECT_FALSE(backend_.channels.empty()) << "the next caller may come soon";
  pass(3s);
  EXPECT_TRUE(backend_.channels.empty());
}

TEST_F(a_contention, tells_a_try_at_once_that_the_lock_is_known_to_be_busy) {
  start_and_sleep();
  auto const& caller = start_try();
  EXPECT_EQ(caller.times_finished, 1);
  EXPECT_FALSE(caller.lease || caller.failure);
  EXPECT_THAT(backend_.take_sent(), IsEmpty());
}

TEST_F(a_contention, waits_an_error_out_that_passes) {
  auto const& caller = start();
  backend_.refuse("LOADING the dataset");
  EXPECT_EQ(caller.times_finished, 0);
  (void)backend_.take_sent();
  pass(1s);
  EXPECT_THAT(backend_.take_sent(), testing::Contains("acquire 1"));
}

TEST_F(a_contention, takes_back_a_request_that_may_have_been_carried_out_before_several_errors) {
  auto& caller = start({.poll_cap = 10ms});
  backend_.refuse("BUSY a script", true);
  pass(1s);
  (void)backend_.take_sent();
  backend_.refuse("BUSY a script");
  loop_of_client_.membership.leave(caller, boot_clock::now());
  EXPECT_THAT(backend_.take_sent(), ElementsAre("abandon 1"));
}

TEST_F(a_contention, leaves_nothing_to_take_back_of_a_request_that_was_refused_only) {
  auto& caller = start();
  backend_.refuse("BUSY a script");
  (void)backend_.take_sent();
  loop_of_client_.membership.leave(caller, boot_clock::now());
  EXPECT_THAT(backend_.take_sent(), IsEmpty());
}

TEST_F(a_contention, fails_with_an_error_that_does_not_pass) {
  auto const& caller = start();
  backend_.refuse("OOM command not allowed");
  ASSERT_TRUE(caller.failure);
  EXPECT_THAT(caller.failure->what(), HasSubstr("maxmemory"));
}

TEST_F(a_contention, fails_when_its_ttl_is_too_short_for_the_servers_answers) {
  auto const& caller = start({.ttl = 2s});
  for (auto i = 0; i != 5; ++i) {
    EXPECT_EQ(caller.times_finished, 0) << "once may be a process that was frozen";
    EXPECT_THAT(backend_.take_sent(), ElementsAre("acquire 1"));
    backend_.answer(granted_from(500), 0, boot_clock::now() - 3s);
  }
  ASSERT_EQ(caller.times_finished, 1);
  ASSERT_TRUE(caller.failure);
  EXPECT_EQ(caller.failure->code(), errc::unreachable);
  EXPECT_THAT(caller.failure->what(), HasSubstr("take longer than its ttl (2000 ms)"));
}

TEST_F(a_contention, asks_a_little_later_when_there_was_no_memory_for_a_request) {
  backend_.out_of_memory = 1;
  auto const& caller = start();
  EXPECT_EQ(caller.times_finished, 0);
  pass(memory_pause);
  EXPECT_THAT(backend_.take_sent(), testing::Contains("acquire 1"));
}

TEST_F(a_contention, clears_an_acquisition_away_that_is_over_and_asks_again) {
  auto& caller = start();
  backend_.answer(granted_from(500));
  (void)release(caller);
  backend_.answer(ownership::held);
  start();
  (void)backend_.take_sent();
  backend_.answer(busy_for(10s, client_.owner_id(1)));
  EXPECT_THAT(backend_.take_sent(), ElementsAre("abandon 1", "acquire 2")) << "the server has older data";
  EXPECT_TRUE(departed_.take_cleared(1)) << "a release that is on its way finds nothing";
}

TEST_F(a_contention, leaves_all_to_the_releases_once_the_client_ends) {
  auto& caller = start();
  backend_.answer(granted_from(500));
  (void)release(caller);
  backend_.answer(ownership::held);
  start();
  (void)backend_.take_sent();
  loop_of_client_.clearing.stop();
  backend_.answer(busy_for(10s, client_.owner_id(1)));
  EXPECT_THAT(backend_.take_sent(), testing::Not(testing::Contains("abandon 1")));
}

/// A lease of two seconds that was lost at its end, in a client that has asked for longer ones.
class a_lost_lease : public a_contention {
 protected:
  a_lost_lease() {
    auto& earlier = start({.ttl = 60s});
    backend_.answer(granted_from(400));
    (void)release(earlier);
    backend_.answer(ownership::held);
    auto& caller = start({.ttl = 2s});
    backend_.answer(granted_from(500));
    lease_ = caller.lease;
    (void)backend_.take_sent();
  }
  void lose() { loop_of_client_.ends.lose(*lease_, loss_cause::unreachable, boot_clock::now()); }

  lease_state_ptr lease_;
};

TEST_F(a_lost_lease, is_released_since_its_key_may_outlive_it) {
  clock_.advance(2s);
  lose();
  EXPECT_THAT(backend_.take_sent(), ElementsAre("release orders"));
}

TEST_F(a_lost_lease, is_released_no_sooner_than_its_key_would_have_ended) {
  loop_of_client_.ends.take_back(*lease_, boot_clock::now());
  EXPECT_THAT(backend_.take_sent(), IsEmpty());
  lose();
  pass(2s);
  EXPECT_THAT(backend_.take_sent(), testing::Contains("release orders"));
}

TEST_F(a_lost_lease, leaves_a_key_that_another_lease_of_its_acquisition_has_kept) {
  kept_keys_.note(*lease_, 60s, true, boot_clock::now());
  clock_.advance(2s);
  lose();
  EXPECT_THAT(backend_.take_sent(), IsEmpty());
}

TEST_F(a_contention, ends_a_lost_lease_and_asks_for_the_next_caller) {
  auto const& holder = start();
  start();
  backend_.answer(granted_from(500));
  (void)backend_.take_sent();
  loop_of_client_.ends.lose(*holder.lease, loss_cause::key_gone, boot_clock::now());
  EXPECT_EQ(holder.lease->status(), lease_state::state::lost);
  EXPECT_THAT(backend_.take_sent(), ElementsAre("acquire 2"));
}

class a_strict_contention : public a_contention {
 protected:
  a_strict_contention() : a_contention{recipes::plain::fair} {}
};

TEST_F(a_strict_contention, gives_each_caller_a_place_of_its_own) {
  auto& first = start_and_sleep();
  clock_.advance(1ms);
  start();
  loop_of_client_.membership.leave(first, boot_clock::now());
  EXPECT_THAT(backend_.take_sent(), ElementsAre("acquire 2", "abandon 1"))
      << "the new place first, so that a grant goes to the first waiter by then";
}

TEST_F(a_strict_contention, gives_what_comes_for_nobody_to_the_first_waiter_and_no_newcomer) {
  auto& first = start({.starvation_limit = {}});
  clock_.advance(1ms);
  start({.starvation_limit = {}});
  loop_of_client_.membership.leave(first, boot_clock::now());
  (void)backend_.take_sent();
  backend_.answer(granted_from(500));
  EXPECT_THAT(backend_.take_sent(), ElementsAre("abandon 1"));
  EXPECT_EQ(backend_.abandoned_with.starvation, 0us) << "a waiter that is only woken may be overtaken";
}

class a_polling_contention : public a_contention {
 protected:
  a_polling_contention() : a_contention{recipes::plain::exclusive, client_options{.wake = wake::poll}} {}
};

TEST_F(a_polling_contention, opens_no_channel) {
  start();
  backend_.answer(busy_for(10s));
  EXPECT_TRUE(backend_.channels.empty());
  (void)backend_.take_sent();
  pass(200ms);
  EXPECT_THAT(backend_.take_sent(), ElementsAre("acquire 1"));
}

TEST_F(a_polling_contention, leaves_nothing_to_take_back_when_a_refusal_follows_a_reply) {
  auto& caller = start();
  backend_.answer(busy_for(10s));
  pass(200ms);
  backend_.refuse("BUSY a script");
  (void)backend_.take_sent();
  loop_of_client_.membership.leave(caller, boot_clock::now());
  EXPECT_THAT(backend_.take_sent(), IsEmpty());
}

}  // namespace
}  // namespace holdfast::engine
