/// Calls that want a lock while the server can't be reached: how long they wait for it, and what they say.
#include "fake_server.hpp"
#include "fault.hpp"

#include <holdfast/fair_mutex.hpp>
#include <holdfast/semaphore.hpp>
#include <holdfast/shared_mutex.hpp>

#include <atomic>
#include <thread>

namespace holdfast::test {
namespace {

std::chrono::nanoseconds since(std::int64_t start) { return std::chrono::nanoseconds{boot_now() - start}; }

class outage : public fault {
 protected:
  /// The server is away, and comes back after a moment in which `acquired` isn't done.
  void returns_for(pending& acquired) {
    EXPECT_TRUE(always(700ms, [&] { return !acquired.done(); })) << "it doesn't wait for the server";
    server_.start();
    EXPECT_TRUE(eventually([&] { return acquired.done(); }));
    EXPECT_TRUE(acquired.take());
  }

  client_options brisk_{.connect_timeout = 300ms, .reply_timeout = 300ms};
};

TEST_F(outage, is_waited_out_by_a_new_client_for_all_of_the_time_that_it_was_given) {
  server_.stop();
  client redis{server_.url(), brisk_};
  mutex m{redis, "orders"};
  auto const start = boot_now();
  auto const f = failure_of([&] { (void)m.try_acquire_for(1500ms); });
  EXPECT_EQ(f.code, errc::unreachable) << f;
  EXPECT_GE(since(start), 1500ms);
  pending acquired;
  m.async_try_acquire_for(20s, acquired.handler());
  returns_for(acquired);
}

TEST_F(outage, is_waited_out_by_a_client_that_had_been_connected) {
  client redis{server_.url(), brisk_};
  mutex m{redis, "orders"};
  ASSERT_TRUE(eventually([&] { return !failure_of([&] { m.acquire().release(); }).code; }));
  server_.stop();
  auto const start = boot_now();
  auto const f = failure_of([&] { (void)m.try_acquire_for(1500ms); });
  EXPECT_EQ(f.code, errc::unreachable) << f;
  EXPECT_GE(since(start), 1500ms);
  pending acquired;
  m.async_try_acquire_for(20s, acquired.handler());
  returns_for(acquired);
}

TEST_F(outage, is_told_with_the_time_that_really_passed) {
  fake_server const silent{""};
  client redis{silent.url(), {.connect_timeout = 2s}};
  mutex m{redis, "orders"};
  EXPECT_EQ(failure_of([&] { redis.connect(); }).code, errc::unreachable);
  auto const f = failure_of([&] { (void)m.try_acquire_for(100ms); });
  EXPECT_EQ(f.code, errc::unreachable) << f;
  EXPECT_TRUE(f.mentions("; gave up after ")) << f;
  EXPECT_FALSE(f.mentions("no connection within 2000 ms")) << f;
}

TEST_F(outage, is_waited_out_as_long_as_the_patience_says_by_calls_without_a_limit_and_by_tries) {
  server_.stop();
  client redis{server_.url(), {.connect_timeout = 300ms, .patience = 20s}};
  mutex m{redis, "orders"};
  pending without_limit;
  m.async_acquire(without_limit.handler());
  returns_for(without_limit);
  server_.stop();
  client other{server_.url(), {.connect_timeout = 300ms, .patience = 20s}};
  mutex tried{other, "orders"};
  pending attempt;
  tried.async_try_acquire(attempt.handler());
  returns_for(attempt);
}

TEST_F(outage, is_told_when_the_patience_is_over_whatever_time_the_call_has) {
  server_.stop();
  client redis{server_.url(), {.connect_timeout = 300ms, .patience = 1s}};
  mutex m{redis, "orders"};
  auto const start = boot_now();
  EXPECT_EQ(failure_of([&] { (void)m.try_acquire_for(1h); }).code, errc::unreachable);
  EXPECT_GE(since(start), 1s);
  EXPECT_EQ(failure_of([&] { (void)m.acquire(); }).code, errc::unreachable);
  EXPECT_EQ(failure_of([&] { redis.connect(); }).code, errc::unreachable);
  EXPECT_GE(since(start), 3s);
}

TEST_F(outage, in_the_middle_of_a_wait_is_told_when_the_patience_is_over) {
  client holder{server_.url(), with_long_timeouts()};
  mutex holder_mutex{holder, "orders"};
  auto const lease = holder_mutex.acquire();
  client redis{server_.url(), {.connect_timeout = 300ms, .patience = 4s}};
  mutex m{redis, "orders"};
  waiter next{m};
  ASSERT_TRUE(eventually([&] { return redis.stats().waits == 1; }));
  server_.stop();
  ASSERT_TRUE(eventually([&] { return next.done(); }));
  EXPECT_EQ(failure_of([&] { (void)next.take(); }).code, errc::unreachable);
  server_.start();  // or the holder's end waits for it
}

TEST_F(outage, is_told_to_a_call_without_a_limit_though_another_one_waits_for_the_server) {
  server_.stop();
  client redis{server_.url(), brisk_};
  mutex m{redis, "orders"};
  pending patient;
  m.async_try_acquire_for(1h, patient.handler());
  waiter next{m};
  ASSERT_TRUE(eventually([&] { return next.done(); }));
  EXPECT_EQ(failure_of([&] { (void)next.take(); }).code, errc::unreachable);
  EXPECT_FALSE(patient.done());
  server_.start();
  EXPECT_TRUE(eventually([&] { return patient.done(); }));
}

TEST_F(outage, is_not_told_to_a_call_without_a_limit_when_the_time_of_another_one_is_over) {
  client redis{server_.url(), {.connect_timeout = 60s}};
  mutex m{redis, "orders"};
  ASSERT_TRUE(eventually([&] { return !failure_of([&] { m.acquire().release(); }).code; }));
  server_.stop();
  pending brief;
  m.async_try_acquire_for(200ms, brief.handler());
  pending lasting;
  m.async_acquire(lasting.handler());
  ASSERT_TRUE(eventually([&] { return brief.done(); }));
  returns_for(lasting);
}

/// The one without a limit wants another number, and asks anew.
TEST_F(outage, is_told_to_a_call_without_a_limit_also_when_the_time_of_another_one_was_over_first) {
  for (auto const on : {wire::plain, wire::redisson}) {
    client redis{server_.url(), {.connect_timeout = 400ms, .reply_timeout = 400ms, .wire = on}};
    semaphore permits{redis, "permits " + std::to_string(static_cast<int>(on))};
    ASSERT_TRUE(permits.try_set_permits(3));
    server_.stop();
    ASSERT_TRUE(eventually(
        [&] { return failure_of([&] { (void)permits.try_acquire(); }).code == errc::unreachable; }));
    pending_wait brief;
    permits.async_try_acquire_for(200ms, brief.handler(), 2);
    pending_wait lasting;
    permits.async_acquire(lasting.handler());
    EXPECT_TRUE(eventually([&] { return brief.done() && lasting.failed(); }));
    server_.start();
  }
}

TEST_F(outage, ends_when_the_patience_of_a_caller_is_over_for_which_its_process_gives_the_lock_back) {
  client redis{server_.url(), {.connect_timeout = 300ms, .patience = 1s, .reply_timeout = 300ms}};
  fair_mutex m{redis, "orders", {.ttl = 60s}};
  auto held = m.acquire();
  pending next;
  m.async_acquire(next.handler());
  server_.stop();
  ASSERT_EQ(redis.stats().waiting_now, 1u);
  std::atomic<bool> given_back = false;
  held.async_release([&](release_result) { given_back = true; });
  ASSERT_TRUE(eventually([&] { return next.done(); }));
  EXPECT_EQ(failure_of([&] { (void)next.take(); }).code, errc::unreachable);
  EXPECT_FALSE(given_back) << "it goes on until the ttl is over";
  server_.start();
  EXPECT_TRUE(eventually([&] { return given_back.load(); }));
}

/// Until now the caller has waited for a holder of its process, and longer than that.
TEST_F(outage, is_waited_out_as_long_as_the_patience_says_behind_a_holder_of_the_process) {
  for (auto const is_given_back : {true, false}) {
    SCOPED_TRACE(is_given_back);
    client redis{server_.url(), {.connect_timeout = 300ms, .patience = 3s, .reply_timeout = 300ms}};
    fair_mutex m{redis, "orders", {.ttl = 600ms}};
    std::optional<lease> held;
    ASSERT_TRUE(eventually([&] { return !failure_of([&] { held = m.acquire(); }).code; }));
    pending next;
    m.async_acquire(next.handler());
    EXPECT_TRUE(always(3200ms, [&] { return !next.done(); }));
    server_.stop();
    if (is_given_back) held->async_release({});
    EXPECT_TRUE(always(1500ms, [&] { return !next.done(); })) << "it is for the outage";
    ASSERT_TRUE(eventually([&] { return next.done(); }));
    EXPECT_EQ(failure_of([&] { (void)next.take(); }).code, errc::unreachable);
    server_.start();
  }
}

TEST_F(outage, of_a_whole_ttl_is_told_to_whom_gave_the_lock_back_for_a_caller_of_its_process) {
  client redis{server_.url(), brisk_};
  fair_mutex m{redis, "orders", {.ttl = 1s}};
  auto held = m.acquire();
  pending next;
  m.async_acquire(next.handler());
  server_.stop();
  std::atomic<bool> given_back = false;
  held.async_release([&](release_result) { given_back = true; });
  EXPECT_TRUE(eventually([&] { return given_back.load(); }));
  EXPECT_FALSE(next.done()) << "it waits without a limit";
  server_.start();
  EXPECT_TRUE(eventually([&] { return next.done(); }));
  EXPECT_TRUE(next.take());
}

/// They wait for the server, and others hear of their losses meanwhile.
TEST_F(outage, in_a_callback_holds_up_no_news_of_other_leases) {
  for (auto const renews : {false, true}) {
    SCOPED_TRACE(renews);
    client redis{server_.url(), with_long_timeouts()};
    shared_mutex written{redis, "written", {.ttl = 5min}};
    mutex brief{redis, "brief", {.ttl = 1s}};
    auto held = brief.acquire();
    std::atomic<bool> lost = false;
    held.on_lost([&](loss_cause) { lost = true; });
    std::atomic<bool> waits = false;
    std::atomic<bool> done = false;
    written.async_acquire([&](std::optional<lease> writer, std::exception_ptr const&) {
      server_.freeze();
      waits = true;
      if (renews)
        writer->renew();
      else
        written.downgrade(std::move(*writer)).release();
      done = true;
    });
    ASSERT_TRUE(eventually([&] { return waits.load(); }));
    EXPECT_TRUE(eventually([&] { return lost.load(); }));
    EXPECT_FALSE(done);
    server_.thaw();
    EXPECT_TRUE(eventually([&] { return done.load(); }));
  }
}

TEST_F(outage, is_none_where_no_further_try_can_help) {
  fake_server const web{
      "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n", {}, fake_server::after_answer::close};
  client of_web{web.url(), with_long_timeouts()};
  EXPECT_EQ(failure_of([&] { (void)mutex{of_web, "orders"}.try_acquire_for(1h); }).code, errc::protocol);
  auto const guarded = redis_server::with({.args = {"--requirepass", "s3cret"}});
  client stranger{guarded.url()};
  EXPECT_EQ(failure_of([&] { (void)mutex{stranger, "orders"}.try_acquire_for(1h); }).code,
            errc::unauthorized);
}

}  // namespace
}  // namespace holdfast::test
