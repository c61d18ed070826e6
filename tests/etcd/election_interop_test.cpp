// Elections that etcdctl and programs in Go take part in. The latter are skipped where the peer isn't built.

#include "holder.hpp"
#include "members.hpp"
#include "observed.hpp"
#include "support/eventually.hpp"
#include "support/line_process.hpp"

#include <gmock/gmock.h>

#include <holdfast/client.hpp>
#include <holdfast/election.hpp>

#include <csignal>
#include <filesystem>
#include <optional>
#include <thread>

namespace holdfast::test {
namespace {

using testing::ElementsAre;
using testing::StartsWith;

class election_interop : public testing::Test {
 protected:
  static std::size_t places(std::string const& name) { return three_etcds().keys(name + "/").size(); }

  client etcd_{three_etcds().url(), {.patience = wait_limit, .recheck = 30s}};
};

/// `etcdctl elect`, which prints its key and its value when it leads, and resigns when it is interrupted;
/// with -l those of each leader.
line_process etcdctl_elect(words const& rest) {
  words command{"/usr/bin/env"};
  words elect{"elect"};
  elect.insert(elect.end(), rest.begin(), rest.end());
  for (auto const& each : three_etcds().ctl_words(elect)) command.push_back(each);
  return line_process{command};
}

TEST_F(election_interop, etcdctl_waits_for_our_leader_and_is_seen_when_it_leads) {
  election contested{etcd_, "ctl_waits"};
  observed seen;
  auto const observer = contested.observe(seen.handler());
  auto leading = contested.campaign("ours");
  auto other = etcdctl_elect({"ctl_waits", "theirs"});
  ASSERT_TRUE(eventually([] { return places("ctl_waits") == 2; }));
  EXPECT_EQ(contested.leader()->value, "ours");
  EXPECT_EQ(leading.release(), release_result::released);
  EXPECT_THAT(other.read_line(), StartsWith("ctl_waits/"));
  EXPECT_EQ(other.read_line(), "theirs");
  ASSERT_TRUE(eventually([&] { return seen.last() == "theirs"; }));
  EXPECT_FALSE(contested.try_campaign("again"));
  ::kill(other.pid(), SIGINT);
  EXPECT_TRUE(contested.try_campaign_for("again", wait_limit));
  EXPECT_TRUE(eventually([&] { return seen.values().size() >= 4; }));
}

TEST_F(election_interop, etcdctl_sees_our_leaders) {
  election contested{etcd_, "ctl_looks"};
  auto leading = contested.campaign("one");
  auto other = etcdctl_elect({"-l", "ctl_looks"});
  EXPECT_THAT(other.read_line(), StartsWith("ctl_looks/"));
  EXPECT_EQ(other.read_line(), "one");
  EXPECT_EQ(leading.release(), release_result::released);
  auto const later = contested.campaign("two");
  EXPECT_THAT(other.read_line(), StartsWith("ctl_looks/"));
  EXPECT_EQ(other.read_line(), "two");
}

class go_election : public election_interop {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(HOLDFAST_ETCD_PEER)) GTEST_SKIP() << "there is no " << HOLDFAST_ETCD_PEER;
  }

  static line_process peer(words const& rest, int ttl = 60) {
    words command{HOLDFAST_ETCD_PEER, three_etcds().endpoint(), std::to_string(ttl)};
    command.insert(command.end(), rest.begin(), rest.end());
    return line_process{command};
  }
};

TEST_F(go_election, proclaims_new_values_which_our_observers_hear_in_order) {
  election contested{etcd_, "go_says"};
  observed seen;
  auto const observer = contested.observe(seen.handler());
  ASSERT_TRUE(eventually([&] { return seen.last() == "-"; }));
  auto other = peer({"lead", "go_says", "a"});
  auto const line = other.read_line();
  ASSERT_THAT(line, StartsWith("leads "));
  ASSERT_TRUE(eventually([&] { return seen.last() == "a"; }));
  EXPECT_EQ(other.reply_to("say b"), "said b");
  ASSERT_TRUE(eventually([&] { return seen.last() == "b"; }));
  auto const leader = contested.leader();
  ASSERT_TRUE(leader);
  EXPECT_EQ(leader->value, "b");
  EXPECT_EQ(leader->term, std::stoll(line.substr(6)));
  EXPECT_EQ(other.reply_to("now"), "resigned");
  ASSERT_TRUE(eventually([&] { return seen.last() == "-"; }));
  EXPECT_THAT(seen.values(), ElementsAre("-", "a", "b", "-"));
}

TEST_F(go_election, waits_for_our_leader_and_we_wait_for_it) {
  election contested{etcd_, "go_waits"};
  auto leading = contested.campaign("ours");
  auto const term = leading.token();
  auto other = peer({"lead", "go_waits", "theirs"});
  ASSERT_TRUE(eventually([] { return places("go_waits") == 2; }));
  std::optional<lease> again;
  std::jthread candidate{[&] {
    client another{three_etcds().url(), {.patience = wait_limit, .recheck = 30s}};
    election third{another, "go_waits"};
    auto const mine = third.campaign("third");
    EXPECT_EQ(contested.leader()->value, "third");
  }};
  ASSERT_TRUE(eventually([] { return places("go_waits") == 3; }));
  EXPECT_EQ(leading.release(), release_result::released);
  auto const line = other.read_line();
  ASSERT_THAT(line, StartsWith("leads "));
  EXPECT_GT(std::stoll(line.substr(6)), term);
  EXPECT_EQ(contested.leader()->value, "theirs");
  EXPECT_EQ(other.reply_to("now"), "resigned");
}

TEST_F(go_election, observes_our_leaders) {
  election contested{etcd_, "go_observes"};
  auto one = contested.campaign("one");
  auto other = peer({"observe", "go_observes"});
  EXPECT_EQ(other.read_line(), "one " + std::to_string(one.token()));
  EXPECT_EQ(one.release(), release_result::released);
  auto const two = contested.campaign("two");
  EXPECT_EQ(other.read_line(), "two " + std::to_string(two.token()));
}

TEST_F(go_election, is_followed_by_us_when_its_process_was_killed) {
  election contested{etcd_, "go_killed"};
  auto other = peer({"lead", "go_killed", "theirs"}, 2);
  ASSERT_THAT(other.read_line(), StartsWith("leads "));
  other.kill9();
  EXPECT_TRUE(contested.try_campaign_for("ours", wait_limit));
}

TEST_F(go_election, follows_us_when_our_process_was_killed) {
  leader_process ours{three_etcds().url(), "we_killed", "ours", 2s};
  ASSERT_THAT(ours.read_line(), StartsWith("leads "));
  auto other = peer({"lead", "we_killed", "theirs"});
  ASSERT_TRUE(eventually([] { return places("we_killed") == 2; }));
  ours.kill9();
  EXPECT_THAT(other.read_line(), StartsWith("leads "));
  EXPECT_EQ(election(etcd_, "we_killed").leader()->value, "theirs");
}

}  // namespace
}  // namespace holdfast::test
