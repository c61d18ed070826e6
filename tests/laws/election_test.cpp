/// holdfast::election: one leader, whose value others find, and never that of a former one.
#include "law.hpp"

#include <holdfast/election.hpp>
#include <holdfast/fair_mutex.hpp>
#include <holdfast/inspect.hpp>

#include <map>
#include <thread>

#include "script/names.hpp"
#include "support/leader_log.hpp"

namespace holdfast::test {
namespace {

class electing : public testing::Test {
 protected:
  [[nodiscard]] client connect(client_options options = {.recheck = 30s}) const {
    return client{server_.url(), with_long_timeouts(std::move(options))};
  }
  /// So many candidates wait, and each has its inbox open: a release passes over who hasn't.
  [[nodiscard]] bool has_candidates(std::size_t count) {
    return eventually([&] {
      auto const queue = raw_.command({"ZRANGE", "{e}:holdfast_queue", "0", "-1"}).elements;
      return queue.size() == count && std::ranges::all_of(queue, [this](auto const& waiter) {
               return raw_.listeners(names::inbox(waiter.text.substr(0, 36), "e")) >= 1;
             });
    });
  }
  [[nodiscard]] std::string value_of(election& e) {
    auto const leader = e.leader();
    return leader ? leader->value : "-";
  }
  [[nodiscard]] std::string id_of(client const& candidate) {
    for (auto const& each : first_.candidates()) {
      if (each.owner.substr(0, 36) == candidate.uuid()) return each.owner;
    }
    return {};
  }

  deployment_under_test server_{};
  raw_servers raw_ = server_.raw();
  client first_client_ = connect({.label = "the first", .recheck = 30s});
  client second_client_ = connect();
  client third_client_ = connect();
  election first_{first_client_, "e"};
  election second_{second_client_, "e"};
  election third_{third_client_, "e"};
};

TEST_F(electing, shows_the_leader_with_value_term_and_process) {
  EXPECT_FALSE(second_.leader());
  auto leading = first_.campaign("10.0.0.7:80");
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
  }
  auto const held = lock.acquire();
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
  second_.async_campaign("b", second.handler());
  ASSERT_TRUE(has_candidates(1));
  pending third;
  third_.async_campaign("c", third.handler());
  ASSERT_TRUE(has_candidates(2));
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
  second_.async_campaign("b", second.handler());
  ASSERT_TRUE(has_candidates(1));
  pending third;
  third_.async_campaign("c", third.handler());
  ASSERT_TRUE(has_candidates(2));
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

TEST_F(electing, tells_observers_of_each_change_in_order) {
  leader_log log;
  auto const observer = third_.observe(log.handler());
  ASSERT_TRUE(eventually([&] { return log.last() == "-"; })) << "nobody, at first";
  ASSERT_TRUE(eventually([&] { return raw_.listeners("{e}:holdfast_leader") >= 1; }));
  for (auto const* const value : {"a", "b", "c"}) {
    auto const leading = first_.campaign(value);
    ASSERT_TRUE(eventually([&] { return log.last() == value; }));
    auto const last = log.all().back();
    EXPECT_EQ(last->term, leading.token());
    EXPECT_EQ(last->process.pid, ::getpid());
    EXPECT_EQ(last->process.owner, leading.owner());
  }
  ASSERT_TRUE(eventually([&] { return log.last() == "-"; }));
  EXPECT_EQ(log.leaders(), (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_TRUE(log.in_order());
}

TEST_F(electing, tells_an_observer_that_comes_late_who_leads) {
  auto const leading = first_.campaign("a");
  leader_log log;
  leader_log own_log;
  auto const observer = third_.observe(log.handler());
  auto const own = first_.observe(own_log.handler());
  EXPECT_TRUE(eventually([&] { return log.last() == "a" && own_log.last() == "a"; }));
  EXPECT_EQ(own_log.all().back()->process.label, "the first");
  EXPECT_EQ(log.size(), 1u);
}

TEST_F(electing, tells_observers_in_order_however_fast_leaders_change) {
  constexpr auto leaders_each = 25;
  leader_log log;
  leader_log other_log;
  auto observer_client = connect();
  election observed{observer_client, "e"};
  auto const observer = observed.observe(log.handler());
  auto const other_observer = second_.observe(other_log.handler());
  std::mutex guard;
  std::map<std::int64_t, std::string> led;
  {
    std::vector<std::jthread> candidates;
    for (auto* const each : {&first_, &second_, &third_}) {
      candidates.emplace_back([&, each] {
        for (auto i = 0; i < leaders_each; ++i) {
          auto const value = std::to_string(reinterpret_cast<std::uintptr_t>(each)) + "/" + std::to_string(i);
          auto const leading = each->campaign(value);
          std::scoped_lock const hold{guard};
          EXPECT_TRUE(led.emplace(leading.token(), value).second);
        }
      });
    }
  }
  auto const last = first_.campaign("the last");
  led.emplace(last.token(), "the last");
  EXPECT_EQ(led.size(), 3u * leaders_each + 1);
  for (auto* const seen : {&log, &other_log}) {
    ASSERT_TRUE(eventually([&] { return seen->last() == "the last"; }));
    EXPECT_TRUE(seen->in_order());
    for (auto const& report : seen->all()) {
      if (report) {
        EXPECT_EQ(led[report->term], report->value) << "each term has its leader's value";
      }
    }
  }
}

TEST_F(electing, is_not_told_by_messages_who_leads) {
  auto const leading = first_.campaign("a");
  leader_log log;
  auto const observer = third_.observe(log.handler());
  ASSERT_TRUE(eventually([&] { return log.last() == "a"; }));
  ASSERT_TRUE(eventually([&] { return raw_.listeners("{e}:holdfast_leader") >= 1; }));
  auto const looks = third_client_.stats().commands;
  for (auto const* const text : {"leader 9223372036854775807", "leader 0", "leader", "", "nonsense"})
    raw_.publish("{e}:holdfast_leader", text);
  ASSERT_TRUE(eventually([&] { return third_client_.stats().commands > looks; }));
  raw_.publish("{e}:holdfast_inbox:" + third_client_.uuid(), "granted 1 9223372036854775807 1 e");
  EXPECT_TRUE(always(100ms, [&] { return log.size() == 1; }));
}

TEST_F(electing, finds_out_without_messages) {
  auto quick = connect({.recheck = 50ms});
  election observed{quick, "e"};
  leader_log log;
  auto const observer = observed.observe(log.handler());
  auto const leading = first_.campaign("a");
  ASSERT_TRUE(eventually([&] { return log.last() == "a"; }));
  raw_.del("e");  // as a release by force does it, without a message to observers
  EXPECT_TRUE(eventually([&] { return log.last() == "-"; }));
}

TEST_F(electing, tells_observers_when_the_ttl_of_a_dead_leader_is_over) {
  leader_log log;
  raw_.command({"SET", "e", "11111111-1111-4111-8111-111111111111:7", "PX", "1000"});
  raw_.command({"HSET", "{e}:holdfast_leader", "owner", "11111111-1111-4111-8111-111111111111:7", "term", "5",
                "value", "dead"});
  auto const observer = third_.observe(log.handler());
  ASSERT_TRUE(eventually([&] { return log.last() == "dead" || log.last() == "-"; }));
  EXPECT_TRUE(eventually([&] { return log.last() == "-"; })) << "not at the re-check";
  raw_.del("{e}:holdfast_leader");
}

TEST_F(electing, never_tells_of_an_older_leader_after_a_newer_one) {
  leader_log log;
  auto quick = connect({.recheck = 50ms});
  election observed{quick, "e"};
  auto const observer = observed.observe(log.handler());
  auto leading = first_.campaign("new");
  ASSERT_TRUE(eventually([&] { return log.last() == "new"; }));
  // The server has fallen back to older data.
  raw_.command({"HSET", "{e}:holdfast_leader", "owner", "11111111-1111-4111-8111-111111111111:7", "term", "5",
                "value", "old"});
  raw_.command({"SET", "e", "11111111-1111-4111-8111-111111111111:7", "PX", "30000"});
  raw_.publish("{e}:holdfast_leader", "leader 5");
  ASSERT_TRUE(eventually([&] { return log.last() == "-"; }));
  EXPECT_TRUE(always(200ms, [&] { return log.last() == "-"; }));
  raw_.del("e");
  auto const next = first_.campaign("newer");
  EXPECT_TRUE(eventually([&] { return log.last() == "newer"; }));
  EXPECT_TRUE(log.in_order());
}

TEST_F(electing, tells_an_observer_nothing_after_its_end) {
  auto const log = std::make_shared<leader_log>();
  std::weak_ptr<leader_log> const alive{log};
  {
    auto observer =
        third_.observe([log, handler = log->handler()](auto const& leader) mutable { handler(leader); });
    ASSERT_TRUE(eventually([&] { return log->size() == 1; }));
    auto moved = std::move(observer);
    observer = {};
    auto const leading = first_.campaign("a");
    EXPECT_TRUE(eventually([&] { return log->last() == "a"; })) << "it was moved, not ended";
    moved = leader_observer{};
  }
  auto const seen = log->size();
  auto const leading = first_.campaign("b");
  EXPECT_TRUE(always(50ms, [&] { return log->size() == seen; }));
}

TEST_F(electing, may_end_an_observer_in_its_own_call) {
  auto const observer = std::make_shared<std::optional<leader_observer>>();
  std::atomic<int> calls = 0;
  std::atomic<bool> assigned = false;
  *observer = third_.observe([&, observer](auto const& leader) {
    if (!leader || !assigned) return;
    ++calls;
    observer->reset();
  });
  assigned = true;
  auto leading = first_.campaign("a");
  if (!eventually([&] { return calls == 1; })) FAIL();
  leading.release();
  auto const next = second_.campaign("b");
  EXPECT_TRUE(always(50ms, [&] { return calls == 1; }));
}

TEST_F(electing, calls_no_observer_from_two_threads_at_a_time) {
  std::atomic<int> inside = 0;
  std::atomic<int> most = 0;
  std::atomic<int> calls = 0;
  auto const observer = third_.observe([&](auto const&) {
    most = std::max(most.load(), ++inside);
    (void)third_.leader();  // waits, so others go on with the callbacks
    ++calls;
    --inside;
  });
  for (auto i = 0; i < 20; ++i) {
    auto const leading = first_.campaign(std::to_string(i));
    auto const own_look = third_.leader();
  }
  auto const last = first_.campaign("last");
  EXPECT_TRUE(eventually([&] { return calls >= 2 && inside == 0; }));
  EXPECT_EQ(most, 1);
}

TEST_F(electing, ends_observers_with_their_client) {
  leader_log log;
  std::optional<client> passing{connect()};
  std::optional<election> observed{std::in_place, *passing, "e"};
  auto observer = observed->observe(log.handler());
  ASSERT_TRUE(eventually([&] { return log.size() == 1; }));
  observed.reset();
  passing.reset();
  auto const leading = first_.campaign("a");
  EXPECT_TRUE(always(50ms, [&] { return log.size() == 1; }));
}

}  // namespace
}  // namespace holdfast::test
