/// Sentinels that say what the test wants, and servers that know nothing of each other.
#include "fault.hpp"
#include "scripted_sentinel.hpp"

#include <gmock/gmock.h>

namespace holdfast::test {
namespace {

using testing::HasSubstr;

/// One sentinel that does as it is told, and two servers that know nothing of each other.
class told_sentinel : public testing::Test {
 protected:
  static std::unique_ptr<redis_server> watching(redis_server const& master) {
    return redis_server::make(
        {.on = server_options::listen::tcp,
         .args = {"--sentinel"},
         .config = "sentinel monitor mymaster 127.0.0.1 " + std::to_string(master.port()) + " 1\n"});
  }
  static std::unique_ptr<redis_server> data() {
    return redis_server::make(
        {.on = server_options::listen::tcp, .args = {"--repl-diskless-sync-delay", "0"}});
  }

  std::unique_ptr<redis_server> first_ = data();
  std::unique_ptr<redis_server> second_ = data();
  std::unique_ptr<redis_server> sentinel_ = watching(*first_);
  log_lines lines_;
};

TEST_F(told_sentinel, request_that_a_demoted_master_refuses_goes_to_the_new_one) {
  client redis{"redis+sentinel://" + sentinel_->address() + "/mymaster", {.log = lines_.hook()}};
  mutex m{redis, "orders", {.replicas = 0}};
  auto held = mutex{redis, "other", {.ttl = 10min, .watchdog = false}}.acquire();
  m.acquire().release();
  auto const old = first_->raw().calls_of("evalsha");
  ASSERT_FALSE(sentinel_->raw().command({"SENTINEL", "REMOVE", "mymaster"}).is_error());
  ASSERT_FALSE(first_->raw().command({"REPLICAOF", "127.0.0.1", std::to_string(second_->port())}).is_error());
  ASSERT_FALSE(
      sentinel_->raw()
          .command({"SENTINEL", "MONITOR", "mymaster", "127.0.0.1", std::to_string(second_->port()), "1"})
          .is_error());
  auto const mine = m.acquire();
  EXPECT_TRUE(mine.valid());
  EXPECT_EQ(second_->raw().get("orders"), mine.owner());
  EXPECT_GT(first_->raw().calls_of("evalsha"), old) << "the old one was asked, and refused";
  EXPECT_TRUE(eventually([&] { return held.lost().stop_requested(); }));
  EXPECT_EQ(held.lost_because(), loss_cause::key_gone);
}

TEST_F(told_sentinel, master_that_comes_back_empty_is_noticed_at_once) {
  client redis{"redis+sentinel://" + sentinel_->address() + "/mymaster"};
  mutex m{redis, "orders", {.ttl = 10min}};
  auto const mine = m.acquire();
  first_->kill9();
  first_->start();  // before the sentinel, which is alone, has missed it
  EXPECT_TRUE(eventually([&] { return mine.lost().stop_requested(); }));
  EXPECT_EQ(mine.lost_because(), loss_cause::key_gone);
}

TEST_F(told_sentinel, replica_that_is_called_the_master_is_not_believed) {
  in_one_round_of(5, [&] {  // in which it is asked before the sentinel has found out
    auto const wrong_one =
        redis_server::make({.on = server_options::listen::tcp,
                            .args = {"--replicaof", "127.0.0.1 " + std::to_string(first_->port())}});
    auto const misled = watching(*wrong_one);
    client redis{"redis+sentinel://" + misled->address() + "/mymaster", {.connect_timeout = 500ms}};
    auto const wrong = failure_of([&] { redis.connect(); });
    EXPECT_EQ(wrong.code, errc::unreachable);
    EXPECT_THAT(wrong.what,
                HasSubstr(wrong_one->address() + " is a replica and not, or no more, the master"));
  });
}

TEST_F(told_sentinel, sentinel_that_takes_long_to_reach_is_given_the_time_for_it) {
  flaky_proxy slow{sentinel_->socket_path()};
  auto const of_handshake = [](request const& r) { return r.has("SETNAME"); };
  slow.decide([=](request const& r) { return of_handshake(r) ? fate::delay_reply(1500ms) : fate::pass(); });
  client redis{"redis+sentinel://" + slow.address() + "/mymaster", {.connect_timeout = 20s}};
  EXPECT_TRUE(mutex(redis, "orders").acquire().valid());
}

/// Three sentinels that say what they are told to, of three servers that know nothing of each other.
class late_sentinel : public told_sentinel {
 protected:
  late_sentinel() {
    for (auto* const one : all_) {
      std::vector<std::string> others;
      for (auto const* const other : all_) {
        if (other != one) others.push_back(other->address());
      }
      one->meet(std::move(others));
    }
  }
  static scripted_sentinel::word is(redis_server const& master, int epoch) {
    return {.port = master.port(), .epoch = epoch};
  }
  /// The first two take part in both failovers, of which the second is announced.
  void fail_over_twice() {
    for (auto* const one : {&one_, &two_}) one->say(is(*third_, 2));
    one_.announce(second_->address(), third_->address());
  }
  [[nodiscard]] bool is_at(client& redis, redis_server const& server) {
    // Each time another: a release on its way while the master changes leaves the key behind on the old one.
    auto const name = "where:" + std::to_string(++looks_);
    mutex m{redis, name, {.ttl = 10min}};
    auto const mine = m.acquire();
    return server.raw().get(name) == mine.owner();
  }
  [[nodiscard]] bool comes_to(client& redis, redis_server const& server) {
    return eventually([&] { return is_at(redis, server); });
  }
  /// All answers to what the sentinel has caused us to ask have come.
  [[nodiscard]] bool has_been_asked(scripted_sentinel const& who, std::size_t before) {
    return eventually([&] { return who.asked() > before; });
  }

  int looks_ = 0;
  std::unique_ptr<redis_server> third_ = data();
  scripted_sentinel one_{is(*first_, 0), "1"};
  scripted_sentinel two_{is(*first_, 0), "2"};
  scripted_sentinel late_{is(*first_, 0), "3"};
  std::vector<scripted_sentinel*> const all_{&one_, &two_, &late_};
  std::string const url_ =
      "redis+sentinel://" + one_.address() + "," + two_.address() + "," + late_.address() + "/mymaster";
  client redis_{url_, unhurried({.log = lines_.hook()})};
};

TEST_F(late_sentinel, failover_is_followed_as_soon_as_it_is_announced) {
  EXPECT_TRUE(is_at(redis_, *first_));
  mutex m{redis_, "orders", {.ttl = 10min}};
  auto const mine = m.acquire();
  fail_over_twice();
  EXPECT_TRUE(eventually([&] { return mine.lost().stop_requested(); }));
  EXPECT_EQ(mine.lost_because(), loss_cause::key_gone);
  EXPECT_TRUE(is_at(redis_, *third_));
}

TEST_F(late_sentinel, old_news_of_one_that_was_cut_off_are_not_believed) {
  EXPECT_TRUE(is_at(redis_, *first_));
  fail_over_twice();
  ASSERT_TRUE(comes_to(redis_, *third_));
  mutex m{redis_, "orders", {.ttl = 10min}};
  auto const mine = m.acquire();

  late_.say(is(*second_, 1));
  auto before = late_.asked();
  late_.announce(first_->address(), second_->address());
  ASSERT_TRUE(has_been_asked(late_, before));
  // The choice comes back, but not by this: the number of a failover says when it was.
  before = late_.asked();
  late_.announce(third_->address(), second_->address());
  ASSERT_TRUE(has_been_asked(late_, before));
  EXPECT_TRUE(is_at(redis_, *third_));
  EXPECT_TRUE(mine.valid());
  EXPECT_EQ(second_->raw().calls_of("evalsha"), 0u);

  for (auto* const one : all_) one->say(is(*first_, 3));
  one_.announce(third_->address(), first_->address());
  EXPECT_TRUE(comes_to(redis_, *first_)) << "what is newer is believed all the same";
}

TEST_F(late_sentinel, old_news_are_not_believed_when_the_connection_is_made_again) {
  EXPECT_TRUE(is_at(redis_, *first_));
  fail_over_twice();
  ASSERT_TRUE(comes_to(redis_, *third_));
  late_.say(is(*second_, 1));
  auto const before = late_.asked();
  late_.announce(first_->address(), second_->address());
  ASSERT_TRUE(has_been_asked(late_, before));
  third_->raw().kill_clients("normal");
  EXPECT_TRUE(is_at(redis_, *third_));
  EXPECT_EQ(second_->raw().calls_of("evalsha"), 0u);
}

/// No number is known where the user may not ask for it: what most say counts, also for who is up.
TEST_F(late_sentinel, change_of_mind_of_most_is_followed_by_who_is_up) {
  EXPECT_TRUE(is_at(redis_, *first_));
  one_.say(is(*second_, 0));
  auto const before = one_.asked();
  one_.announce(first_->address(), second_->address());
  ASSERT_TRUE(has_been_asked(one_, before));
  EXPECT_TRUE(is_at(redis_, *first_)) << "one of three";
  late_.say(is(*second_, 0));
  late_.announce(first_->address(), second_->address());
  EXPECT_TRUE(comes_to(redis_, *second_));
}

/// Their numbers begin at zero again.
TEST_F(late_sentinel, sentinels_that_were_set_up_anew_are_believed_in_the_end) {
  EXPECT_TRUE(is_at(redis_, *first_));
  fail_over_twice();
  ASSERT_TRUE(comes_to(redis_, *third_));
  for (auto* const one : all_) one->say(is(*second_, 0));
  one_.announce(third_->address(), second_->address());
  EXPECT_TRUE(is_at(redis_, *third_)) << "not yet";
  EXPECT_TRUE(eventually(40s, [&] { return is_at(redis_, *second_); })) << "though nobody's line broke";
}

TEST_F(told_sentinel, sentinels_that_go_on_disagreeing_are_named) {
  auto const another = watching(*second_);
  client redis{"redis+sentinel://" + sentinel_->address() + "," + another->address() + "/mymaster",
               {.log = lines_.hook()}};
  mutex m{redis, "orders"};
  auto const mine = m.acquire();
  ASSERT_TRUE(eventually(30s, [&] { return !lines_.of(log_level::warning).empty(); }));
  auto const line = lines_.of(log_level::warning).front();
  EXPECT_THAT(line, HasSubstr("the sentinels disagree"));
  EXPECT_THAT(line, HasSubstr(sentinel_->address() + " says " + first_->address()));
  EXPECT_THAT(line, HasSubstr(another->address() + " says " + second_->address()));
  EXPECT_TRUE(mine.valid());
}

}  // namespace
}  // namespace holdfast::test
