/// Sentinels that hear of a failover one after the other, or late, and masters that answer late.
#include "told_sentinel.hpp"

#include <gmock/gmock.h>

#include <algorithm>

namespace holdfast::test {
namespace {

/// Three sentinels whose reports the test sets, of three independent servers.
class late_sentinel : public told_sentinel {
 protected:
  late_sentinel() {
    for (auto* const sentinel : sentinels_) {
      std::vector<std::string> peers;
      for (auto const* const peer : sentinels_) {
        if (peer != sentinel) peers.push_back(peer->address());
      }
      sentinel->set_peers(std::move(peers));
    }
  }
  static scripted_sentinel::report report_of(redis_server const& master, int epoch) {
    return {.port = master.port(), .epoch = epoch};
  }
  void set_reports(scripted_sentinel::report const& all) {
    for (auto* const sentinel : sentinels_) sentinel->set_report(all);
  }
  void set_master_behind(flaky_proxy const& line) {
    auto const address = line.address();
    set_reports({.port = static_cast<std::uint16_t>(std::stoi(address.substr(address.find(':') + 1)))});
  }
  /// The first one does, and answers nothing more. From here on nothing else makes the client ask.
  void announce_and_be_silent() {
    ASSERT_TRUE(first_sentinel_.has_subscriber());
    // What it asks behind that, too.
    ASSERT_TRUE(eventually([&] {
      return always(200ms, [&, asked = first_sentinel_.asked()] { return first_sentinel_.asked() == asked; });
    }));
    first_sentinel_.be_silent(true);
    auto const before = first_sentinel_.asked();
    first_sentinel_.set_report(report_of(*second_, 1));
    first_sentinel_.announce(first_->address(), second_->address());
    ASSERT_TRUE(eventually([&] { return first_sentinel_.asked() > before; }));
  }
  /// The first master gives it, too, which doesn't count.
  void gets_the_lock_from_the_second_when_a_sentinel_answers() {
    mutex m{redis_, "orders", {.ttl = 10min}};
    waiter asks{m};
    ASSERT_TRUE(eventually([&] { return first_->raw().exists("orders"); }));
    EXPECT_TRUE(always(300ms, [&] { return !asks.done(); }));
    first_sentinel_.be_silent(false);
    ASSERT_TRUE(eventually([&] { return asks.done(); }));
    EXPECT_EQ(second_->raw().get("orders"), asks.take().owner());
  }
  /// The first two take part in both failovers, of which the second is announced.
  void fail_over_twice() {
    for (auto* const sentinel : {&first_sentinel_, &second_sentinel_})
      sentinel->set_report(report_of(*third_, 2));
    first_sentinel_.announce(second_->address(), third_->address());
  }
  [[nodiscard]] bool is_at(client& redis, redis_server const& server) {
    // A new name each time: a release under way while the master changes leaves the key on the old master.
    auto const name = "where:" + std::to_string(++names_used_);
    mutex m{redis, name, {.ttl = 10min}};
    auto const lease = m.acquire();
    return server.raw().get(name) == lease.owner();
  }
  [[nodiscard]] bool comes_to(client& redis, redis_server const& server) {
    return eventually([&] { return is_at(redis, server); });
  }
  /// The client has got all answers to the queries that the announcement has caused.
  [[nodiscard]] bool has_been_queried(scripted_sentinel const& sentinel, std::size_t before) {
    return eventually([&] { return sentinel.queries() > before; });
  }

  int names_used_ = 0;
  std::unique_ptr<redis_server> third_ = data();
  scripted_sentinel first_sentinel_{report_of(*first_, 0), "1"};
  scripted_sentinel second_sentinel_{report_of(*first_, 0), "2"};
  scripted_sentinel late_sentinel_{report_of(*first_, 0), "3"};
  std::vector<scripted_sentinel*> const sentinels_{&first_sentinel_, &second_sentinel_, &late_sentinel_};
  std::string const url_ = "redis+sentinel://" + first_sentinel_.address() + "," +
                           second_sentinel_.address() + "," + late_sentinel_.address() + "/mymaster";
  client redis_{url_, with_long_timeouts({.log = log_.hook()})};
};

TEST_F(late_sentinel, failover_is_followed_as_soon_as_it_is_announced) {
  EXPECT_TRUE(is_at(redis_, *first_));
  mutex m{redis_, "orders", {.ttl = 10min}};
  auto const lease = m.acquire();
  fail_over_twice();
  EXPECT_TRUE(eventually([&] { return lease.lost().stop_requested(); }));
  EXPECT_EQ(lease.lost_because(), loss_cause::key_gone);
  EXPECT_TRUE(is_at(redis_, *third_));
}

/// By the sentinel that leads it, which names the new master from then on, to new clients, too. It announces
/// the change when the other replicas follow, and the other sentinels do when they have learnt it.
TEST_F(late_sentinel, failover_is_followed_as_soon_as_the_replica_is_promoted) {
  EXPECT_TRUE(is_at(redis_, *first_));
  mutex m{redis_, "orders", {.ttl = 10min}};
  auto const lease = m.acquire();
  first_sentinel_.set_report(report_of(*second_, 1));
  first_sentinel_.announce_promotion(first_->address(), second_->address());
  EXPECT_TRUE(eventually([&] { return lease.lost().stop_requested(); }));
  EXPECT_EQ(lease.lost_because(), loss_cause::key_gone);
  EXPECT_TRUE(is_at(redis_, *second_));
}

TEST_F(late_sentinel, promotion_that_was_missed_is_asked_for_where_no_other_channel_is_allowed) {
  for (auto* const sentinel : sentinels_) sentinel->refuse_switches();
  client redis{url_, with_long_timeouts({.log = log_.hook()})};
  EXPECT_TRUE(is_at(redis, *first_));
  for (auto* const sentinel : sentinels_) ASSERT_TRUE(sentinel->has_subscriber("+promoted-slave"));
  EXPECT_TRUE(eventually([&] { return log_.of(log_level::warning).size() >= sentinels_.size(); }));
  EXPECT_THAT(log_.of(log_level::warning),
              testing::Each(testing::HasSubstr("grant &+switch-master, &+promoted-slave")));
  for (auto* const sentinel : {&first_sentinel_, &second_sentinel_})
    sentinel->set_report(report_of(*second_, 1));
  for (auto* const sentinel : sentinels_) sentinel->drop_listeners();
  EXPECT_TRUE(comes_to(redis, *second_));
}

TEST_F(late_sentinel, old_news_of_one_that_was_cut_off_are_not_believed) {
  EXPECT_TRUE(is_at(redis_, *first_));
  fail_over_twice();
  ASSERT_TRUE(comes_to(redis_, *third_));
  mutex m{redis_, "orders", {.ttl = 10min}};
  auto const lease = m.acquire();

  late_sentinel_.set_report(report_of(*second_, 1));
  auto before = late_sentinel_.queries();
  late_sentinel_.announce(first_->address(), second_->address());
  ASSERT_TRUE(has_been_queried(late_sentinel_, before));
  // The client chooses anew, and stays: the number of the failover shows that the report is old.
  before = late_sentinel_.queries();
  late_sentinel_.announce(third_->address(), second_->address());
  ASSERT_TRUE(has_been_queried(late_sentinel_, before));
  EXPECT_TRUE(is_at(redis_, *third_));
  EXPECT_TRUE(lease.valid());
  EXPECT_EQ(second_->raw().calls_of("evalsha"), 0u);

  for (auto* const sentinel : sentinels_) sentinel->set_report(report_of(*first_, 3));
  first_sentinel_.announce(third_->address(), first_->address());
  EXPECT_TRUE(comes_to(redis_, *first_)) << "what is newer is believed all the same";
}

TEST_F(late_sentinel, old_news_are_not_believed_when_the_connection_is_made_again) {
  EXPECT_TRUE(is_at(redis_, *first_));
  fail_over_twice();
  ASSERT_TRUE(comes_to(redis_, *third_));
  late_sentinel_.set_report(report_of(*second_, 1));
  auto const before = late_sentinel_.queries();
  late_sentinel_.announce(first_->address(), second_->address());
  ASSERT_TRUE(has_been_queried(late_sentinel_, before));
  third_->raw().kill_clients("normal");
  EXPECT_TRUE(is_at(redis_, *third_));
  EXPECT_EQ(second_->raw().calls_of("evalsha"), 0u);
}

/// Without the right to query them failover numbers are unknown: the majority counts, also when connected.
TEST_F(late_sentinel, change_of_mind_of_most_is_followed_by_who_is_up) {
  EXPECT_TRUE(is_at(redis_, *first_));
  first_sentinel_.set_report(report_of(*second_, 0));
  auto const before = first_sentinel_.queries();
  first_sentinel_.announce(first_->address(), second_->address());
  ASSERT_TRUE(has_been_queried(first_sentinel_, before));
  EXPECT_TRUE(is_at(redis_, *first_)) << "one of three";
  late_sentinel_.set_report(report_of(*second_, 0));
  late_sentinel_.announce(first_->address(), second_->address());
  EXPECT_TRUE(comes_to(redis_, *second_));
}

/// Their failover numbers begin at zero again.
TEST_F(late_sentinel, sentinels_that_were_set_up_anew_are_believed_in_the_end) {
  EXPECT_TRUE(is_at(redis_, *first_));
  fail_over_twice();
  ASSERT_TRUE(comes_to(redis_, *third_));
  for (auto* const sentinel : sentinels_) sentinel->set_report(report_of(*second_, 0));
  first_sentinel_.announce(third_->address(), second_->address());
  EXPECT_TRUE(is_at(redis_, *third_)) << "not yet";
  EXPECT_TRUE(eventually(40s, [&] { return is_at(redis_, *second_); })) << "though nobody's line broke";
}

/// The old master was suspended together with this client, and has the request that it had got before.
TEST_F(late_sentinel, master_that_answers_late_is_not_believed_before_the_sentinels_were_asked) {
  flaky_proxy slow_line{first_->socket_path()};
  set_master_behind(slow_line);
  EXPECT_TRUE(is_at(redis_, *first_));
  ASSERT_TRUE(first_sentinel_.has_subscriber());
  auto direct = second_->raw();
  direct.command({"SET", "orders", "somebody", "PX", "600000"});

  mutex m{redis_, "orders"};
  slow_line.freeze();
  waiter asks{m};
  EXPECT_TRUE(always(700ms, [&] { return !asks.done(); }));
  set_reports(report_of(*second_, 1));
  slow_line.thaw();
  EXPECT_TRUE(always(1s, [&] { return !asks.done(); })) << "the other one has the lock";
  direct.command({"DEL", "orders"});
  ASSERT_TRUE(eventually([&] { return asks.done(); }));
  EXPECT_EQ(second_->raw().get("orders"), asks.take().owner());
}

TEST_F(late_sentinel, master_that_answers_late_is_believed_if_it_still_is_the_master) {
  flaky_proxy slow_line{first_->socket_path()};
  set_master_behind(slow_line);
  EXPECT_TRUE(is_at(redis_, *first_));
  for (auto const reachable : {true, false}) {
    SCOPED_TRACE(reachable ? "the sentinels say so" : "the sentinels say nothing");
    for (auto* const sentinel : sentinels_) sentinel->be_silent(!reachable);
    mutex m{redis_, "orders"};
    slow_line.freeze();
    waiter asks{m};
    EXPECT_TRUE(always(700ms, [&] { return !asks.done(); }));
    slow_line.thaw();
    ASSERT_TRUE(eventually([&] { return asks.done(); }));
    EXPECT_EQ(first_->raw().get("orders"), asks.take().owner());
  }
}

/// It may know more than the majority that has answered.
TEST_F(late_sentinel, master_that_answers_late_is_not_believed_before_each_sentinel_had_a_moment_to_answer) {
  flaky_proxy slow_line{first_->socket_path()};
  set_master_behind(slow_line);
  EXPECT_TRUE(is_at(redis_, *first_));
  mutex m{redis_, "orders"};
  slow_line.freeze();
  waiter asks{m};
  EXPECT_TRUE(always(700ms, [&] { return !asks.done(); }));
  late_sentinel_.be_silent(true);
  auto const thawed = std::chrono::steady_clock::now();
  slow_line.thaw();
  ASSERT_TRUE(eventually([&] { return asks.done(); }));
  EXPECT_GE(std::chrono::steady_clock::now() - thawed, 200ms);
}

/// What it has answered late is held back until the sentinels were asked.
TEST_F(late_sentinel, requests_that_a_late_master_refuses_are_sent_again_in_their_order) {
  flaky_proxy slow_line{first_->socket_path()};
  set_master_behind(slow_line);
  EXPECT_TRUE(is_at(redis_, *first_));
  std::vector<std::string> const names{"first", "second", "third"};
  std::mutex guard;
  std::vector<std::string> seen;
  auto const decision = slow_line.decide_by([&](request const& r) {
    for (auto const& name : names) {
      if (!r.has("{" + name + "}") && !r.has(name)) continue;
      std::scoped_lock const hold{guard};
      seen.push_back(name);
      if (seen.size() <= names.size())
        return fate::error("READONLY You can't write against a read only replica.");
    }
    return fate::pass();
  });
  slow_line.freeze();
  std::vector<std::unique_ptr<mutex>> locks;
  std::vector<pending> all(names.size());
  for (auto const& name : names) {
    locks.push_back(std::make_unique<mutex>(redis_, name));
    locks.back()->async_try_acquire(all[locks.size() - 1].handler());
  }
  EXPECT_TRUE(always(700ms, [&] { return std::ranges::none_of(all, &pending::done); }));
  slow_line.thaw();
  for (auto& each : all) ASSERT_TRUE(eventually([&] { return each.done(); }));
  std::scoped_lock const hold{guard};
  ASSERT_GE(seen.size(), 2 * names.size());
  EXPECT_EQ((std::vector<std::string>{seen.begin() + 3, seen.begin() + 6}), names);
}

/// It announces the failover before the others know of it, and takes a while to answer.
TEST_F(late_sentinel, old_master_is_not_believed_from_the_announcement_of_a_failover_on) {
  EXPECT_TRUE(is_at(redis_, *first_));
  ASSERT_NO_FATAL_FAILURE(announce_and_be_silent());
  gets_the_lock_from_the_second_when_a_sentinel_answers();
}

/// Each of its connections is one to the server that is doubted.
TEST_F(late_sentinel, old_master_is_not_believed_over_its_next_connection_either) {
  EXPECT_TRUE(is_at(redis_, *first_));
  ASSERT_NO_FATAL_FAILURE(announce_and_be_silent());
  first_->raw().kill_clients("normal");
  gets_the_lock_from_the_second_when_a_sentinel_answers();
}

/// The machine of a frozen server accepts connections: the sentinels were asked before.
TEST_F(late_sentinel, master_that_was_frozen_while_it_was_dialled_is_not_believed_when_it_thaws) {
  flaky_proxy slow_line{first_->socket_path()};
  set_master_behind(slow_line);
  slow_line.freeze();
  client redis{url_, with_long_timeouts({})};
  mutex m{redis, "orders", {.ttl = 10min}};
  waiter asks{m};
  ASSERT_TRUE(eventually([&] { return slow_line.connections() > 0; }));
  EXPECT_TRUE(always(700ms, [&] { return !asks.done(); }));
  for (auto* const sentinel : sentinels_) sentinel->be_silent(true);
  set_reports(report_of(*second_, 1));
  slow_line.thaw();
  ASSERT_TRUE(eventually([&] { return first_->raw().exists("orders"); }));
  EXPECT_TRUE(always(300ms, [&] { return !asks.done(); })) << "another one may have taken its place";
  for (auto* const sentinel : sentinels_) sentinel->be_silent(false);
  ASSERT_TRUE(eventually([&] { return asks.done(); }));
  EXPECT_EQ(second_->raw().get("orders"), asks.take().owner());
}

/// Two sentinels say nothing, so the round of questions in which one has answered long ago isn't over.
TEST_F(late_sentinel, word_from_before_the_connection_broke_is_not_enough_for_the_next_one) {
  flaky_proxy slow_line{first_->socket_path()};
  set_master_behind(slow_line);
  EXPECT_TRUE(is_at(redis_, *first_));
  auto direct = second_->raw();
  direct.command({"SET", "orders", "somebody", "PX", "600000"});
  second_sentinel_.be_silent(true);
  late_sentinel_.be_silent(true);
  mutex m{redis_, "orders"};
  slow_line.freeze();
  waiter asks{m};
  EXPECT_TRUE(always(700ms, [&] { return !asks.done(); }));
  auto const before = first_sentinel_.queries();
  slow_line.thaw();
  ASSERT_TRUE(has_been_queried(first_sentinel_, before));
  EXPECT_TRUE(always(700ms, [&] { return !asks.done(); }));
  set_reports(report_of(*second_, 1));
  slow_line.cut_all();
  EXPECT_TRUE(always(1s, [&] { return !asks.done(); })) << "the other one has the lock";
  direct.command({"DEL", "orders"});
  ASSERT_TRUE(eventually([&] { return asks.done(); }));
  EXPECT_EQ(second_->raw().get("orders"), asks.take().owner());
}

}  // namespace
}  // namespace holdfast::test
