/// The server is killed, restarted with and without its data, or frozen.
#include "fault.hpp"

namespace holdfast::test {
namespace {

class server_fault : public fault {
 protected:
  client redis_{server_.url()};
};

TEST_F(server_fault, tells_the_holder_no_later_than_its_deadline_when_the_server_is_frozen) {
  mutex m{redis_, "orders", {.ttl = 1500ms}};
  in_one_round_of(8, [&] {
    auto mine = m.acquire();
    auto const renewals = redis_.stats().renewals;
    ASSERT_TRUE(eventually([&] { return redis_.stats().renewals > renewals || !mine.valid(); }));
    std::atomic<std::int64_t> told = 0;
    mine.on_lost([&](loss_cause) { told = boot_now(); });
    server_.freeze();
    // Renewals that were answered before may move it.
    auto last_valid = boot_now();
    auto deadline = last_valid;
    for (auto now = last_valid; mine.valid(); now = boot_now()) {
      last_valid = now;
      deadline = std::max(deadline, now + mine.remaining().count());
    }
    EXPECT_TRUE(eventually([&] { return mine.lost().stop_requested(); }));
    server_.thaw();
    EXPECT_LE(last_valid, deadline);
    EXPECT_FALSE(mine.valid());
    EXPECT_EQ(mine.lost_because(), loss_cause::unreachable);
    EXPECT_TRUE(eventually([&] { return told != 0; }));
    EXPECT_GE(told, deadline - 2'000'000) << "told before its time, more than the millisecond that it may be";
    EXPECT_LT(told - deadline, 200'000'000) << "the rest is this machine's scheduling";
  });
}

TEST_F(server_fault, keeps_the_lease_valid_through_its_whole_time_when_the_server_is_away_for_less) {
  mutex m{redis_, "orders", {.ttl = 60s, .renew_every = 200ms}};
  auto mine = m.acquire();
  server_.freeze();
  EXPECT_TRUE(always(1s, [&] { return mine.valid(); }));
  server_.thaw();
  auto const renewals = redis_.stats().renewals;
  EXPECT_TRUE(eventually([&] { return redis_.stats().renewals > renewals; }));
  EXPECT_TRUE(mine.valid());
  EXPECT_EQ(mine.release(), release_result::released);
}

TEST_F(server_fault, lets_nobody_in_before_the_frozen_holder_s_deadline) {
  mutex m{redis_, "orders", {.ttl = 1500ms}};
  client other{server_.url()};
  mutex theirs{other, "orders", {.ttl = 1500ms}};
  auto mine = m.acquire();
  waiter next{theirs};
  ASSERT_TRUE(eventually([&] { return other.stats().waits >= 1 || next.done(); }));
  server_.freeze();
  EXPECT_TRUE(eventually([&] { return !mine.valid(); }));
  server_.thaw();
  ASSERT_TRUE(eventually([&] { return next.done(); }));
  EXPECT_TRUE(next.take().valid());
  EXPECT_FALSE(mine.valid());
}

TEST_F(server_fault, loses_the_lease_at_its_deadline_when_the_server_is_killed) {
  mutex m{redis_, "orders", {.ttl = 1s}};
  auto mine = m.acquire();
  auto const token = mine.token();
  server_.kill9();
  EXPECT_TRUE(eventually([&] { return mine.lost().stop_requested(); }));
  EXPECT_EQ(mine.lost_because(), loss_cause::unreachable);
  EXPECT_EQ(mine.release(), release_result::lost);
  server_.start();
  auto const got = m.try_acquire_for(20s);
  ASSERT_TRUE(got);
  EXPECT_GT(got->token(), token) << "tokens grow across an empty restart";
}

TEST_F(server_fault, tells_that_the_key_is_gone_after_an_empty_restart) {
  mutex m{redis_, "orders", {.ttl = 60s, .renew_every = 200ms}};
  auto mine = m.acquire();
  server_.kill9();
  server_.start();
  EXPECT_TRUE(eventually([&] { return mine.lost().stop_requested(); }));
  EXPECT_EQ(mine.lost_because(), loss_cause::key_gone);
}

TEST_F(server_fault, lets_a_waiter_wait_through_an_empty_restart) {
  client holder{server_.url()};
  mutex held{holder, "orders", {.ttl = 60s}};
  mutex m{redis_, "orders"};
  auto const mine = held.acquire();
  waiter next{m};
  ASSERT_TRUE(eventually([&] { return redis_.stats().waits == 1; }));
  server_.kill9();
  server_.start();
  ASSERT_TRUE(eventually([&] { return next.done(); }));
  EXPECT_TRUE(next.take().valid());
}

TEST_F(server_fault, fails_soon_when_asked_for_a_lock_while_the_server_is_dead) {
  client impatient{server_.url(), {.connect_timeout = 300ms}};
  mutex m{impatient, "orders"};
  EXPECT_TRUE(eventually([&] { return !failure_of([&] { m.acquire().release(); }).code; }));
  server_.kill9();
  auto const start = boot_now();
  auto const f = failure_of([&] { (void)m.acquire(); });
  EXPECT_EQ(f.code, errc::unreachable) << f;
  EXPECT_LT(boot_now() - start, 20'000'000'000) << "it hangs";
}

class persistent_server : public fault {
 protected:
  persistent_server() : fault{{.persistent = true}} {}
  client redis_{server_.url()};
};

TEST_F(persistent_server, finds_holder_and_waiter_where_they_were_after_a_restart) {
  client other{server_.url()};
  mutex m{redis_, "orders", {.ttl = 60s, .renew_every = 200ms}};
  mutex theirs{other, "orders"};
  auto mine = m.acquire();
  auto const token = mine.token();
  waiter next{theirs};
  ASSERT_TRUE(eventually([&] { return other.stats().waits == 1; }));
  server_.kill9();
  server_.start();
  auto const renewals = redis_.stats().renewals;
  ASSERT_TRUE(eventually([&] { return redis_.stats().renewals > renewals; }));
  EXPECT_TRUE(mine.valid());
  EXPECT_FALSE(next.done());
  EXPECT_EQ(mine.release(), release_result::released);
  ASSERT_TRUE(eventually([&] { return next.done(); }));
  EXPECT_GT(next.take().token(), token);
  EXPECT_TRUE(comes_clean());
}

TEST_F(persistent_server, resolves_a_release_that_was_under_way_when_it_died) {
  mutex m{redis_, "orders", {.ttl = 60s}};
  auto mine = m.acquire();
  server_.kill9();
  std::atomic<int> outcome = -1;
  mine.async_release([&](release_result r) { outcome = static_cast<int>(r); });
  server_.start();
  ASSERT_TRUE(eventually([&] { return outcome >= 0; }));
  EXPECT_TRUE(comes_clean());
}

}  // namespace
}  // namespace holdfast::test
