/// A foreign program changes the key: it is deleted, overwritten, of another type, or locked by another
/// library.
#include "fault.hpp"

#include <thread>

#include "script/names.hpp"

namespace holdfast::test {
namespace {

class foreign_key : public fault {
 protected:
  client redis_{server_.url(), with_long_timeouts()};
};

TEST_F(foreign_key, tells_the_holder_that_its_key_was_deleted) {
  mutex m{redis_, "orders", {.ttl = 20s, .renew_every = 100ms}};
  auto lease = m.acquire();
  std::atomic<int> reported_cause = -1;
  lease.on_lost([&](loss_cause cause) { reported_cause = static_cast<int>(cause); });
  raw_.del("orders");
  EXPECT_TRUE(eventually([&] { return lease.lost().stop_requested(); }));
  EXPECT_EQ(lease.lost_because(), loss_cause::key_gone);
  EXPECT_TRUE(eventually([&] { return reported_cause == static_cast<int>(loss_cause::key_gone); }));
  EXPECT_FALSE(lease.valid());
  EXPECT_EQ(lease.remaining().count(), 0);
  EXPECT_EQ(lease.release(), release_result::lost);
  EXPECT_EQ(redis_.stats().lost, 1u);
}

TEST_F(foreign_key, tells_the_holder_that_somebody_else_has_it) {
  mutex m{redis_, "orders", {.ttl = 20s, .renew_every = 100ms}};
  auto lease = m.acquire();
  raw_.command({"SET", "orders", "somebody", "PX", "60000"});
  EXPECT_TRUE(eventually([&] { return lease.lost().stop_requested(); }));
  EXPECT_EQ(lease.lost_because(), loss_cause::taken_over);
  auto late_cause = loss_cause::none;
  lease.on_lost([&](loss_cause cause) { late_cause = cause; });
  EXPECT_EQ(late_cause, loss_cause::taken_over) << "a late listener is told at once";
  EXPECT_EQ(raw_.get("orders"), "somebody");
}

TEST_F(foreign_key, does_not_deny_other_leases_their_renewal_when_one_is_lost) {
  mutex first_mutex{redis_, "one", {.ttl = 4s, .renew_every = 100ms}};
  mutex second_mutex{redis_, "two", {.ttl = 4s, .renew_every = 100ms}};
  auto lost_lease = first_mutex.acquire();
  auto kept_lease = second_mutex.acquire();
  raw_.del("one");
  EXPECT_TRUE(eventually([&] { return !lost_lease.valid(); }));
  EXPECT_TRUE(always(5s, [&] { return kept_lease.valid(); }));
}

TEST_F(foreign_key, names_key_and_type_when_it_is_no_string) {
  raw_.command({"LPUSH", "orders", "x"});
  mutex m{redis_, "orders"};
  auto const f = failure_of([&] { (void)m.try_acquire_for(20s); });
  EXPECT_EQ(f.code, errc::wrong_type) << f;
  EXPECT_TRUE(f.mentions("orders")) << f;
  EXPECT_TRUE(f.mentions("list")) << f;
  EXPECT_EQ(raw_.command({"LLEN", "orders"}).integer, 1);
  EXPECT_TRUE(raw_.keys("*holdfast_queue").empty());
}

TEST_F(foreign_key, says_wrong_type_of_a_renewal_or_release_too_and_leaves_the_key_alone) {
  mutex m{redis_, "orders", {.ttl = 60s, .renew_every = 100ms}};
  auto lease = m.acquire();
  raw_.del("orders");
  raw_.command({"LPUSH", "orders", "x"});
  EXPECT_TRUE(eventually([&] { return lease.lost().stop_requested(); }));
  EXPECT_EQ(lease.lost_because(), loss_cause::taken_over);
  EXPECT_EQ(lease.release(), release_result::lost);
  EXPECT_EQ(raw_.command({"LLEN", "orders"}).integer, 1);
}

TEST_F(foreign_key, waits_for_a_holder_that_knows_nothing_of_us_and_set_no_ttl) {
  client polling_client{server_.url(), with_long_timeouts({.recheck = 100ms})};
  mutex m{polling_client, "orders"};
  raw_.command({"SET", "orders", "immortal"});
  EXPECT_FALSE(m.try_acquire_for(300ms));
  ASSERT_TRUE(m.last_busy());
  EXPECT_TRUE(m.last_busy()->never_expires);
  EXPECT_EQ(m.last_busy()->to_string(), "held by unknown (immortal); its key never expires");
  waiter next{m};
  auto const rechecks = polling_client.stats().rechecks;
  ASSERT_TRUE(eventually([&] { return polling_client.stats().rechecks >= rechecks + 2; }));
  EXPECT_FALSE(next.done());
  raw_.del("orders");
  EXPECT_TRUE(eventually([&] { return next.done(); }));
}

TEST_F(foreign_key, is_refused_when_it_is_a_number_that_never_expires) {
  raw_.command({"SET", "orders", "12"});
  mutex m{redis_, "orders"};
  for (auto const& f : {failure_of([&] { (void)m.acquire(); }), failure_of([&] { (void)m.try_acquire(); }),
                        failure_of([&] { (void)m.try_acquire_for(1h); })}) {
    EXPECT_EQ(f.code, errc::wrong_type) << f;
    EXPECT_TRUE(f.mentions("the key \"orders\" holds the number 12, which never expires")) << f;
  }
  EXPECT_TRUE(eventually([&] { return raw_.keys("*holdfast_queue").empty(); }));
  raw_.command({"SET", "orders", "12", "PX", "600"});
  EXPECT_TRUE(m.try_acquire_for(20s)) << "with a ttl it may be somebody's lock";
}

TEST_F(foreign_key, is_refused_and_named_when_it_is_one_of_ours_beside_a_lock) {
  mutex{redis_, "orders"}.acquire().release();
  mutex m{redis_, "{orders}:holdfast_token"};
  auto const f = failure_of([&] { (void)m.try_acquire_for(1h); });
  EXPECT_EQ(f.code, errc::wrong_type) << f;
  EXPECT_TRUE(f.mentions("holds the token counter of a lock")) << f;
  auto const blocked = names::blocked("orders", "11111111-1111-4111-8111-111111111111:1");
  raw_.command({"ZADD", blocked, "1", "somebody's wait"});
  mutex named_so{redis_, blocked};
  auto const another = failure_of([&] { (void)named_so.try_acquire_for(1h); });
  EXPECT_EQ(another.code, errc::wrong_type) << another;
  EXPECT_TRUE(another.mentions("holds what the holder of a lock waits for")) << another;
}

TEST_F(foreign_key, excludes_and_is_excluded_by_clients_of_other_libraries) {
  // As redsync, redis-py and node-redlock: SET NX PX, and a script that deletes the key of its owner.
  auto const deleter =
      "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) else return 0 end";
  auto const end = boot_now() + 2'000'000'000;
  std::atomic<int> increments = 0;
  std::atomic<int> foreign_increments = 0;
  auto const goes_on = [&] {
    return boot_now() < end || foreign_increments <= 10 || increments - foreign_increments <= 10;
  };
  auto const increment = [&](raw_redis& redis) {
    auto const count = redis.get("counter").value_or("0");
    redis.command({"SET", "counter", std::to_string(std::stoi(count) + 1)});
    ++increments;
  };
  {
    client polling_client{server_.url(), with_long_timeouts({.recheck = 10ms})};
    std::vector<std::jthread> threads;
    for (auto i = 0; i < 2; ++i) {
      threads.emplace_back([&] {
        auto redis = server_.raw();
        mutex m{polling_client, "orders"};
        while (goes_on()) {
          if (auto const lease = m.try_acquire_for(500ms)) increment(redis);
        }
      });
      threads.emplace_back([&, owner = "foreign" + std::to_string(i)] {
        auto redis = server_.raw();
        while (goes_on()) {
          if (redis.command({"SET", "orders", owner, "NX", "PX", "60000"}).text != "OK") {
            std::this_thread::yield();
            continue;
          }
          increment(redis);
          ++foreign_increments;
          EXPECT_EQ(redis.command({"EVAL", deleter, "1", "orders", owner}).integer, 1);
        }
      });
    }
  }
  EXPECT_GT(foreign_increments, 10);
  EXPECT_GT(increments - foreign_increments, 10);
  EXPECT_EQ(raw_.get("counter"), std::to_string(increments));
}

}  // namespace
}  // namespace holdfast::test
