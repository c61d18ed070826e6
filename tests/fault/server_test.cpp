/// The server is killed, restarted with and without its data, or frozen.
#include "fault.hpp"

#include <holdfast/multi_mutex.hpp>

namespace holdfast::test {
namespace {

class server_fault : public fault {
 protected:
  client redis_{server_.url()};
};

TEST_F(server_fault, tells_the_holder_no_later_than_its_deadline_when_the_server_is_frozen) {
  mutex m{redis_, "orders", {.ttl = 1500ms}};
  passes_in_one_round_of(8, [&] {
    auto lease = m.acquire();
    auto const renewals = redis_.stats().renewals;
    ASSERT_TRUE(eventually([&] { return redis_.stats().renewals > renewals || !lease.valid(); }));
    std::atomic<std::int64_t> reported_at = 0;
    lease.on_lost([&](loss_cause) { reported_at = boot_now(); });
    server_.freeze();
    // Renewals that were answered before may move the deadline.
    auto last_valid = boot_now();
    auto deadline = last_valid;
    for (auto now = last_valid; lease.valid(); now = boot_now()) {
      last_valid = now;
      deadline = std::max(deadline, now + lease.remaining().count());
    }
    EXPECT_TRUE(eventually([&] { return lease.lost().stop_requested(); }));
    server_.thaw();
    EXPECT_LE(last_valid, deadline);
    EXPECT_FALSE(lease.valid());
    EXPECT_EQ(lease.lost_because(), loss_cause::unreachable);
    EXPECT_TRUE(eventually([&] { return reported_at != 0; }));
    EXPECT_GE(reported_at, deadline - 2'000'000)
        << "told before its time, more than the millisecond that it may be";
    EXPECT_LT(reported_at - deadline, 200'000'000) << "the rest is this machine's scheduling";
  });
}

/// The time that it takes to destroy what `make` makes, with a frozen server.
template <class Make>
std::chrono::nanoseconds time_to_destroy(redis_server& server, Make make) {
  std::chrono::steady_clock::time_point start;
  {
    auto const held = make();
    EXPECT_TRUE(held.valid());
    server.freeze();
    start = std::chrono::steady_clock::now();
  }
  auto const took = std::chrono::steady_clock::now() - start;
  server.thaw();
  return took;
}

TEST_F(server_fault, does_not_hold_up_an_event_loop_that_destroys_a_lease_to_be_released_asynchronously) {
  lock_options const options{.ttl = 60s, .on_destroy = release::async};
  mutex m{redis_, "orders", options};
  multi_mutex both{redis_, {"x", "y"}, options};
  // With release::wait it would take 4 s.
  EXPECT_LT(time_to_destroy(server_, [&] { return m.acquire(); }), 2s);
  EXPECT_TRUE(m.try_acquire_for(20s)) << "it was released";
  EXPECT_LT(time_to_destroy(server_, [&] { return both.acquire(); }), 2s);
  EXPECT_TRUE(both.try_acquire_for(20s)) << "it was released";
}

TEST_F(server_fault, keeps_the_lease_valid_through_its_whole_time_when_the_server_is_away_for_less) {
  mutex m{redis_, "orders", {.ttl = 60s, .renew_every = 200ms}};
  auto lease = m.acquire();
  server_.freeze();
  EXPECT_TRUE(always(1s, [&] { return lease.valid(); }));
  server_.thaw();
  auto const renewals = redis_.stats().renewals;
  EXPECT_TRUE(eventually([&] { return redis_.stats().renewals > renewals; }));
  EXPECT_TRUE(lease.valid());
  EXPECT_EQ(lease.release(), release_result::released);
}

TEST_F(server_fault, lets_nobody_in_before_the_frozen_holder_s_deadline) {
  mutex m{redis_, "orders", {.ttl = 1500ms}};
  client other{server_.url()};
  mutex other_mutex{other, "orders", {.ttl = 1500ms}};
  auto lease = m.acquire();
  waiter next{other_mutex};
  ASSERT_TRUE(eventually([&] { return other.stats().waits >= 1 || next.done(); }));
  server_.freeze();
  EXPECT_TRUE(eventually([&] { return !lease.valid(); }));
  server_.thaw();
  ASSERT_TRUE(eventually([&] { return next.done(); }));
  EXPECT_TRUE(next.take().valid());
  EXPECT_FALSE(lease.valid());
}

TEST_F(server_fault, loses_the_lease_at_its_deadline_when_the_server_is_killed) {
  mutex m{redis_, "orders", {.ttl = 1s}};
  auto lease = m.acquire();
  auto const token = lease.token();
  server_.kill9();
  EXPECT_TRUE(eventually([&] { return lease.lost().stop_requested(); }));
  EXPECT_EQ(lease.lost_because(), loss_cause::unreachable);
  EXPECT_EQ(lease.release(), release_result::lost);
  server_.start();
  auto const next_lease = m.try_acquire_for(20s);
  ASSERT_TRUE(next_lease);
  EXPECT_GT(next_lease->token(), token) << "tokens grow across an empty restart";
}

TEST_F(server_fault, tells_that_the_key_is_gone_after_an_empty_restart) {
  mutex m{redis_, "orders", {.ttl = 60s, .renew_every = 200ms}};
  auto lease = m.acquire();
  server_.kill9();
  server_.start();
  EXPECT_TRUE(eventually([&] { return lease.lost().stop_requested(); }));
  EXPECT_EQ(lease.lost_because(), loss_cause::key_gone);
}

/// Long before any renewal is due.
TEST_F(server_fault, tells_all_that_is_gone_as_soon_as_an_empty_server_is_back) {
  mutex renewed{redis_, "orders", {.ttl = 10min}};
  mutex limited{redis_, "twice", {.ttl = 10min, .max_renewals = 2}};
  mutex fixed{redis_, "once", {.ttl = 10min, .watchdog = false}};
  auto const renewed_lease = renewed.acquire();
  auto const limited_lease = limited.acquire();
  auto const fixed_lease = fixed.acquire();
  server_.kill9();
  server_.start();
  for (auto const* const lost_lease : {&renewed_lease, &limited_lease, &fixed_lease}) {
    EXPECT_TRUE(eventually([&] { return lost_lease->lost().stop_requested(); }));
    EXPECT_EQ(lost_lease->lost_because(), loss_cause::key_gone);
  }
}

TEST_F(server_fault, asks_about_what_is_held_whenever_its_connection_broke) {
  mutex renewed{redis_, "orders", {.ttl = 10min}};
  mutex limited{redis_, "twice", {.ttl = 10min, .max_renewals = 2}};
  auto lease = renewed.acquire();
  auto limited_lease = limited.acquire();
  for (std::uint64_t round = 1; round <= 3; ++round) {
    raw_.kill_clients("normal");
    EXPECT_TRUE(eventually([&] { return redis_.stats().renewals == round; })) << "which doesn't use up two";
  }
  EXPECT_TRUE(lease.valid());
  EXPECT_TRUE(limited_lease.valid());
  EXPECT_EQ(lease.release(), release_result::released);
  EXPECT_EQ(limited_lease.release(), release_result::released);
}

/// Thousands at a time, in commands of hundreds.
TEST_F(server_fault, asks_about_many_leases_in_few_requests) {
  constexpr std::size_t many = 10'000;
  flaky_proxy proxy{server_.socket_path()};
  client redis{proxy.url(), with_long_timeouts()};
  std::mutex guard;
  std::vector<lease> leases;
  std::vector<std::unique_ptr<mutex>> locks;
  for (std::size_t i = 0; i != many; ++i) {
    locks.push_back(
        std::make_unique<mutex>(redis, "orders:" + std::to_string(i), lock_options{.ttl = 10min}));
    locks.back()->async_acquire([&](std::optional<lease> acquired, std::exception_ptr) {
      std::scoped_lock const hold{guard};
      if (acquired) leases.push_back(std::move(*acquired));
    });
  }
  ASSERT_TRUE(eventually(60s, [&] {
    std::scoped_lock const hold{guard};
    return leases.size() == many;
  }));
  proxy.forget();
  proxy.cut_all();
  EXPECT_TRUE(eventually(60s, [&] { return redis.stats().renewals == many; }));
  EXPECT_LE(proxy.count("EVALSHA"), many / 100) << "of which many / 256 had to be";
  EXPECT_EQ(redis.stats().lost, 0u);
}

TEST_F(server_fault, lets_a_waiter_wait_through_an_empty_restart) {
  client holder{server_.url()};
  mutex holder_mutex{holder, "orders", {.ttl = 60s}};
  mutex m{redis_, "orders"};
  auto const lease = holder_mutex.acquire();
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
  mutex other_mutex{other, "orders"};
  auto lease = m.acquire();
  auto const token = lease.token();
  waiter next{other_mutex};
  ASSERT_TRUE(eventually([&] { return other.stats().waits == 1; }));
  server_.kill9();
  server_.start();
  auto const renewals = redis_.stats().renewals;
  ASSERT_TRUE(eventually([&] { return redis_.stats().renewals > renewals; }));
  EXPECT_TRUE(lease.valid());
  EXPECT_FALSE(next.done());
  EXPECT_EQ(lease.release(), release_result::released);
  ASSERT_TRUE(eventually([&] { return next.done(); }));
  EXPECT_GT(next.take().token(), token);
  EXPECT_TRUE(nothing_left_behind());
}

TEST_F(persistent_server, resolves_a_release_that_was_under_way_when_it_died) {
  mutex m{redis_, "orders", {.ttl = 60s}};
  auto lease = m.acquire();
  server_.kill9();
  std::atomic<int> outcome = -1;
  lease.async_release([&](release_result r) { outcome = static_cast<int>(r); });
  server_.start();
  ASSERT_TRUE(eventually([&] { return outcome >= 0; }));
  EXPECT_TRUE(nothing_left_behind());
}

}  // namespace
}  // namespace holdfast::test
