/// Permits that are leases: renewed, lost, released by other clients, and expired when their holder is gone.
#include "waiting.hpp"

#include <holdfast/expiring_semaphore.hpp>

#include <gmock/gmock.h>

namespace holdfast::test {
namespace {

std::string const channel = "redisson_sc:{license}";
std::string const permits_key = "{license}:timeout";

class licensing : public two_clients {
 protected:
  expiring_semaphore local_{first_client_, "license"};
  expiring_semaphore remote_{second_client_, "license"};
};

TEST_F(licensing, gives_out_as_many_as_it_has_each_with_an_id_of_its_own) {
  EXPECT_TRUE(local_.try_set_permits(3));
  EXPECT_FALSE(remote_.try_set_permits(4));
  auto first = local_.acquire();
  auto second = local_.acquire();
  auto third = remote_.try_acquire();
  ASSERT_TRUE(third);
  EXPECT_FALSE(remote_.try_acquire());
  EXPECT_FALSE(local_.try_acquire_for(50ms));
  EXPECT_EQ(std::set({first.owner(), second.owner(), third->owner()}).size(), 3u);
  EXPECT_EQ(first.owner().size(), 32u);
  EXPECT_EQ(raw_.command({"ZCARD", permits_key}).integer, 3);
  EXPECT_EQ(raw_.get("license"), "0");
  EXPECT_EQ(second.release(), release_result::released);
  EXPECT_EQ(local_.available(), 1);
  EXPECT_EQ(local_.permits(), 3);
  EXPECT_EQ(local_.acquired(), 2);
  EXPECT_TRUE(remote_.try_acquire());
}

TEST_F(licensing, has_the_size_that_it_was_constructed_with) {
  expiring_semaphore first{first_client_, "license", 2};
  expiring_semaphore second{second_client_, "license", 9};
  auto const one = first.try_acquire();
  auto const two = second.try_acquire();
  EXPECT_TRUE(one && two);
  EXPECT_FALSE(second.try_acquire()) << "the first one has given it its size";
  EXPECT_EQ(second.permits(), 2);
}

TEST_F(licensing, wakes_a_waiter_of_another_client_by_message) {
  local_.try_set_permits(1);
  auto permit = local_.acquire();
  pending waiting;
  remote_.async_acquire(waiting.handler());
  ASSERT_TRUE(waits_for(second_client_, channel));
  EXPECT_EQ(permit.release(), release_result::released);
  ASSERT_TRUE(eventually([&] { return waiting.done(); }));
  EXPECT_TRUE(waiting.take()->valid());
}

TEST_F(licensing, serves_the_waiters_of_its_process_while_it_holds_permits_itself) {
  local_.try_set_permits(2);
  auto first = local_.acquire();
  auto second = local_.acquire();
  std::vector<pending> waiting(3);
  for (auto& p : waiting) local_.async_acquire(p.handler());
  ASSERT_TRUE(waits_for(first_client_, channel));
  first.release();
  EXPECT_TRUE(eventually([&] { return waiting[0].done(); }));
  second.release();
  EXPECT_TRUE(eventually([&] { return waiting[1].done(); }));
  EXPECT_FALSE(waiting[2].done());
  waiting[0].take()->release();
  EXPECT_TRUE(eventually([&] { return waiting[2].done(); }));
}

TEST_F(licensing, is_renewed_past_two_ttls) {
  local_.try_set_permits(2);
  expiring_semaphore brief{first_client_, "license", {.ttl = 3s, .renew_every = 100ms}};
  auto const first = brief.acquire();
  auto const second = brief.acquire();
  EXPECT_TRUE(always(6500ms, [&] { return first.valid() && second.valid(); }));
  EXPECT_FALSE(remote_.try_acquire());
  EXPECT_EQ(remote_.acquired(), 2);
}

TEST_F(licensing, tells_the_holder_when_a_fixed_ttl_is_over_and_gives_the_permit_to_a_waiter) {
  local_.try_set_permits(1);
  expiring_semaphore fixed{first_client_, "license", {.ttl = 1s, .watchdog = false}};
  auto permit = fixed.acquire();
  pending waiting;
  remote_.async_acquire(waiting.handler());
  ASSERT_TRUE(eventually([&] { return waiting.done(); })) << "nobody tells it: it knows when to look";
  auto next_permit = waiting.take();
  EXPECT_FALSE(permit.valid());
  EXPECT_TRUE(eventually([&] { return permit.lost().stop_requested(); }));
  EXPECT_EQ(permit.lost_because(), loss_cause::limit_reached);
  EXPECT_EQ(permit.release(), release_result::lost);
  EXPECT_EQ(remote_.available(), 0) << "the same permit was given back twice";
  EXPECT_EQ(next_permit->release(), release_result::released);
  EXPECT_EQ(remote_.available(), 1);
}

TEST_F(licensing, is_given_back_by_its_id_from_elsewhere_and_the_holder_is_told) {
  local_.try_set_permits(1);
  expiring_semaphore watched{first_client_, "license", {.ttl = 10s, .renew_every = 50ms}};
  auto permit = watched.acquire();
  EXPECT_EQ(remote_.release(permit.owner()), release_result::released);
  EXPECT_EQ(remote_.release(permit.owner()), release_result::lost);
  EXPECT_TRUE(eventually([&] { return permit.lost().stop_requested(); }));
  EXPECT_EQ(permit.lost_because(), loss_cause::key_gone);
  EXPECT_EQ(permit.release(), release_result::lost);
  EXPECT_EQ(remote_.available(), 1);
}

TEST_F(licensing, is_given_its_number_again_when_the_server_has_lost_it) {
  client rechecking_client{server_.url(), with_long_timeouts({.recheck = 100ms})};
  expiring_semaphore rechecking{rechecking_client, "license"};
  rechecking.try_set_permits(1);
  auto permit = rechecking.acquire();
  pending waiting;
  rechecking.async_acquire(waiting.handler());
  ASSERT_TRUE(waits_for(rechecking_client, channel));
  raw_.command({"FLUSHALL"});
  ASSERT_TRUE(eventually([&] { return waiting.done(); })) << "nobody else gives it";
  EXPECT_TRUE(waiting.take()->valid());
  remote_.try_set_permits(5);  // no effect yet, but the client knows the number after a loss
  raw_.command({"FLUSHALL"});
  EXPECT_TRUE(remote_.try_acquire());
  EXPECT_EQ(remote_.permits(), 5);
  remote_.add_permits(-2);
  raw_.command({"FLUSHALL"});
  EXPECT_TRUE(remote_.try_acquire());
  EXPECT_EQ(remote_.permits(), 3);
}

TEST_F(licensing, leaves_alone_what_java_holds_for_ever) {
  raw_.command({"SET", "license", "0"});
  raw_.command({"ZADD", permits_key, "922337203685477", std::string(16, '\xa1')});
  EXPECT_FALSE(local_.try_acquire_for(50ms));
  EXPECT_EQ(local_.acquired(), 1);
  EXPECT_EQ(local_.release("a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1"), release_result::released);
  EXPECT_TRUE(local_.try_acquire());
}

TEST_F(licensing, changes_its_number_while_permits_are_out) {
  local_.set_permits(2);
  auto const first = local_.acquire();
  auto const second = local_.acquire();
  remote_.set_permits(1);
  EXPECT_EQ(local_.available(), -1);
  EXPECT_EQ(local_.permits(), 1);
  remote_.add_permits(2);
  EXPECT_EQ(local_.available(), 1);
  EXPECT_TRUE(remote_.try_acquire());
}

TEST_F(licensing, gives_nothing_to_a_waiter_that_was_cancelled) {
  local_.try_set_permits(1);
  auto permit = local_.acquire();
  std::stop_source stop;
  pending waiting;
  remote_.async_acquire(waiting.handler(), stop.get_token());
  ASSERT_TRUE(waits_for(second_client_, channel));
  stop.request_stop();
  EXPECT_TRUE(eventually([&] { return waiting.done(); }));
  EXPECT_EQ(code_of([&] { (void)waiting.take(); }), errc::cancelled);
  permit.release();
  EXPECT_TRUE(eventually([&] { return local_.available() == 1; }));
  EXPECT_EQ(local_.acquired(), 0);
  EXPECT_FALSE(raw_.exists(permits_key));
}

TEST_F(licensing, gets_a_permit_within_recheck_when_every_message_is_lost) {
  HOLDFAST_ON_ONE_SERVER("the proxy that loses messages stands before one");
  flaky_proxy proxy{server_.socket_path()};
  proxy.swallow_messages(true);
  client deaf{proxy.url(), with_long_timeouts({.recheck = 500ms})};
  expiring_semaphore wanted{deaf, "license"};
  local_.try_set_permits(1);
  auto permit = local_.acquire();
  pending waiting;
  wanted.async_acquire(waiting.handler());
  ASSERT_TRUE(waits_for(deaf, channel));
  permit.release();
  EXPECT_TRUE(eventually([&] { return waiting.done(); }));
}

TEST_F(licensing, gets_a_permit_by_polling) {
  client polling{server_.url(), with_long_timeouts()};
  expiring_semaphore wanted{polling, "license", {.wake = wake::poll}};
  local_.try_set_permits(1);
  auto permit = local_.acquire();
  pending waiting;
  wanted.async_acquire(waiting.handler());
  ASSERT_TRUE(eventually([&] { return polling.stats().rechecks >= 3; }));
  permit.release();
  EXPECT_TRUE(eventually([&] { return waiting.done(); }));
}

TEST_F(licensing, comes_back_by_itself_when_its_holder_is_killed) {
  local_.try_set_permits(1);
  auto dead = worker::session(server_.url(), "expiring_semaphore", "license", 1s);
  ASSERT_EQ(dead.reply_to("acquire").rfind("held ", 0), 0u);
  pending waiting;
  remote_.async_acquire(waiting.handler());
  // A holder that was stopped for long may have lost the permit already.
  ASSERT_TRUE(eventually([&] { return second_client_.stats().waits >= 1 || waiting.done(); }));
  dead.kill9();
  ASSERT_TRUE(eventually([&] { return waiting.done(); }));
  EXPECT_TRUE(waiting.take()->valid());
  EXPECT_EQ(local_.permits(), 1);
}

TEST_F(licensing, refuses_ids_that_are_none) {
  local_.try_set_permits(1);
  for (auto const* const id : {"", "a1", "a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1g1"}) {
    EXPECT_EQ(code_of([&] { local_.release(id); }), std::errc::invalid_argument) << id;
    EXPECT_THAT(message_of([&] { local_.release(id); }), testing::HasSubstr("32 hexadecimal digits"));
  }
  EXPECT_EQ(local_.release(std::string(32, 'a')), release_result::lost);
  EXPECT_EQ(code_of([&] { expiring_semaphore const s{first_client_, "a{b"}; }), std::errc::invalid_argument);
  EXPECT_EQ(code_of([&] { local_.set_permits(-1); }), std::errc::invalid_argument);
}

TEST_F(licensing, says_what_it_found_under_its_name) {
  raw_.command({"SET", "license", "1"});
  raw_.command({"ZADD", permits_key, "922337203685477", std::string(32, 'a')});
  for (auto const& call :
       std::vector<std::function<void()>>{[&] { (void)local_.acquire(); }, [&] { (void)local_.available(); },
                                          [&] { local_.add_permits(1); }}) {
    EXPECT_EQ(code_of(call), errc::wrong_type);
    EXPECT_THAT(message_of(call), testing::AllOf(testing::HasSubstr("\"license\""), testing::HasSubstr("32"),
                                                 testing::HasSubstr("Redisson before 3.17")));
  }
}

}  // namespace
}  // namespace holdfast::test
