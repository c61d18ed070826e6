/// The other ways in which a lease ends: kept, near its limit, requested by a forced release.
#include "law.hpp"

#include <gmock/gmock.h>

namespace holdfast::test {
namespace {

class finish : public law {
 protected:
  /// Sends the stop request of a forced release to the holder.
  void send_stop_request(lease const& target) {
    auto const owner = target.owner();
    auto const uuid = owner.substr(0, 36);
    auto const number =
        owner.substr(37, owner.find(':', 37) - 37);  // the owner of a writer ends with its side
    raw_.command({"SET", "{orders}:holdfast_asked:" + uuid + ":" + number, "1", "PX", "60000"});
    raw_.publish("holdfast_inbox:" + uuid, "asked " + number);
  }
  /// Sends it again and again, as a forced release does: the holder asks about each, for at most 2 s.
  template <class Condition>
  [[nodiscard]] bool stops_when_asked(lease const& target, Condition has_stopped) {
    auto next = std::chrono::steady_clock::now();
    return eventually([&] {
      if (has_stopped()) return true;
      if (auto const now = std::chrono::steady_clock::now(); now >= next) {
        send_stop_request(target);
        next = now + 100ms;
      }
      return false;
    });
  }
  /// The keys of the lock, without the key of the stop request.
  [[nodiscard]] std::vector<std::string> lock_keys() {
    auto all = leftover_keys(raw_);
    std::erase_if(all, [](auto const& key) { return key.starts_with("{orders}:holdfast_asked:"); });
    return all;
  }
  /// Shortens the ttl of a lock that is kept.
  void let_expire() {
    for (auto const& key : leftover_keys(raw_)) raw_.command({"PEXPIRE", key, "200"});
  }
  /// The inbox opens half a second after the lease was taken.
  [[nodiscard]] bool is_subscribed(lease const& target) {
    auto const channel = "holdfast_inbox:" + target.owner().substr(0, 36);
    return eventually([&] { return raw_.listeners(channel) >= 1; });
  }
};
HOLDFAST_LAW(finish);

TEST_P(finish, leaves_the_key_to_its_ttl_when_it_is_kept) {
  auto redis = connect();
  auto const wanted = lock(redis, {.ttl = 60s, .renew_every = 50ms});
  auto lease = wanted->acquire();
  EXPECT_EQ(lease.keep_until_expiry(), release_result::kept);
  EXPECT_FALSE(lease.valid());
  EXPECT_EQ(redis.stats().held_now, 0u);
  EXPECT_FALSE(wanted->try_acquire_for(0ns)) << "for this process, too";
  let_expire();
  auto const next = wanted->try_acquire_for(20s);
  EXPECT_TRUE(next) << "nobody renews it";
}

TEST_P(finish, is_kept_for_as_long_as_asked) {
  auto redis = connect();
  auto const wanted = lock(redis, {.ttl = 60s});
  EXPECT_EQ(wanted->acquire().keep_for(1s), release_result::kept);
  EXPECT_TRUE(wanted->try_acquire_for(20s)) << "shorter than its ttl";
}

TEST_P(finish, is_kept_beyond_its_ttl_when_asked) {
  auto redis = connect();
  auto const wanted = lock(redis, {.ttl = 10s});
  auto lease = wanted->acquire();
  EXPECT_EQ(lease.keep_for(60s), release_result::kept);
  EXPECT_GT(raw_.pttl("orders"), 30'000);
}

TEST_P(finish, gives_the_lock_back_when_there_is_no_time_left_to_keep_it) {
  auto redis = connect();
  auto const wanted = lock(redis);
  EXPECT_EQ(wanted->acquire().keep_for(-1s), release_result::released);
  EXPECT_TRUE(wanted->try_acquire_for(0ns));
}

TEST_P(finish, is_kept_by_every_way_to_end_it_under_the_option) {
  auto redis = connect();
  auto const wanted = lock(redis, {.ttl = 60s, .keep = true});
  EXPECT_EQ(wanted->acquire().release(), release_result::kept);
  EXPECT_TRUE(raw_.exists("orders"));
  raw_.command({"FLUSHALL"});
  {
    auto const lease = wanted->acquire();
  }
  EXPECT_TRUE(raw_.exists("orders")) << "by the destructor";
  raw_.command({"FLUSHALL"});
  {
    auto other = connect();
    auto const lease = lock(other, {.ttl = 60s, .keep = true})->acquire();
    (void)lease.valid();
  }
  EXPECT_TRUE(raw_.exists("orders")) << "by the end of the client";
}

TEST_P(finish, says_that_what_was_lost_can_not_be_kept) {
  auto redis = connect();
  auto const wanted = lock(redis, {.ttl = 1s});
  auto lease = wanted->acquire();
  raw_.command({"FLUSHALL"});
  EXPECT_EQ(lease.keep_for(60s), release_result::lost);
  EXPECT_FALSE(raw_.exists("orders")) << "nothing came back to life";
  auto second_lease = wanted->acquire();
  raw_.command({"FLUSHALL"});
  ASSERT_TRUE(eventually([&] { return !second_lease.valid(); }));
  EXPECT_EQ(second_lease.keep_until_expiry(), release_result::lost);
}

TEST_P(finish, lets_a_waiter_of_the_process_wait_for_the_end_of_a_kept_key) {
  auto redis = connect();
  auto const wanted = lock(redis, {.ttl = 60s});
  auto lease = wanted->acquire();
  pending next;
  wanted->async_acquire(next.handler());
  EXPECT_EQ(lease.keep_until_expiry(), release_result::kept);
  EXPECT_FALSE(next.done());
  let_expire();
  EXPECT_TRUE(eventually([&] { return next.done(); }));
  EXPECT_TRUE(next.take());
}

TEST_P(finish, warns_once_before_max_hold_is_reached) {
  passes_in_one_round_of(5, [&] {
    auto redis = connect();
    auto const wanted = lock(redis, {.max_hold = 2s});
    auto const start = boot_now();
    auto const held_lease = std::make_unique<lease>(wanted->acquire());
    std::atomic<int> warned = 0;
    std::atomic<std::int64_t> warned_at = 0;
    std::atomic<bool> valid_when_warned = false;
    held_lease->on_limit_near(1500ms, [&] {
      warned_at = boot_now();
      valid_when_warned = held_lease->valid();
      ++warned;
    });
    EXPECT_TRUE(eventually([&] { return held_lease->lost_because() == loss_cause::limit_reached; }));
    EXPECT_EQ(warned, 1);
    EXPECT_TRUE(valid_when_warned) << "it comes before the end";
    EXPECT_GE(warned_at - start, 500'000'000) << "it comes too early";
  });
}

TEST_P(finish, warns_at_once_when_the_limit_is_near_already_and_never_without_one) {
  auto redis = connect();
  auto const wanted = lock(redis, {.max_hold = 10s});
  auto limited_lease = wanted->acquire();
  auto warned = 0;
  limited_lease.on_limit_near(1h, [&] { ++warned; });
  EXPECT_EQ(warned, 1);
  limited_lease.release();
  auto endless = lock(redis)->acquire();
  endless.on_limit_near(1h, [&] { ++warned; });
  lease{}.on_limit_near(1h, [&] { ++warned; });
  EXPECT_EQ(warned, 1);
}

TEST_P(finish, does_not_warn_about_a_lease_that_is_released) {
  auto redis = connect();
  auto const wanted = lock(redis, {.max_hold = 3s});
  std::atomic<int> warned = 0;
  {
    auto lease = wanted->acquire();
    lease.on_limit_near(100ms, [&] { ++warned; });
  }
  auto const after = wanted->acquire();
  EXPECT_TRUE(eventually([&] { return after.lost_because() == loss_cause::limit_reached; }));
  EXPECT_EQ(warned, 0);
}

/// Who had it before may have had all renewals that it wanted.
TEST(renewal_limit, is_none_of_the_next_caller_of_the_process) {
  deployment_under_test server;
  client redis{server.url(), with_long_timeouts({.cas = cas::lua})};
  mutex limited{redis, "orders", {.ttl = 60s, .max_renewals = 1, .handoff_time = 1h}};
  mutex lasting{redis, "orders", {.ttl = 60s, .handoff_time = 1h}};
  pending wanted;
  {
    auto const before = lasting.acquire();
    limited.async_acquire(wanted.handler());
    ASSERT_TRUE(eventually([&] { return redis.stats().waiting_now == 1; }));
  }
  ASSERT_TRUE(eventually([&] { return wanted.done(); }));
  auto first = std::move(*wanted.take());
  auto const handed_over = redis.stats().handed_over;
  first.renew();
  pending next;
  lasting.async_acquire(next.handler());
  ASSERT_TRUE(eventually([&] { return redis.stats().waiting_now == 1 && first.remaining() < 59s; }));
  auto const left = first.remaining();
  first.release();
  ASSERT_TRUE(eventually([&] { return next.done(); }));
  auto const heir = next.take();
  ASSERT_TRUE(heir);
  ASSERT_EQ(redis.stats().handed_over, handed_over + 1);
  EXPECT_TRUE(eventually([&] { return heir->remaining() > left; })) << "nobody renews it";
}

class told : public finish {};
HOLDFAST_LAW_OF_MESSAGES(told);

TEST_P(told, at_once_that_somebody_takes_the_lock_by_force_and_why) {
  auto redis = connect();
  auto const wanted = lock(redis, {.ttl = 60s});
  auto lease = wanted->acquire();
  ASSERT_TRUE(is_subscribed(lease));
  std::atomic<int> reported = -1;
  lease.on_lost([&](loss_cause cause) { reported = static_cast<int>(cause); });
  EXPECT_TRUE(stops_when_asked(lease, [&] { return reported == static_cast<int>(loss_cause::forced); }))
      << "its renewal is 20 s away";
  EXPECT_FALSE(lease.valid());
  EXPECT_TRUE(eventually([&] { return lease.lost().stop_requested(); }));
  EXPECT_TRUE(raw_.exists("orders")) << "nobody else gets in before it has stopped";
  EXPECT_EQ(lease.release(), release_result::lost);
  EXPECT_TRUE(eventually([&] { return lock_keys().empty(); })) << "then it is given back";
}

TEST_P(told, to_give_back_even_what_was_to_be_kept) {
  auto redis = connect();
  auto const wanted = lock(redis, {.ttl = 60s, .keep = true});
  auto lease = wanted->acquire();
  ASSERT_TRUE(is_subscribed(lease));
  ASSERT_TRUE(stops_when_asked(lease, [&] { return !lease.valid(); }));
  EXPECT_EQ(lease.release(), release_result::lost);
  EXPECT_TRUE(eventually([&] { return lock_keys().empty(); }));
}

// A program without rights to the lock may know its client and send it hints, but can't write the key.
TEST_P(told, nothing_by_a_hint_alone) {
  auto redis = connect();
  auto const wanted = lock(redis, {.ttl = 60s, .renew_every = 50ms});
  auto lease = wanted->acquire();
  ASSERT_TRUE(is_subscribed(lease));
  auto const owner = lease.owner();
  auto const number = owner.substr(37, owner.find(':', 37) - 37);
  for (auto i = 0; i != 20; ++i) raw_.publish("holdfast_inbox:" + owner.substr(0, 36), "asked " + number);
  ASSERT_TRUE(eventually([&] { return redis.stats().messages >= 20; }));
  auto const renewals = redis.stats().renewals;
  EXPECT_TRUE(eventually([&] { return redis.stats().renewals >= renewals + 3; })) << "it has looked by then";
  EXPECT_TRUE(lease.valid());
}

TEST_P(told, nothing_that_is_meant_for_an_earlier_holder) {
  auto redis = connect();
  auto const wanted = lock(redis, {.ttl = 60s});
  auto lease = wanted->acquire();
  ASSERT_TRUE(is_subscribed(lease));
  auto const uuid = lease.owner().substr(0, 36);
  for (auto const* const message : {"asked 0", "asked x", "asked", "asked 99999999999999999999"}) {
    raw_.publish("holdfast_inbox:" + uuid, message);
  }
  raw_.publish("holdfast_inbox:" + uuid, "woken 0 orders");
  ASSERT_TRUE(eventually([&] { return redis.stats().messages >= 5; }));
  EXPECT_TRUE(lease.valid());
}

}  // namespace
}  // namespace holdfast::test
