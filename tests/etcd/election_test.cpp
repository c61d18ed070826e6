// Elections of Holdfast on three members of etcd.

#include "clients_of_etcd.hpp"
#include "holder.hpp"
#include "observed.hpp"
#include "support/eventually.hpp"

#include <gmock/gmock.h>

#include <holdfast/client.hpp>
#include <holdfast/election.hpp>
#include <holdfast/inspect.hpp>
#include <holdfast/mutex.hpp>

#include <algorithm>
#include <atomic>
#include <optional>
#include <thread>

namespace holdfast::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

class etcd_election : public clients_of_etcd {
 protected:
  etcd_election() : clients_of_etcd{"elect"} {}
};

TEST_F(etcd_election, has_the_value_of_its_leader_in_the_key) {
  election contested{first_, "keys"};
  EXPECT_FALSE(contested.leader());
  auto leading = contested.campaign("10.0.0.7:80");
  auto const keys = three_etcds().keys("elect/keys/");
  ASSERT_THAT(keys, SizeIs(1));
  EXPECT_EQ(three_etcds().ctl({"get", "--print-value-only", keys.front()}), "10.0.0.7:80\n");
  auto const seen = election{second_, "keys"}.leader();
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->value, "10.0.0.7:80");
  EXPECT_EQ(seen->term, leading.token());
  EXPECT_EQ(seen->process.owner, keys.front().substr(keys.front().rfind('/') + 1));
  EXPECT_EQ(leading.release(), release_result::released);
  EXPECT_FALSE(contested.leader());
}

TEST_F(etcd_election, has_one_leader_at_a_time_in_the_order_of_arrival) {
  election here{first_, "order"};
  election there{second_, "order"};
  auto leading = here.campaign("one");
  EXPECT_FALSE(there.try_campaign("two"));
  std::optional<lease> later;
  std::jthread candidate{[&] { later = there.campaign("two"); }};
  ASSERT_TRUE(come_to_be("order", 2));
  EXPECT_EQ(here.leader()->value, "one");
  auto const term = leading.token();
  EXPECT_EQ(leading.release(), release_result::released);
  candidate.join();
  EXPECT_GT(later->token(), term);
  EXPECT_EQ(here.leader()->value, "two");
}

TEST_F(etcd_election, gives_each_candidate_of_a_process_its_own_value) {
  election contested{first_, "values"};
  std::optional<lease> leading{contested.campaign("0")};
  std::vector<std::string> led;
  std::vector<std::jthread> all;
  for (int i = 1; i != 4; ++i) {
    all.emplace_back([&, i] {
      auto const mine = contested.campaign(std::to_string(i));
      auto const seen = contested.leader();
      led.push_back(seen ? seen->value : "-");
      EXPECT_EQ(seen->term, mine.token());
    });
    ASSERT_TRUE(eventually([&] { return first_.stats().waiting_now == static_cast<std::size_t>(i); }));
  }
  leading.reset();
  all.clear();
  EXPECT_THAT(led, ElementsAre("1", "2", "3"));
}

TEST_F(etcd_election, may_be_campaigned_for_without_waiting) {
  election contested{first_, "async"};
  std::atomic<bool> called = false;
  std::optional<lease> leading;
  contested.async_campaign("later", [&](std::optional<lease> granted, std::exception_ptr const& failure) {
    EXPECT_FALSE(failure);
    leading = std::move(granted);
    called = true;
  });
  ASSERT_TRUE(eventually([&] { return called.load(); }));
  ASSERT_TRUE(leading);
  EXPECT_EQ(contested.leader()->value, "later");
}

TEST_F(etcd_election, tells_observers_of_each_change_in_order) {
  election here{first_, "observed"};
  election there{second_, "observed"};
  observed seen;
  auto const observer = there.observe(seen.handler());
  ASSERT_TRUE(eventually([&] { return seen.last() == "-"; }));
  auto one = here.campaign("one");
  ASSERT_TRUE(eventually([&] { return seen.last() == "one"; }));
  std::optional<lease> two;
  std::jthread candidate{[&] { two = there.campaign("two"); }};
  ASSERT_TRUE(come_to_be("observed", 2));
  EXPECT_EQ(one.release(), release_result::released);
  candidate.join();
  ASSERT_TRUE(eventually([&] { return seen.last() == "two"; }));
  two.reset();
  ASSERT_TRUE(eventually([&] { return seen.last() == "-"; }));
  auto const three = here.campaign("three");
  ASSERT_TRUE(eventually([&] { return seen.last() == "three"; }));
  EXPECT_THAT(seen.values(), ElementsAre("-", "one", "two", "-", "three"));
  EXPECT_TRUE(std::ranges::is_sorted(seen.terms()));
}

TEST_F(etcd_election, tells_two_observers_and_goes_on_for_the_one_that_is_left) {
  election contested{first_, "two_observers"};
  observed one;
  observed two;
  std::optional<leader_observer> ends{contested.observe(one.handler())};
  auto const stays = contested.observe(two.handler());
  ASSERT_TRUE(eventually([&] { return one.last() == "-" && two.last() == "-"; }));
  ends.reset();
  auto const leading = contested.campaign("x");
  EXPECT_TRUE(eventually([&] { return two.last() == "x"; }));
  EXPECT_THAT(one.values(), ElementsAre("-"));
}

TEST_F(etcd_election, names_candidates_of_which_the_next_one_can_be_chosen) {
  election here{first_, "named"};
  election there{second_, "named"};
  client third{three_etcds().url("elect"), options()};
  election last{third, "named"};
  auto leading = here.campaign("one");
  std::optional<lease> two;
  std::jthread next{[&] { two = there.campaign("two"); }};
  ASSERT_TRUE(come_to_be("named", 2));
  std::stop_source gives_up;
  std::jthread behind{[&] { EXPECT_THROW((void)last.campaign("three", gives_up.get_token()), error); }};
  ASSERT_TRUE(come_to_be("named", 3));
  auto const all = here.candidates();
  ASSERT_THAT(all, SizeIs(2));
  EXPECT_FALSE(here.resign_to(leading, "nobody"));
  try {
    (void)here.resign_to(leading, all[1].owner);
    ADD_FAILURE() << "the third came last";
  } catch (error const& refused) {
    EXPECT_EQ(refused.code(), std::errc::invalid_argument);
    EXPECT_THAT(refused.what(), HasSubstr("order"));
  }
  EXPECT_TRUE(leading.valid());
  EXPECT_EQ(here.resign_to(leading, all[0].owner), release_result::released);
  next.join();
  EXPECT_EQ(here.leader()->value, "two");
  gives_up.request_stop();
}

/// FOUND 414: their values together were more than gRPC takes for an answer.
TEST(etcd_election_candidates, may_have_long_values) {
  etcd_cluster const one;
  client etcd{one.url(), {.patience = wait_limit}};
  std::string const longest(1'400'000, 'x');
  for (int i = 0; i != 50; ++i) {
    auto const granted =
        one.ctl({"lease", "grant", "600", "--write-out=simple"});  // "lease ID granted with …"
    auto const lease = granted.substr(6, granted.find(' ', 6) - 6);
    auto const place = "long/" + lease.substr(lease.find_first_not_of('0'));
    process puts{one.ctl_words({"put", "--lease=" + lease, place}), {}, longest};
    ASSERT_EQ(puts.wait(), 0) << puts.err();
  }
  EXPECT_THAT(election(etcd, "long").candidates(), SizeIs(49));
}

TEST_F(etcd_election, is_excluded_by_a_mutex_of_its_name_which_leads_nothing) {
  mutex lock{first_, "mutex"};
  election contested{second_, "mutex"};
  observed seen;
  auto const observer = contested.observe(seen.handler());
  auto held = lock.acquire();
  EXPECT_FALSE(contested.try_campaign("x"));
  EXPECT_FALSE(contested.leader());
  std::jthread candidate{[&] {
    auto const leading = contested.campaign("x");
    EXPECT_FALSE(lock.try_acquire());
    EXPECT_TRUE(eventually([&] { return seen.last() == "x"; }));
  }};
  ASSERT_TRUE(come_to_be("mutex", 2));
  EXPECT_THAT(seen.values(), ElementsAre("-"));
  EXPECT_EQ(held.release(), release_result::released);
}

TEST_F(etcd_election, follows_a_leader_that_was_killed_when_its_ttl_is_over) {
  leader_process other{three_etcds().url("elect"), "killed", "theirs", 2s};
  ASSERT_THAT(other.read_line(), StartsWith("leads "));
  election contested{first_, "killed"};
  observed seen;
  auto const observer = contested.observe(seen.handler());
  ASSERT_TRUE(eventually([&] { return seen.last() == "theirs"; }));
  other.kill9();
  auto const leading = contested.try_campaign_for("ours", wait_limit);
  ASSERT_TRUE(leading);
  EXPECT_TRUE(eventually([&] { return seen.last() == "ours"; }));
}

TEST_F(etcd_election, is_lost_at_once_when_somebody_deletes_the_key) {
  election contested{first_, "deleted", {.ttl = 60s, .renew_every = 25s}};
  observed seen;
  auto const observer = contested.observe(seen.handler());
  auto leading = contested.campaign("x");
  leading.renew();
  ASSERT_TRUE(eventually([&] { return seen.last() == "x"; }));
  three_etcds().ctl({"del", "--prefix", "elect/deleted/"});
  EXPECT_TRUE(eventually([&] { return leading.lost_because() == loss_cause::key_gone; }));
  EXPECT_TRUE(eventually([&] { return seen.last() == "-"; }));
}

TEST_F(etcd_election, has_no_leader_while_a_key_of_others_is_in_the_way) {
  three_etcds().ctl({"put", "elect/strange/thing", "7"});
  election contested{first_, "strange"};
  observed seen;
  auto const observer = contested.observe(seen.handler());
  EXPECT_TRUE(eventually([&] { return seen.last() == "-"; }));
  try {
    (void)contested.leader();
    ADD_FAILURE();
  } catch (error const& failure) {
    EXPECT_EQ(failure.code(), errc::wrong_type);
  }
  three_etcds().ctl({"del", "elect/strange/thing"});
  EXPECT_FALSE(contested.leader());
}

TEST_F(etcd_election, refuses_what_its_format_does_not_have) {
  auto const refused = [](auto const& f) {
    try {
      f();
    } catch (error const& failure) {
      return failure.code() == std::errc::invalid_argument;
    }
    return false;
  };
  EXPECT_TRUE(refused([&] { election{first_, "x", {.keep = true}}; }));
  EXPECT_TRUE(refused([&] { election{first_, "a/b"}; }));
  EXPECT_TRUE(refused([&] { election{first_, "x", {.wire = wire::redisson}}; }));
  EXPECT_TRUE(refused([&] { election{first_, "x", {.detect_deadlock = true}}; }));
  election contested{first_, "refused"};
  EXPECT_TRUE(refused([&] { (void)contested.campaign("holdfast is the value"); }));
  EXPECT_TRUE(refused([&] { (void)ask_to_hand_over(first_, "refused", "a:1", 1s); }));
  EXPECT_THAT(three_etcds().keys("elect/refused/"), IsEmpty());
}

TEST(etcd_election_members, goes_on_when_the_leader_of_etcd_is_killed) {
  etcd_cluster all{{.members = 3}};
  client first{all.url(), {.patience = wait_limit}};
  client second{all.url(), {.patience = wait_limit}};
  election here{first, "survives", {.ttl = 15s}};
  election there{second, "survives", {.ttl = 15s}};
  observed seen;
  auto const observer = there.observe(seen.handler());
  auto leading = here.campaign("one");
  std::optional<lease> later;
  std::jthread candidate{[&] { later = there.campaign("two"); }};
  ASSERT_TRUE(eventually([&] { return all.keys("survives/").size() == 2; }));
  all.kill9(all.leader());
  auto const renewals = first.stats().renewals;
  ASSERT_TRUE(eventually(40s, [&] { return first.stats().renewals > renewals; }));
  EXPECT_TRUE(leading.valid());
  EXPECT_EQ(leading.release(), release_result::released);
  candidate.join();
  EXPECT_TRUE(eventually(40s, [&] { return seen.last() == "two"; }));
  EXPECT_THAT(seen.terms(), SizeIs(2));
}

/// By gRPC's signs of life, before it looks again by itself.
TEST(etcd_election_members, tells_an_observer_whose_member_stands_still) {
  etcd_cluster all{{.members = 3}};
  auto const leader = all.leader();
  auto const watched = (leader + 1) % 3;
  auto const other = (leader + 2) % 3;
  client leads{"etcd://" + all.endpoint(leader), {.patience = wait_limit}};
  client observes{"etcd://" + all.endpoint(watched) + "," + all.endpoint(other),
                  {.patience = wait_limit, .recheck = 30s}};
  election here{leads, "still", {.ttl = 300s}};
  election there{observes, "still"};
  auto leading = here.campaign("x");
  observed seen;
  all.freeze(other);  // so the client asks the one that is to be frozen
  auto const observer = there.observe(seen.handler());
  ASSERT_TRUE(eventually([&] { return seen.last() == "x"; }));
  all.thaw(other);
  all.freeze(watched);
  EXPECT_EQ(leading.release(), release_result::released);
  EXPECT_TRUE(eventually([&] { return seen.last() == "-"; }));
}

}  // namespace
}  // namespace holdfast::test
