/// Others have their hands on the key: it is deleted, overwritten, of another type, or locked by another
/// library.
#include "fault.hpp"

#include <thread>

namespace holdfast::test {
namespace {

class foreign_key : public fault {
 protected:
  client redis_{server_.url(), unhurried()};
};

TEST_F(foreign_key, tells_the_holder_that_its_key_was_deleted) {
  mutex m{redis_, "orders", {.ttl = 20s, .renew_every = 100ms}};
  auto mine = m.acquire();
  std::atomic<int> told = -1;
  mine.on_lost([&](loss_cause cause) { told = static_cast<int>(cause); });
  raw_.del("orders");
  EXPECT_TRUE(eventually([&] { return mine.lost().stop_requested(); }));
  EXPECT_EQ(mine.lost_because(), loss_cause::key_gone);
  EXPECT_TRUE(eventually([&] { return told == static_cast<int>(loss_cause::key_gone); }));
  EXPECT_FALSE(mine.valid());
  EXPECT_EQ(mine.remaining().count(), 0);
  EXPECT_EQ(mine.release(), release_result::lost);
  EXPECT_EQ(redis_.stats().lost, 1u);
}

TEST_F(foreign_key, tells_the_holder_that_somebody_else_has_it) {
  mutex m{redis_, "orders", {.ttl = 20s, .renew_every = 100ms}};
  auto mine = m.acquire();
  raw_.command({"SET", "orders", "somebody", "PX", "60000"});
  EXPECT_TRUE(eventually([&] { return mine.lost().stop_requested(); }));
  EXPECT_EQ(mine.lost_because(), loss_cause::taken_over);
  auto late = loss_cause::none;
  mine.on_lost([&](loss_cause cause) { late = cause; });
  EXPECT_EQ(late, loss_cause::taken_over) << "a late listener is told at once";
  EXPECT_EQ(raw_.get("orders"), "somebody");
}

TEST_F(foreign_key, does_not_deny_other_leases_their_renewal_when_one_is_lost) {
  mutex one{redis_, "one", {.ttl = 4s, .renew_every = 100ms}};
  mutex two{redis_, "two", {.ttl = 4s, .renew_every = 100ms}};
  auto lost = one.acquire();
  auto kept = two.acquire();
  raw_.del("one");
  EXPECT_TRUE(eventually([&] { return !lost.valid(); }));
  EXPECT_TRUE(always(5s, [&] { return kept.valid(); }));
}

TEST_F(foreign_key, names_key_and_type_when_it_is_no_string) {
  raw_.command({"LPUSH", "orders", "x"});
  mutex m{redis_, "orders"};
  auto const f = failure_of([&] { (void)m.try_acquire_for(20s); });
  EXPECT_EQ(f.code, errc::wrong_type) << f;
  EXPECT_TRUE(f.says("orders")) << f;
  EXPECT_TRUE(f.says("list")) << f;
  EXPECT_EQ(raw_.command({"LLEN", "orders"}).integer, 1);
  EXPECT_TRUE(raw_.keys("*holdfast_queue").empty());
}

TEST_F(foreign_key, says_wrong_type_of_a_renewal_or_release_too_and_leaves_the_key_alone) {
  mutex m{redis_, "orders", {.ttl = 60s, .renew_every = 100ms}};
  auto mine = m.acquire();
  raw_.del("orders");
  raw_.command({"LPUSH", "orders", "x"});
  EXPECT_TRUE(eventually([&] { return mine.lost().stop_requested(); }));
  EXPECT_EQ(mine.lost_because(), loss_cause::taken_over);
  EXPECT_EQ(mine.release(), release_result::lost);
  EXPECT_EQ(raw_.command({"LLEN", "orders"}).integer, 1);
}

TEST_F(foreign_key, waits_for_a_holder_that_knows_nothing_of_us_and_set_no_ttl) {
  client quick{server_.url(), unhurried({.recheck = 100ms})};
  mutex m{quick, "orders"};
  raw_.command({"SET", "orders", "immortal"});
  EXPECT_FALSE(m.try_acquire_for(300ms));
  waiter next{m};
  auto const rechecks = quick.stats().rechecks;
  ASSERT_TRUE(eventually([&] { return quick.stats().rechecks >= rechecks + 2; }));
  EXPECT_FALSE(next.done());
  raw_.del("orders");
  EXPECT_TRUE(eventually([&] { return next.done(); }));
}

TEST_F(foreign_key, excludes_and_is_excluded_by_clients_of_other_libraries) {
  // redsync, redis-py, node-redlock: SET NX PX, and a script that deletes what is one's own.
  auto const deleter =
      "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) else return 0 end";
  auto const end = boot_now() + 2'000'000'000;
  std::atomic<int> increments = 0;
  std::atomic<int> theirs = 0;
  auto const goes_on = [&] { return boot_now() < end || theirs <= 10 || increments - theirs <= 10; };
  auto const increment = [&](raw_redis& redis) {
    auto const was = redis.get("counter").value_or("0");
    redis.command({"SET", "counter", std::to_string(std::stoi(was) + 1)});
    ++increments;
  };
  {
    client quick{server_.url(), unhurried({.recheck = 10ms})};
    std::vector<std::jthread> threads;
    for (auto i = 0; i < 2; ++i) {
      threads.emplace_back([&] {
        auto redis = server_.raw();
        mutex m{quick, "orders"};
        while (goes_on()) {
          if (auto const mine = m.try_acquire_for(500ms)) increment(redis);
        }
      });
      threads.emplace_back([&, me = "foreign" + std::to_string(i)] {
        auto redis = server_.raw();
        while (goes_on()) {
          if (redis.command({"SET", "orders", me, "NX", "PX", "60000"}).text != "OK") {
            std::this_thread::yield();
            continue;
          }
          increment(redis);
          ++theirs;
          EXPECT_EQ(redis.command({"EVAL", deleter, "1", "orders", me}).integer, 1);
        }
      });
    }
  }
  EXPECT_GT(theirs, 10);
  EXPECT_GT(increments - theirs, 10);
  EXPECT_EQ(raw_.get("counter"), std::to_string(increments));
}

}  // namespace
}  // namespace holdfast::test
