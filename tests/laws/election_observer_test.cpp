/// Observers of an election: each change, in order, and nobody's word but the server's.
#include "electing.hpp"

#include <holdfast/inspect.hpp>

#include <map>
#include <thread>

#include "support/leader_log.hpp"

namespace holdfast::test {
namespace {

TEST_F(electing, tells_observers_of_each_change_in_order) {
  first_.campaign("-").release();
  ASSERT_TRUE(has_record(first_client_, raw_));
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

TEST_F(electing, tells_observers_of_a_release_by_force) {
  std::string const dead = "6f1cb0d2-55a3-4f1e-9d0c-0a7be1f2c3d4:1";
  raw_.command({"SET", "e", dead, "PX", "60000"});
  raw_.command({"HSET", "{e}:holdfast_leader", "owner", dead, "term", "1", "value", "dead"});
  leader_log log;
  auto const observer = first_.observe(log.handler());
  ASSERT_TRUE(eventually([&] { return log.last() == "dead"; }));
  EXPECT_EQ(force_release(second_client_, "e", {.grace = 1ms}), force_result::deleted);
  EXPECT_TRUE(eventually([&] { return log.last() == "-"; }));
  EXPECT_FALSE(raw_.exists("{e}:holdfast_leader"));
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
