/// A connection breaks, and its requests arrive all the same: behind the copies that were resent, when the
/// lock may have another owner.
#include "fault.hpp"
#include "quorum.hpp"

#include <holdfast/fair_mutex.hpp>
#include <holdfast/semaphore.hpp>

#include <algorithm>
#include <ostream>
#include <thread>

#include "script/names.hpp"
#include "scripts/exclusive.hpp"
#include "scripts/fair.hpp"
#include "scripts/permits.hpp"
#include "scripts/quorum.hpp"
#include "scripts/redisson_semaphore.hpp"

namespace holdfast::test {
namespace {

/// As an ACL that isn't made for late copies: the client can't end connections.
void forbid_kill(raw_redis& server) { server.command({"ACL", "SETUSER", "default", "-client|kill"}); }

class late_copies : public fault {
 protected:
  /// Holds back the next run of that script from the server, and ends the client's connection.
  void hold_back(script const& disturbed) {
    raw_.command({"SCRIPT", "LOAD", std::string{disturbed.text}});
    held_back_ = false;
    proxy_.decide([this, sha = std::string{disturbed.sha1}](request const& r) {
      if (held_back_ || !r.has(sha)) return fate::pass();
      held_back_ = true;
      return fate::hold_back();
    });
  }
  /// Returns when the server has carried out every request that it will ever get.
  void deliver() {
    EXPECT_TRUE(held_back_);
    proxy_.deliver();
    EXPECT_TRUE(eventually([this] { return proxy_.held_back() == 0; }));
  }

  std::atomic<bool> held_back_ = false;
  flaky_proxy proxy_{server_.socket_path()};
  log_lines log_;
  client redis_{proxy_.url(), with_long_timeouts({.cas = cas::lua, .log = log_.hook()})};
  mutex lock_{redis_, "orders"};
};

TEST_F(late_copies, of_an_acquisition_do_not_take_the_lock_for_nobody) {
  hold_back(scripts::exclusive::acquire::source);
  lock_.acquire().release();
  deliver();
  EXPECT_FALSE(raw_.exists("orders"));
  EXPECT_TRUE(log_.of(log_level::warning).empty());
}

TEST_F(late_copies, of_an_acquisition_do_not_queue_who_has_gone) {
  client other{server_.url(), with_long_timeouts()};
  mutex other_mutex{other, "orders"};
  auto lease = other_mutex.acquire();
  hold_back(scripts::exclusive::acquire::source);
  std::stop_source stop;
  waiter next{lock_, stop.get_token()};
  auto const queue_length = [this] { return raw_.command({"ZCARD", "{orders}:holdfast_queue"}).integer; };
  ASSERT_TRUE(eventually([&] { return queue_length() == 1; }));
  stop.request_stop();
  ASSERT_TRUE(eventually([&] { return queue_length() == 0; }));
  deliver();
  EXPECT_EQ(queue_length(), 0);
  EXPECT_EQ(lease.release(), release_result::released);
  EXPECT_TRUE(nothing_left_behind());
}

TEST_F(late_copies, of_a_release_touch_nobody_else) {
  auto lease = lock_.acquire();
  hold_back(scripts::exclusive::release::source);
  EXPECT_EQ(lease.release(), release_result::released);
  client other{server_.url(), with_long_timeouts()};
  mutex other_mutex{other, "orders"};
  auto other_lease = other_mutex.acquire();
  deliver();
  EXPECT_EQ(raw_.get("orders"), other_lease.owner());
}

TEST_F(late_copies, of_a_semaphore_take_no_permits_when_their_note_is_gone) {
  for (auto const format : {wire::plain, wire::redisson}) {
    auto const on_plain = format == wire::plain;
    semaphore uploads{redis_, on_plain ? "uploads" : "downloads", {.wire = format}};
    uploads.try_set_permits(10);
    hold_back(on_plain ? scripts::permits::acquire::source : scripts::redisson_semaphore::acquire::source);
    uploads.acquire(3);
    uploads.release(3);
    for (auto const& key : raw_.keys("*:holdfast_done:*")) raw_.del(key);  // as after its two minutes
    deliver();
    EXPECT_EQ(uploads.available(), 10);
  }
}

/// There a copy is known by the owner that has given up.
TEST_F(late_copies, of_a_semaphore_take_no_permits_where_the_connection_cannot_be_ended) {
  forbid_kill(raw_);
  for (auto const format : {wire::plain, wire::redisson}) {
    auto const on_plain = format == wire::plain;
    semaphore uploads{redis_, on_plain ? "uploads" : "downloads", {.wire = format}};
    uploads.try_set_permits(10);
    auto const& disturbed =
        on_plain ? scripts::permits::acquire::source : scripts::redisson_semaphore::acquire::source;
    hold_back(disturbed);
    uploads.acquire(3);
    EXPECT_EQ(uploads.available(), 7);
    uploads.release(3);
    deliver();
    EXPECT_EQ(uploads.available(), 10);
    uploads.acquire(10);
    hold_back(disturbed);
    EXPECT_FALSE(uploads.try_acquire(2)) << "of one that tried";
    uploads.release(10);
    deliver();
    EXPECT_EQ(uploads.available(), 10);
  }
}

TEST_F(late_copies, of_a_semaphore_take_no_permits_for_a_caller_that_has_gone) {
  forbid_kill(raw_);
  semaphore uploads{redis_, "uploads", 3};
  uploads.acquire(3);
  hold_back(scripts::permits::acquire::source);
  std::stop_source stop;
  std::jthread leaving{
      [&] { EXPECT_EQ(failure_of([&] { uploads.acquire(2, stop.get_token()); }).code, errc::cancelled); }};
  auto const queue_length = [this] {
    return raw_.command({"ZCARD", names::permit_queue("uploads")}).integer;
  };
  EXPECT_TRUE(eventually([&] { return queue_length() > 0; }));
  stop.request_stop();
  leaving.join();
  EXPECT_TRUE(eventually([&] { return queue_length() == 0; }));
  uploads.release(3);
  deliver();
  EXPECT_EQ(uploads.available(), 3);
}

TEST_F(late_copies, of_a_semaphore_give_no_permits_when_their_note_is_gone) {
  for (auto const format : {wire::plain, wire::redisson}) {
    auto const on_plain = format == wire::plain;
    semaphore uploads{redis_, on_plain ? "uploads" : "downloads", {.wire = format}};
    uploads.try_set_permits(10);
    uploads.acquire(3);
    hold_back(on_plain ? scripts::permits::give_back::source : scripts::redisson_semaphore::add::source);
    uploads.release(3);
    for (auto const& key : raw_.keys("*:holdfast_done:*")) raw_.del(key);
    deliver();
    EXPECT_EQ(uploads.available(), 10);
  }
}

/// Acquisitions that replicas acknowledge have a connection of their own. The request that takes one back
/// goes over the other connection, which need not be made again for that.
TEST_F(late_copies, of_an_acquisition_do_not_come_behind_what_took_it_back_over_another_connection) {
  client redis{proxy_.url(), {.connect_timeout = 500ms, .log = log_.hook()}};
  mutex{redis, "both are made"}.acquire().release();
  EXPECT_EQ(failure_of([&] { (void)mutex{redis, "both are made", {.replicas = 1}}.acquire(); }).code,
            errc::unreplicated);
  proxy_.refuse_connections(true);
  hold_back(scripts::exclusive::acquire::source);
  mutex replicated_mutex{redis, "orders", {.ttl = 60s, .replicas = 1}};
  EXPECT_EQ(failure_of([&] { (void)replicated_mutex.try_acquire_for(2s); }).code, errc::unreachable);
  proxy_.refuse_connections(false);
  deliver();
  EXPECT_FALSE(raw_.exists("orders"));
}

/// Over a unix socket a connection younger than that of this client belongs to another client; the age counts
/// from when the server accepted the connection. (Redis 7.0 accepts it with its earlier clock, so there this
/// passes anyway.)
TEST_F(late_copies, of_a_connection_that_took_long_to_make_do_not_come) {
  client redis{proxy_.url(), with_long_timeouts()};
  server_.freeze();
  std::jthread const thawer{[this] {
    std::this_thread::sleep_for(4s);  // ages are counted in seconds
    server_.thaw();
  }};
  redis.connect();
  hold_back(scripts::exclusive::acquire::source);
  mutex{redis, "orders", {.ttl = 60s}}.acquire().release();
  deliver();
  EXPECT_FALSE(raw_.exists("orders"));
}

TEST_F(late_copies, are_told_once_where_they_cannot_be_prevented) {
  forbid_kill(raw_);
  for (auto i = 0; i < 3; ++i) {
    hold_back(scripts::exclusive::acquire::source);
    lock_.acquire().release();
    EXPECT_TRUE(held_back_);
  }
  ASSERT_TRUE(eventually([this] { return !log_.of(log_level::warning).empty(); }));
  ASSERT_EQ(log_.of(log_level::warning).size(), 1u);
  EXPECT_NE(log_.of(log_level::warning).front().find("+client|kill"), std::string::npos);
  EXPECT_NE(log_.of(log_level::warning).front().find("NOPERM"), std::string::npos);
}

/// The script that is held back, for two clients with two threads each, one of the clients behind the proxy.
struct late_step {
  char const* title;
  script const* disturbed;
  bool fair = false;
  /// How many callers the client has until it sends the script, and for how long each of them waits. The
  /// script that ends a lease depends on whether another of its callers waits.
  int callers = 2;
  std::chrono::milliseconds patience = 20s;
};
std::ostream& operator<<(std::ostream& out, late_step const& s) { return out << s.title; }

class late_copies_at : public late_copies, public testing::WithParamInterface<late_step> {
 protected:
  static std::shared_ptr<exclusive_lock> lock_of(client& redis) {
    constexpr lock_options options{.ttl = 60s, .renew_every = 20ms};
    if (GetParam().fair) return std::make_shared<fair_mutex>(redis, "orders", options);
    return std::make_shared<mutex>(redis, "orders", options);
  }
};

TEST_P(late_copies_at, any_step_change_nothing) {
  auto const& step = GetParam();
  hold_back(*step.disturbed);
  client other{server_.url(), with_long_timeouts()};
  std::atomic<bool> stop = false;
  std::atomic<int> inside = 0;
  std::atomic<int> turns = 0;
  {
    std::vector<std::jthread> threads;
    auto const add_caller = [&](client& redis) {
      threads.emplace_back([&] {
        auto const lock = lock_of(redis);
        while (!stop) {
          auto const patience = &redis == &other ? 20s : held_back_ ? 5ms : step.patience;
          std::optional<lease> acquired;
          // A caller with little time gets the error of the broken connection.
          auto const failure = failure_of([&] { acquired = lock->try_acquire_for(patience); });
          EXPECT_TRUE(!failure.code || failure.code == errc::unreachable) << failure;
          if (!acquired) continue;
          EXPECT_EQ(++inside, 1);
          std::this_thread::sleep_for(turns++ % 5 == 0 ? 25ms : 1ms);  // for a renewal now and then
          --inside;
        }
      });
    };
    add_caller(other);
    add_caller(other);
    for (auto i = 0; i < step.callers; ++i) add_caller(redis_);
    EXPECT_TRUE(eventually([this] { return held_back_.load(); })) << "the script was never sent";
    for (auto i = step.callers; i < 2; ++i) add_caller(redis_);
    auto const before = turns.load();
    EXPECT_TRUE(eventually([&] { return turns > before + 10; }));
    proxy_.deliver();
    EXPECT_TRUE(eventually([&] { return turns > before + 20; }));
    stop = true;
  }
  EXPECT_TRUE(nothing_left_behind());
}

INSTANTIATE_TEST_SUITE_P(
    plain, late_copies_at,
    testing::Values(
        late_step{"acquire", &scripts::exclusive::acquire::source},
        late_step{.title = "release", .disturbed = &scripts::exclusive::release::source, .callers = 1},
        late_step{"pass", &scripts::exclusive::pass::source},
        late_step{.title = "abandon", .disturbed = &scripts::exclusive::abandon::source, .patience = 5ms},
        late_step{"renew", &scripts::exclusive::renew::source},
        late_step{"fair_acquire", &scripts::fair::acquire::source, true},
        late_step{"fair_pass", &scripts::fair::pass::source, true}),
    [](auto const& info) { return std::string{info.param.title}; });

class late_votes : public five_networks {
 protected:
  static constexpr std::size_t impaired = 3;

  /// Behind the impaired networks the requests of the next round, and the requests that give its votes back,
  /// are held back. Then the connections end.
  void hold_back_a_round(waiter const& next) {
    auto const yields_at = [this](std::size_t i) {
      return std::ranges::any_of(networks_[i]->requests(),
                                 [](request const& r) { return r.has(scripts::quorum::yield::source.text); });
    };
    auto const yields = [&] {
      std::size_t count = 0;
      for (std::size_t i = 0; i != impaired; ++i) count += yields_at(i) ? 1 : 0;
      return count;
    };
    // A master whose time isn't up yet when the round is lost has its vote given back when it answers.
    ASSERT_TRUE(eventually([&] { return yields() >= 1; }));
    (void)true_within(1s, [&] { return yields() == impaired; });
    ASSERT_FALSE(next.done());
    for (std::size_t i = 0; i != impaired; ++i) {
      networks_[i]->decide({});
      networks_[i]->hold_back_all();
    }
  }

  void SetUp() override {
    mutex_.acquire().release();
    other_lease_ = other_mutex_.acquire();
    for (std::size_t i = 0; i != impaired; ++i) {
      networks_[i]->forget();
      networks_[i]->decide([](request const& r) {
        return r.has(scripts::quorum::acquire::source.sha1) ? fate::keep() : fate::pass();
      });
    }
  }
  [[nodiscard]] int held_back() const {
    auto total = 0;
    for (auto const& network : networks_) total += network->held_back();
    return total;
  }

  client redis_{url_, with_long_timeouts()};
  client other_{masters_.url(), with_long_timeouts()};
  quorum_mutex mutex_{redis_, "orders", {.ttl = 30s, .renew_every = 100ms}};
  quorum_mutex other_mutex_{other_, "orders"};
  lease other_lease_;
};

TEST_F(late_votes, of_an_old_round_never_give_back_those_of_a_newer_one) {
  for (auto const& master : masters_) {
    auto raw = master->raw();
    forbid_kill(raw);
  }
  waiter next{mutex_};
  hold_back_a_round(next);
  EXPECT_EQ(other_lease_.release(), release_result::released);
  ASSERT_TRUE(eventually([&] { return next.done(); }));
  auto const lease = next.take();
  ASSERT_GE(held_back(), static_cast<int>(impaired));
  ASSERT_TRUE(eventually([&] { return votes_for("orders", lease.owner()) == masters_.size(); }));
  for (auto const& network : networks_) network->deliver();
  ASSERT_TRUE(eventually([this] { return held_back() == 0; }));
  EXPECT_EQ(votes_for("orders", lease.owner()), masters_.size());
  EXPECT_TRUE(lease.valid());
}

TEST_F(late_votes, never_come_where_the_connection_can_be_ended) {
  waiter next{mutex_};
  hold_back_a_round(next);
  EXPECT_TRUE(eventually([this] { return held_back() == 0; })) << "the servers have ended them";
  EXPECT_EQ(other_lease_.release(), release_result::released);
  ASSERT_TRUE(eventually([&] { return next.done(); }));
  next.take().release();
  EXPECT_TRUE(nothing_left_behind());
}

/// Without a proxy: after it is thawed, the server reads the requests of the old connection.
TEST(late_copy, at_a_server_that_was_frozen_comes_before_or_never) {
  auto server = redis_server::with({.transport = server_transport::tcp});
  client redis{server.url(), with_long_timeouts({.reply_timeout = 300ms})};
  mutex m{redis, "orders", {.ttl = 60s}};
  auto raw = server.raw();
  m.acquire().release();
  for (auto round = 0; round < 3; ++round) {
    auto lease = m.acquire();
    auto const disconnects = redis.stats().disconnects;
    auto const kills = raw.calls_of("client|kill");
    server.freeze();
    lease.async_release({});
    ASSERT_TRUE(eventually([&] { return redis.stats().disconnects > disconnects; }));
    server.thaw();
    EXPECT_TRUE(eventually([&] { return !raw.exists("orders"); }));
    EXPECT_TRUE(eventually([&] { return raw.calls_of("client|kill") > kills; }));
  }
}

}  // namespace
}  // namespace holdfast::test
