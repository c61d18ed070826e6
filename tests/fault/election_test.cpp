/// Elections when requests, messages, leaders and servers are lost.
#include "fault.hpp"

#include <holdfast/election.hpp>

#include <thread>

#include "script/names.hpp"
#include "scripts/election.hpp"
#include "support/leader_log.hpp"

namespace holdfast::test {
namespace {

namespace election_lua = scripts::election;

class election_fault : public fault {
 protected:
  election_fault() { election_.campaign("to load the scripts").release(); }

  [[nodiscard]] std::string value() {
    auto const leader = near_.leader();
    return leader ? leader->value : "-";
  }

  flaky_proxy proxy_{server_.socket_path()};
  client redis_{proxy_.url(), with_long_timeouts({.reply_timeout = 500ms, .recheck = 30s})};
  client near_client_{server_.url(), with_long_timeouts({.recheck = 30s})};
  election election_{redis_, "e"};
  election near_{near_client_, "e"};
};

TEST_F(election_fault, publishes_in_spite_of_each_disturbance) {
  auto const resent = redis_.stats().resent;
  auto n = 0;
  for (auto const& h : harms) {
    SCOPED_TRACE(h.title);
    proxy_.once([](request const& r) { return kind_of(r) == election_lua::publish::source.sha1; }, h.effect);
    auto const text = std::to_string(++n);
    auto leading = election_.campaign(text);
    EXPECT_TRUE(leading.valid());
    EXPECT_EQ(value(), text);
    std::atomic<int> outcome = -1;
    leading.async_release([&](release_result r) { outcome = static_cast<int>(r); });
    ASSERT_TRUE(eventually([&] { return outcome >= 0; }));
    EXPECT_TRUE(nothing_left_behind());
  }
  EXPECT_GE(redis_.stats().resent, resent + 4);
}

TEST_F(election_fault, resigns_in_spite_of_each_disturbance) {
  for (auto const& h : harms) {
    SCOPED_TRACE(h.title);
    auto leading = election_.campaign("a");
    pending next;
    near_.async_campaign("b", next.handler());
    ASSERT_TRUE(eventually([&] {
      return raw_.command({"PUBSUB", "NUMSUB", names::inbox(near_client_.uuid(), "e")}).elements[1].integer ==
                 1 &&
             raw_.command({"ZCARD", "{e}:holdfast_queue"}).integer == 1;
    }));
    proxy_.once([](request const& r) { return kind_of(r) == election_lua::release::source.sha1; }, h.effect);
    leading.async_release({});
    ASSERT_TRUE(eventually([&] { return next.done(); }));
    EXPECT_EQ(value(), "b");
    EXPECT_TRUE(always(20ms, [&] { return value() == "b"; })) << "a late copy takes nothing away";
    next.take()->release();
    EXPECT_TRUE(nothing_left_behind());
  }
}

TEST_F(election_fault, waits_again_when_the_lease_is_lost_before_its_value_is_there) {
  pending campaign;
  proxy_.once(
      [this](request const& r) {
        if (kind_of(r) != election_lua::publish::source.sha1) return false;
        raw_.del("e");  // somebody releases it by force just now
        return true;
      },
      {});
  election_.async_campaign("a", campaign.handler());
  ASSERT_TRUE(eventually([&] { return campaign.done(); }));
  auto const leading = campaign.take();
  ASSERT_TRUE(leading);
  EXPECT_EQ(value(), "a");
  EXPECT_EQ(raw_.get("e"), leading->owner());
}

/// No answer comes between the grant and the value, and the lease lasts for an hour.
TEST_F(election_fault, ends_a_campaign_whose_value_cannot_be_published) {
  client hasty_client{proxy_.url(), {.connect_timeout = 500ms, .reply_timeout = 500ms}};
  election hasty{hasty_client, "e", {.ttl = 1h}};
  std::stop_source stop;
  std::stop_source stop_async;
  std::atomic<std::stop_source*> current = &stop;
  auto const decision = proxy_.decide_by([&current](request const& r) {
    if (kind_of(r) != election_lua::publish::source.sha1) return fate::pass();
    current.load()->request_stop();
    return fate::swallow();
  });
  EXPECT_EQ(code_of([&] { (void)hasty.campaign("a", stop.get_token()); }), errc::cancelled);
  EXPECT_TRUE(nothing_left_behind());
  EXPECT_EQ(code_of([&] { (void)hasty.try_campaign("a"); }), errc::unreachable);
  EXPECT_TRUE(nothing_left_behind());
  current = &stop_async;
  pending campaign;
  hasty.async_campaign("a", campaign.handler(), stop_async.get_token());
  ASSERT_TRUE(eventually([&] { return campaign.done(); }));
  EXPECT_EQ(code_of([&] { (void)campaign.take(); }), errc::cancelled);
  EXPECT_TRUE(nothing_left_behind());
}

/// It restarts between the grant and the value, and the lease outlives that.
TEST_F(election_fault, goes_on_with_a_campaign_while_the_server_loads_its_data) {
  for (auto const waits : {false, true}) {
    SCOPED_TRACE(waits);
    client hasty_client{proxy_.url(), {.connect_timeout = 500ms, .reply_timeout = 500ms}};
    election hasty{hasty_client, "e", {.ttl = 1h}};
    std::atomic<bool> loading = false;
    std::atomic<bool> begun = false;
    auto const decision = proxy_.decide_by([&](request const& r) {
      if (loading) return fate::error("LOADING Redis is loading the dataset in memory");
      if (begun || kind_of(r) != election_lua::publish::source.sha1) return fate::pass();
      begun = loading = true;
      return fate::cut_before();
    });
    pending campaign;
    std::jthread blocked;
    if (waits) {
      blocked = std::jthread{[&hasty, done = campaign.handler()]() mutable {
        try {
          done(hasty.campaign("a"), nullptr);
        } catch (error const&) {
          done(std::nullopt, std::current_exception());
        }
      }};
    } else {
      hasty.async_campaign("a", campaign.handler());
    }
    ASSERT_TRUE(eventually([&] { return begun.load(); }));
    EXPECT_TRUE(always(2500ms, [&] { return !campaign.done(); }));
    loading = false;
    ASSERT_TRUE(eventually([&] { return campaign.done(); }));
    auto const leading = campaign.take();
    ASSERT_TRUE(leading);
    EXPECT_EQ(value(), "a");
  }
}

TEST_F(election_fault, tells_observers_that_messages_were_lost_at_the_re_check) {
  client deaf_client{proxy_.url(), with_long_timeouts({.recheck = 50ms})};
  election deaf{deaf_client, "e"};
  leader_log log;
  auto const observer = deaf.observe(log.handler());
  ASSERT_TRUE(eventually([&] { return log.last() == "-"; }));
  proxy_.swallow_messages(true);
  auto leading = near_.campaign("a");
  EXPECT_TRUE(eventually([&] { return log.last() == "a"; }));
  leading.release();
  EXPECT_TRUE(eventually([&] { return log.last() == "-"; }));
}

TEST_F(election_fault, tells_observers_after_a_reconnect) {
  leader_log log;
  auto const observer = election_.observe(log.handler());
  ASSERT_TRUE(eventually([&] { return log.last() == "-"; }));
  proxy_.refuse_connections(true);
  proxy_.cut_all();
  auto const leading = near_.campaign("a");
  proxy_.refuse_connections(false);
  EXPECT_TRUE(eventually([&] { return log.last() == "a"; })) << "not at the re-check";
}

TEST_F(election_fault, follows_a_leader_that_is_cut_off) {
  leader_log log;
  auto const observer = near_.observe(log.handler());
  election brief{redis_, "e", {.ttl = 2s}};
  auto const leading = brief.campaign("cut off");
  ASSERT_TRUE(eventually([&] { return log.last() == "cut off"; }));
  pending next;
  near_.async_campaign("next", next.handler());
  proxy_.freeze();
  ASSERT_TRUE(eventually([&] { return next.done(); }));
  EXPECT_FALSE(leading.valid()) << "before the next one leads";
  auto const follower = next.take();
  EXPECT_GT(follower->token(), leading.token());
  EXPECT_TRUE(eventually([&] { return log.last() == "next"; }));
  EXPECT_TRUE(log.in_order());
  EXPECT_EQ(log.leaders(), (std::vector<std::string>{"cut off", "next"}));
  proxy_.thaw();
  EXPECT_TRUE(always(100ms, [&] { return value() == "next"; }));
}

TEST_F(election_fault, takes_no_leader_for_one_while_it_cannot_ask) {
  client cut_client{proxy_.url(), {.connect_timeout = 500ms, .reply_timeout = 500ms, .recheck = 50ms}};
  election cut{cut_client, "e"};
  election brief{near_client_, "e", {.ttl = 5s}};
  leader_log log;
  auto const observer = cut.observe(log.handler());
  auto const leading = brief.campaign("a");
  ASSERT_TRUE(eventually([&] { return log.last() == "a"; }));
  proxy_.freeze();
  EXPECT_TRUE(eventually([&] { return log.last() == "-"; })) << "it may lead no more";
  proxy_.cut_all();
  proxy_.thaw();
  EXPECT_TRUE(eventually([&] { return log.last() == "a"; })) << "it still does";
  EXPECT_TRUE(log.in_order());
}

TEST_F(election_fault, outlives_a_server_that_comes_back_empty) {
  leader_log log;
  client patient{server_.url(), with_long_timeouts({.recheck = 50ms})};
  election observed{patient, "e"};
  auto const observer = observed.observe(log.handler());
  auto leading = near_.campaign("before");
  auto const term = leading.token();
  ASSERT_TRUE(eventually([&] { return log.last() == "before"; }));
  server_.kill9();
  server_.start();
  ASSERT_TRUE(eventually([&] { return !leading.valid(); }));
  EXPECT_NE(leading.lost_because(), loss_cause::none);
  EXPECT_TRUE(eventually([&] { return log.last() == "-"; }));
  auto const next = observed.campaign("after");
  EXPECT_GT(next.token(), term);
  EXPECT_TRUE(eventually([&] { return log.last() == "after"; }));
  EXPECT_TRUE(log.in_order());
}

TEST_F(election_fault, campaigns_where_it_may_not_publish) {
  raw_.command({"ACL", "SETUSER", "default", "resetchannels"});
  client mute_client{server_.url(), with_long_timeouts({.recheck = 50ms})};
  election mute{mute_client, "e"};
  leader_log log;
  auto const observer = mute.observe(log.handler());
  auto leading = mute.campaign("a");
  EXPECT_TRUE(eventually([&] { return log.last() == "a"; }));
  leading.release();
  EXPECT_TRUE(eventually([&] { return log.last() == "-"; }));
}

}  // namespace
}  // namespace holdfast::test
