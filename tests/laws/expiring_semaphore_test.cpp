/// Permits that are leases: renewed, lost, given back by others, and back by themselves when their holder is
/// gone.
#include "waiting.hpp"

#include <holdfast/expiring_semaphore.hpp>

#include <gmock/gmock.h>

namespace holdfast::test {
namespace {

std::string const channel = "redisson_sc:{license}";
std::string const out = "{license}:timeout";

class licensing : public apart {
 protected:
  expiring_semaphore here_{one_, "license"};
  expiring_semaphore there_{two_, "license"};
};

TEST_F(licensing, gives_out_as_many_as_it_has_each_with_an_id_of_its_own) {
  EXPECT_TRUE(here_.try_set_permits(3));
  EXPECT_FALSE(there_.try_set_permits(4));
  auto first = here_.acquire();
  auto second = here_.acquire();
  auto third = there_.try_acquire();
  ASSERT_TRUE(third);
  EXPECT_FALSE(there_.try_acquire());
  EXPECT_FALSE(here_.try_acquire_for(50ms));
  EXPECT_EQ(std::set({first.owner(), second.owner(), third->owner()}).size(), 3u);
  EXPECT_EQ(first.owner().size(), 32u);
  EXPECT_EQ(raw_.command({"ZCARD", out}).integer, 3);
  EXPECT_EQ(raw_.get("license"), "0");
  EXPECT_EQ(second.release(), release_result::released);
  EXPECT_EQ(here_.available(), 1);
  EXPECT_EQ(here_.permits(), 3);
  EXPECT_EQ(here_.acquired(), 2);
  EXPECT_TRUE(there_.try_acquire());
}

TEST_F(licensing, wakes_a_waiter_of_another_client_by_message) {
  here_.try_set_permits(1);
  auto mine = here_.acquire();
  pending waiting;
  there_.async_acquire(waiting.handler());
  ASSERT_TRUE(waits_for(two_, channel));
  EXPECT_EQ(mine.release(), release_result::released);
  ASSERT_TRUE(eventually([&] { return waiting.done(); }));
  EXPECT_TRUE(waiting.take()->valid());
}

TEST_F(licensing, serves_the_waiters_of_its_process_while_it_holds_permits_itself) {
  here_.try_set_permits(2);
  auto one = here_.acquire();
  auto two = here_.acquire();
  std::vector<pending> waiting(3);
  for (auto& p : waiting) here_.async_acquire(p.handler());
  ASSERT_TRUE(waits_for(one_, channel));
  one.release();
  EXPECT_TRUE(eventually([&] { return waiting[0].done(); }));
  two.release();
  EXPECT_TRUE(eventually([&] { return waiting[1].done(); }));
  EXPECT_FALSE(waiting[2].done());
  waiting[0].take()->release();
  EXPECT_TRUE(eventually([&] { return waiting[2].done(); }));
}

TEST_F(licensing, is_renewed_past_two_ttls) {
  here_.try_set_permits(2);
  expiring_semaphore brief{one_, "license", {.ttl = 3s, .renew_every = 100ms}};
  auto const first = brief.acquire();
  auto const second = brief.acquire();
  EXPECT_TRUE(always(6500ms, [&] { return first.valid() && second.valid(); }));
  EXPECT_FALSE(there_.try_acquire());
  EXPECT_EQ(there_.acquired(), 2);
}

TEST_F(licensing, tells_the_holder_when_a_fixed_ttl_is_over_and_gives_the_permit_to_a_waiter) {
  here_.try_set_permits(1);
  expiring_semaphore fixed{one_, "license", {.ttl = 1s, .watchdog = false}};
  auto mine = fixed.acquire();
  pending waiting;
  there_.async_acquire(waiting.handler());
  ASSERT_TRUE(eventually([&] { return waiting.done(); })) << "nobody tells it: it knows when to look";
  auto theirs = waiting.take();
  EXPECT_FALSE(mine.valid());
  EXPECT_TRUE(eventually([&] { return mine.lost().stop_requested(); }));
  EXPECT_EQ(mine.lost_because(), loss_cause::limit_reached);
  EXPECT_EQ(mine.release(), release_result::lost);
  EXPECT_EQ(there_.available(), 0) << "the same permit was given back twice";
  EXPECT_EQ(theirs->release(), release_result::released);
  EXPECT_EQ(there_.available(), 1);
}

TEST_F(licensing, is_given_back_by_its_id_from_elsewhere_and_the_holder_is_told) {
  here_.try_set_permits(1);
  expiring_semaphore watched{one_, "license", {.ttl = 10s, .renew_every = 50ms}};
  auto mine = watched.acquire();
  EXPECT_EQ(there_.release(mine.owner()), release_result::released);
  EXPECT_EQ(there_.release(mine.owner()), release_result::lost);
  EXPECT_TRUE(eventually([&] { return mine.lost().stop_requested(); }));
  EXPECT_EQ(mine.lost_because(), loss_cause::key_gone);
  EXPECT_EQ(mine.release(), release_result::lost);
  EXPECT_EQ(there_.available(), 1);
}

TEST_F(licensing, is_given_its_number_again_when_the_server_has_lost_it) {
  client often{server_.url(), unhurried({.recheck = 100ms})};
  expiring_semaphore looks{often, "license"};
  looks.try_set_permits(1);
  auto mine = looks.acquire();
  pending waiting;
  looks.async_acquire(waiting.handler());
  ASSERT_TRUE(waits_for(often, channel));
  raw_.command({"FLUSHALL"});
  ASSERT_TRUE(eventually([&] { return waiting.done(); })) << "nobody else gives it";
  EXPECT_TRUE(waiting.take()->valid());
  there_.try_set_permits(5);  // it has some, but should they be lost, it knows how many
  raw_.command({"FLUSHALL"});
  EXPECT_TRUE(there_.try_acquire());
  EXPECT_EQ(there_.permits(), 5);
  there_.add_permits(-2);
  raw_.command({"FLUSHALL"});
  EXPECT_TRUE(there_.try_acquire());
  EXPECT_EQ(there_.permits(), 3);
}

TEST_F(licensing, leaves_alone_what_java_holds_for_ever) {
  raw_.command({"SET", "license", "0"});
  raw_.command({"ZADD", out, "922337203685477", std::string(16, '\xa1')});
  EXPECT_FALSE(here_.try_acquire_for(50ms));
  EXPECT_EQ(here_.acquired(), 1);
  EXPECT_EQ(here_.release("a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1"), release_result::released);
  EXPECT_TRUE(here_.try_acquire());
}

TEST_F(licensing, changes_its_number_while_permits_are_out) {
  here_.set_permits(2);
  auto const one = here_.acquire();
  auto const two = here_.acquire();
  there_.set_permits(1);
  EXPECT_EQ(here_.available(), -1);
  EXPECT_EQ(here_.permits(), 1);
  there_.add_permits(2);
  EXPECT_EQ(here_.available(), 1);
  EXPECT_TRUE(there_.try_acquire());
}

TEST_F(licensing, gives_nothing_to_a_waiter_that_was_cancelled) {
  here_.try_set_permits(1);
  auto mine = here_.acquire();
  std::stop_source stop;
  pending waiting;
  there_.async_acquire(waiting.handler(), stop.get_token());
  ASSERT_TRUE(waits_for(two_, channel));
  stop.request_stop();
  EXPECT_TRUE(eventually([&] { return waiting.done(); }));
  EXPECT_EQ(code_of([&] { (void)waiting.take(); }), errc::cancelled);
  mine.release();
  EXPECT_TRUE(eventually([&] { return here_.available() == 1; }));
  EXPECT_EQ(here_.acquired(), 0);
  EXPECT_FALSE(raw_.exists(out));
}

TEST_F(licensing, gets_a_permit_within_recheck_when_every_message_is_lost) {
  HOLDFAST_ON_ONE_SERVER("the proxy that loses messages stands before one");
  flaky_proxy proxy{server_.socket_path()};
  proxy.swallow_messages(true);
  client deaf{proxy.url(), unhurried({.recheck = 500ms})};
  expiring_semaphore wanted{deaf, "license"};
  here_.try_set_permits(1);
  auto mine = here_.acquire();
  pending waiting;
  wanted.async_acquire(waiting.handler());
  ASSERT_TRUE(waits_for(deaf, channel));
  mine.release();
  EXPECT_TRUE(eventually([&] { return waiting.done(); }));
}

TEST_F(licensing, gets_a_permit_by_polling) {
  client polling{server_.url(), unhurried()};
  expiring_semaphore wanted{polling, "license", {.wake = wake::poll}};
  here_.try_set_permits(1);
  auto mine = here_.acquire();
  pending waiting;
  wanted.async_acquire(waiting.handler());
  ASSERT_TRUE(eventually([&] { return polling.stats().rechecks >= 3; }));
  mine.release();
  EXPECT_TRUE(eventually([&] { return waiting.done(); }));
}

TEST_F(licensing, comes_back_by_itself_when_its_holder_is_killed) {
  here_.try_set_permits(1);
  auto dead = worker::session(server_.url(), "expiring_semaphore", "license", 1s);
  ASSERT_EQ(dead.ask("acquire").rfind("held ", 0), 0u);
  pending waiting;
  there_.async_acquire(waiting.handler());
  // Where the holder stood still it may have lost the permit already.
  ASSERT_TRUE(eventually([&] { return two_.stats().waits >= 1 || waiting.done(); }));
  dead.kill9();
  ASSERT_TRUE(eventually([&] { return waiting.done(); }));
  EXPECT_TRUE(waiting.take()->valid());
  EXPECT_EQ(here_.permits(), 1);
}

TEST_F(licensing, refuses_ids_that_are_none) {
  here_.try_set_permits(1);
  for (auto const* const id : {"", "a1", "a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1g1"}) {
    EXPECT_EQ(code_of([&] { here_.release(id); }), std::errc::invalid_argument) << id;
    EXPECT_THAT(words_of([&] { here_.release(id); }), testing::HasSubstr("32 hexadecimal digits"));
  }
  EXPECT_EQ(here_.release(std::string(32, 'a')), release_result::lost);
  EXPECT_EQ(code_of([&] { expiring_semaphore const s{one_, "a{b"}; }), std::errc::invalid_argument);
  EXPECT_EQ(code_of([&] { here_.set_permits(-1); }), std::errc::invalid_argument);
}

TEST_F(licensing, says_what_it_found_under_its_name) {
  raw_.command({"SET", "license", "1"});
  raw_.command({"ZADD", out, "922337203685477", std::string(32, 'a')});
  for (auto const& call : std::vector<std::function<void()>>{
           [&] { (void)here_.acquire(); }, [&] { (void)here_.available(); }, [&] { here_.add_permits(1); }}) {
    EXPECT_EQ(code_of(call), errc::wrong_type);
    EXPECT_THAT(words_of(call), testing::AllOf(testing::HasSubstr("\"license\""), testing::HasSubstr("32"),
                                               testing::HasSubstr("Redisson before 3.17")));
  }
}

}  // namespace
}  // namespace holdfast::test
