/// S4 and S5: only its holder releases or renews a lock, and no key stays for ever.
#include "law.hpp"

namespace holdfast::test {
namespace {

class ownership : public law {};
HOLDFAST_LAW(ownership);

TEST_P(ownership, makes_a_release_without_effect_when_the_key_is_somebody_elses) {
  auto redis = connect();
  auto lease = lock(redis)->acquire();
  auto const other_owner = occupy("somebody", 60s);
  EXPECT_EQ(lease.release(), release_result::lost);
  EXPECT_EQ(holder(), other_owner);
}

TEST_P(ownership, makes_a_renewal_without_effect_when_the_key_is_somebody_elses) {
  auto redis = connect();
  auto lease = lock(redis)->acquire();
  auto const other_owner = occupy("somebody", 20s);  // less than after a renewal
  EXPECT_EQ(code_of([&] { lease.renew(); }), errc::lost);
  EXPECT_FALSE(lease.valid());
  EXPECT_TRUE(eventually([&] { return lease.lost().stop_requested(); }));
  EXPECT_EQ(lease.lost_because(), loss_cause::taken_over);
  EXPECT_EQ(holder(), other_owner);
  EXPECT_LE(raw_.pttl("orders"), 20'000);
}

TEST_P(ownership, makes_a_stale_release_without_effect_on_the_next_holder) {
  auto redis = connect();
  auto other = connect();
  auto stale = lock(redis, {.ttl = 500ms, .watchdog = false})->acquire();
  auto fresh = lock(other)->acquire();
  EXPECT_FALSE(stale.valid());
  EXPECT_TRUE(eventually([&] { return stale.lost_because() == loss_cause::limit_reached; }));
  EXPECT_EQ(stale.release(), release_result::lost);
  EXPECT_TRUE(fresh.valid());
  EXPECT_EQ(holder(), fresh.owner());
  EXPECT_EQ(fresh.release(), release_result::released);
}

TEST_P(ownership, shows_a_ttl_on_every_key_at_every_look) {
  auto const file = (server_.folder() / "history").string();
  std::vector<worker> workers;
  for (auto i = 0; i < 3; ++i) {
    workers.push_back(worker::loop(server_.url_for_workers(), std::string{GetParam().title}, "orders", 5s,
                                   1500ms, 200us, file));
  }
  auto checks = 0;
  auto const begin = boot_now();
  auto const checked_enough = [&] {
    return checks > 10 && boot_now() - begin > 1'500'000'000 && read_history(file).size() >= 6;
  };
  EXPECT_TRUE(eventually(60s, [&] {
    // One script, so that no key can vanish between the listing and the check.
    auto const immortal =
        raw_.command({"EVAL",
                      "local bad = {} for _, key in ipairs(redis.call('KEYS', '*')) do "
                      "if redis.call('PTTL', key) == -1 then bad[#bad + 1] = key end end return bad",
                      "0"});
    ++checks;
    // The queue of Redisson's fair lock has no ttl, so that Java's clients may trust it, and is deleted with
    // its last waiter. The token of its fenced lock stays.
    for (auto const& key : immortal.elements) {
      auto const is_redisson_key = key.text == "redisson_lock_queue:{orders}" ||
                                   key.text == "redisson_lock_timeout:{orders}" ||
                                   key.text == "redisson_lock_token:{orders}";
      EXPECT_TRUE(is_redisson_key) << "no ttl: " << key.text;
    }
    return HasFailure() || checked_enough();
  }));
  for (auto& each : workers) EXPECT_THAT(each.read_line(60s), testing::StartsWith("taken "));
}

TEST_P(ownership, renews_for_as_long_as_it_is_held_and_not_longer) {
  auto redis = connect();
  auto lease = lock(redis, {.ttl = 4s})->acquire();
  EXPECT_TRUE(always(5s, [&] { return lease.valid() && raw_.exists("orders"); }));
  EXPECT_GE(redis.stats().renewals, 2u);
  lease.release();
  auto const renewals = redis.stats().renewals;
  EXPECT_TRUE(always(500ms, [&] { return !raw_.exists("orders"); }));
  EXPECT_EQ(redis.stats().renewals, renewals);
}

TEST_P(ownership, ends_at_max_hold_and_says_why) {
  auto redis = connect();
  auto const start = boot_now();
  auto lease = lock(redis, {.ttl = 4s, .renew_every = 100ms, .max_hold = 1s})->acquire();
  EXPECT_TRUE(eventually([&] { return lease.lost().stop_requested(); }));
  EXPECT_GE(boot_now() - start, 1'000'000'000);
  EXPECT_EQ(lease.lost_because(), loss_cause::limit_reached);
  EXPECT_TRUE(eventually([&] { return leftover_keys(raw_).empty(); })) << "it is renewed still";
}

TEST_P(ownership, ends_after_max_renewals_and_says_why) {
  auto redis = connect();
  auto lease = lock(redis, {.ttl = 4s, .renew_every = 100ms, .max_renewals = 2})->acquire();
  EXPECT_TRUE(eventually([&] { return lease.lost().stop_requested(); }));
  EXPECT_EQ(redis.stats().renewals, 2u);
  EXPECT_EQ(lease.lost_because(), loss_cause::limit_reached);
  EXPECT_TRUE(eventually([&] { return leftover_keys(raw_).empty(); }));
}

TEST_P(ownership, gives_the_key_the_ttl_asked_for_and_the_holder_an_earlier_deadline) {
  auto redis = connect();
  auto lease = lock(redis, {.ttl = 20s})->acquire();
  auto const remaining = lease.remaining();
  auto const pttl = std::chrono::milliseconds{raw_.pttl("orders")};
  EXPECT_LE(pttl, 20s);
  EXPECT_GT(pttl, 15s);
  EXPECT_LT(remaining, 20s);
  auto const key_ttl = std::chrono::milliseconds{raw_.pttl("orders")};
  EXPECT_LT(lease.remaining(), key_ttl) << "looked at later, and with less left";
}

}  // namespace
}  // namespace holdfast::test
