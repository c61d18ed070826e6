/// holdfast::election: one leader, whose value others find, and never that of a former one.
#include "electing.hpp"

#include <holdfast/fair_mutex.hpp>
#include <holdfast/inspect.hpp>

#include "support/leader_log.hpp"

namespace holdfast::test {
namespace {

TEST_F(electing, shows_the_leader_with_value_term_and_process) {
  EXPECT_FALSE(second_.leader());
  auto leading = first_.campaign("10.0.0.7:80");
  ASSERT_TRUE(has_record(first_client_, raw_));
  auto const leader = second_.leader();
  ASSERT_TRUE(leader);
  EXPECT_EQ(leader->value, "10.0.0.7:80");
  EXPECT_EQ(leader->term, leading.token());
  EXPECT_EQ(leader->process.owner, leading.owner());
  EXPECT_EQ(leader->process.pid, ::getpid());
  EXPECT_EQ(leader->process.label, "the first");
  EXPECT_EQ(first_.leader()->process.label, "the first") << "its own, without a request";
  EXPECT_EQ(leading.release(), release_result::released);
  EXPECT_FALSE(second_.leader());
  EXPECT_FALSE(first_.leader());
}

TEST_F(electing, takes_any_bytes_for_a_value_or_none) {
  for (auto const& value : {std::string{}, std::string{"\0\r\n\x1b[31m\xff", 9}, std::string(65536, 'x')}) {
    auto const leading = first_.campaign(value);
    EXPECT_EQ(value_of(second_), value);
  }
  std::string const too_long(65537, 'x');
  auto const wrong = std::make_error_code(std::errc::invalid_argument);
  EXPECT_EQ(code_of([&] { (void)first_.campaign(too_long); }), wrong);
  EXPECT_EQ(code_of([&] { (void)first_.try_campaign(too_long); }), wrong);
  EXPECT_EQ(code_of([&] { first_.async_campaign(too_long, pending{}.handler()); }), wrong);
  EXPECT_EQ(code_of([&] { first_.async_campaign("x", {}); }), wrong);
  EXPECT_EQ(code_of([&] { (void)first_.observe({}); }), wrong);
}

TEST_F(electing, is_the_fair_mutex_of_its_name) {
  fair_mutex lock{second_client_, "e"};
  {
    auto const leading = first_.campaign("a");
    EXPECT_FALSE(lock.try_acquire());
    auto const seen = inspect(third_client_, "e");
    EXPECT_EQ(seen.kind, lock_kind::exclusive);
    EXPECT_EQ(seen.holder.owner, leading.owner());
    EXPECT_EQ(seen.token, leading.token());
    ASSERT_TRUE(seen.leads);
    EXPECT_EQ(seen.leads->value, "a");
    EXPECT_EQ(seen.leads->term, leading.token());
  }
  auto const held = lock.acquire();
  EXPECT_FALSE(inspect(third_client_, "e").leads);
  EXPECT_FALSE(first_.try_campaign("a"));
  EXPECT_FALSE(first_.leader()) << "a holder that has published nothing";
  EXPECT_FALSE(first_.last_busy()->to_string().empty());
}

TEST_F(electing, takes_what_a_former_leader_said_for_nobody_s) {
  auto const leading = first_.campaign("a");
  ASSERT_TRUE(raw_.del("e"));
  EXPECT_FALSE(second_.leader());
  raw_.command({"SET", "e", "somebody else", "PX", "30000"});
  EXPECT_FALSE(second_.leader());
  EXPECT_FALSE(second_.try_campaign("b"));
}

TEST_F(electing, goes_on_to_the_candidate_that_came_first) {
  auto leading = first_.campaign("a");
  auto const first_term = leading.token();
  pending second;
  pending third;
  ASSERT_TRUE(both_campaign(second, third));
  leading.release();
  ASSERT_TRUE(eventually([&] { return second.done(); }));
  EXPECT_FALSE(third.done());
  auto next = *second.take();
  EXPECT_EQ(value_of(first_), "b");
  EXPECT_GT(next.token(), first_term);
  next.release();
  ASSERT_TRUE(eventually([&] { return third.done(); }));
  EXPECT_EQ(value_of(first_), "c");
  EXPECT_GT(third.take()->token(), first_term);
}

TEST_F(electing, lets_a_named_candidate_lead_next) {
  auto leading = first_.campaign("a");
  pending second;
  pending third;
  ASSERT_TRUE(both_campaign(second, third));
  EXPECT_EQ(first_.candidates().size(), 2u);
  auto const id = id_of(third_client_);
  EXPECT_EQ(first_.resign_to(leading, id), release_result::released);
  EXPECT_FALSE(leading.valid());
  ASSERT_TRUE(eventually([&] { return third.done(); }));
  EXPECT_FALSE(second.done());
  EXPECT_EQ(value_of(first_), "c");
  third.take()->release();
  ASSERT_TRUE(eventually([&] { return second.done(); })) << "it has kept its place";
  EXPECT_EQ(value_of(first_), "b");
}

TEST_F(electing, lets_a_named_candidate_lead_before_one_of_its_own_client) {
  auto leading = first_.campaign("a");
  pending own;
  first_.async_campaign("own", own.handler());
  pending third;
  third_.async_campaign("c", third.handler());
  ASSERT_TRUE(has_candidates(1));
  EXPECT_EQ(first_.resign_to(leading, id_of(third_client_)), release_result::released);
  ASSERT_TRUE(eventually([&] { return third.done(); }));
  EXPECT_FALSE(own.done());
  third.take()->release();
  ASSERT_TRUE(eventually([&] { return own.done(); }));
  EXPECT_EQ(value_of(second_), "own");
}

TEST_F(electing, leads_on_when_a_named_candidate_does_not_wait) {
  auto leading = first_.campaign("a");
  EXPECT_FALSE(first_.resign_to(leading, "11111111-1111-4111-8111-111111111111:7"));
  EXPECT_FALSE(first_.resign_to(leading, ""));
  EXPECT_FALSE(first_.resign_to(leading, leading.owner()));
  EXPECT_TRUE(leading.valid());
  EXPECT_EQ(value_of(second_), "a");
  std::string id;
  {
    auto gone_client = connect();
    election gone{gone_client, "e"};
    std::stop_source stop;
    pending candidate;
    gone.async_campaign("gone", candidate.handler(), stop.get_token());
    ASSERT_TRUE(has_candidates(1));
    id = id_of(gone_client);
    stop.request_stop();
    ASSERT_TRUE(eventually([&] { return candidate.done(); }));
    ASSERT_TRUE(has_candidates(0));
  }
  EXPECT_FALSE(first_.resign_to(leading, id));
  EXPECT_TRUE(leading.valid());
}

TEST_F(electing, names_only_for_its_own_leader) {
  auto leading = first_.campaign("a");
  election other{first_client_, "other"};
  auto elsewhere = other.campaign("x");
  auto const wrong = std::make_error_code(std::errc::invalid_argument);
  lease none;
  EXPECT_EQ(code_of([&] { (void)first_.resign_to(elsewhere, "x"); }), wrong);
  EXPECT_EQ(code_of([&] { (void)second_.resign_to(leading, "x"); }), wrong);
  EXPECT_EQ(code_of([&] { (void)first_.resign_to(none, "x"); }), wrong);
}

TEST_F(electing, is_waited_for_no_longer_than_wanted) {
  auto const leading = first_.campaign("a");
  EXPECT_FALSE(second_.try_campaign("b"));
  EXPECT_FALSE(second_.try_campaign_for("b", 20ms));
  EXPECT_FALSE(second_.try_campaign_until("b", std::chrono::steady_clock::now() + 20ms));
  pending timed;
  second_.async_try_campaign_for("b", 20ms, timed.handler());
  ASSERT_TRUE(eventually([&] { return timed.done(); }));
  EXPECT_FALSE(timed.take());
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(code_of([&] { (void)second_.campaign("b", stop.get_token()); }), errc::cancelled);
  EXPECT_EQ(value_of(third_), "a");
}

TEST_F(electing, goes_on_without_its_object) {
  auto leading = first_.campaign("a");
  pending candidate;
  {
    election e{second_client_, "e"};
    e.async_campaign("b", candidate.handler());
  }
  ASSERT_TRUE(has_candidates(1));
  leading.release();
  ASSERT_TRUE(eventually([&] { return candidate.done(); }));
  auto const next = candidate.take();
  EXPECT_EQ(value_of(first_), "b");
}

TEST_F(electing, keeps_the_value_for_as_long_as_it_leads) {
  election brief{first_client_, "e", {.ttl = 200ms}};
  auto const leading = brief.campaign("a");
  EXPECT_TRUE(always(600ms, [&] { return second_.leader().has_value() || !leading.valid(); }));
}

TEST_F(electing, publishes_its_value_again_when_that_alone_is_lost) {
  auto const lose_and_renew = [this](lease& leading) {
    EXPECT_TRUE(raw_.del("{e}:holdfast_leader"));
    EXPECT_FALSE(second_.leader());
    leading.renew();
  };
  auto leading = first_.campaign("a");
  lose_and_renew(leading);
  EXPECT_TRUE(eventually([&] { return value_of(second_) == "a"; }));
  EXPECT_EQ(leading.release(), release_result::released);

  pending second;
  second_.async_campaign("b", second.handler());
  ASSERT_TRUE(eventually([&] { return second.done(); }));
  auto later = *second.take();
  lose_and_renew(later);
  EXPECT_TRUE(eventually([&] { return value_of(second_) == "b"; }));
  EXPECT_EQ(second_.leader()->term, later.token());
}

TEST_F(electing, leaves_nothing_behind) {
  {
    auto leading = first_.campaign("a");
    EXPECT_FALSE(second_.try_campaign_for("b", 20ms));
    auto const observer = second_.observe(leader_log{}.handler());
  }
  EXPECT_TRUE(nothing_left_behind(raw_));
  EXPECT_TRUE(eventually([&] { return raw_.listeners("{e}:holdfast_leader") == 0; }));
}

TEST_F(electing, refuses_what_is_no_election) {
  raw_.command({"HSET", "e", "a", "b"});
  EXPECT_EQ(code_of([&] { (void)first_.campaign("a"); }), errc::wrong_type);
  EXPECT_EQ(code_of([&] { (void)first_.leader(); }), errc::wrong_type);
  raw_.command({"SET", "e", "holdfast_barrier 3 1 1"});
  EXPECT_EQ(code_of([&] { (void)first_.leader(); }), errc::wrong_type);
  raw_.del("e");
  raw_.command({"SET", "{e}:holdfast_leader", "something else"});
  EXPECT_EQ(code_of([&] { (void)first_.campaign("a"); }), errc::wrong_type);
  EXPECT_TRUE(eventually([&] { return !raw_.exists("e"); })) << "it was given back";
  pending candidate;
  first_.async_campaign("a", candidate.handler());
  ASSERT_TRUE(eventually([&] { return candidate.done(); }));
  EXPECT_EQ(code_of([&] { (void)candidate.take(); }), errc::wrong_type);
  EXPECT_TRUE(eventually([&] { return !raw_.exists("e"); }));
  auto const wrong = std::make_error_code(std::errc::invalid_argument);
  EXPECT_EQ(code_of([&] { election e{first_client_, "e", {.wire = wire::redisson}}; }), wrong);
  EXPECT_EQ(code_of([&] { election e{first_client_, "e", {.keep = true}}; }), wrong);
  EXPECT_EQ(code_of([&] { election e{first_client_, ""}; }), wrong);
  client votes{"redis+quorum://127.0.0.1:1,127.0.0.1:2,127.0.0.1:3"};
  EXPECT_EQ(code_of([&] { election e{votes, "e"}; }), wrong);
}

// Observers. Their clients look by themselves every 30 s: what they see sooner, messages have brought.

}  // namespace
}  // namespace holdfast::test
