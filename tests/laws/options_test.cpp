/// Options at both ends of their ranges, and beyond.
#include "law.hpp"

#include <holdfast/fence.hpp>
#include <holdfast/inspect.hpp>

#include "base/ranges.hpp"

namespace holdfast::test {
namespace {

/// Calls `make` with each option at both ends of its range, and beyond them.
template <class Options, std::size_t N, class Make>
void expect_ranges(std::array<time_range<Options>, N> const& table, Options const& base, Make make) {
  auto const refused = [&](Options const& options, char const* name) {
    auto const refusal = failure_of([&] { make(options); });
    return refusal.code == std::errc::invalid_argument && refusal.mentions(name);
  };
  for (auto const& range : table) {
    auto options = base;
    for (auto const valid : {range.least, range.most}) {
      options.*range.option = valid;
      EXPECT_NO_THROW(make(options)) << range.name << " = " << valid.count();
    }
    for (auto const bad : {range.least - 1ms, range.most + 1ms, milliseconds::min(), milliseconds::max()}) {
      options.*range.option = bad;
      EXPECT_TRUE(refused(options, range.name)) << range.name << " = " << bad.count();
    }
  }
}

TEST(options, are_taken_at_both_ends_of_their_range_and_refused_beyond) {
  client unreachable_client{"redis+unix:///nonexistent/redis.sock"};
  // Options that depend on each other leave room for each other.
  lock_options const roomy{.ttl = ranges::year, .poll_floor = 1ms, .poll_cap = ranges::year};
  expect_ranges(ranges::of_locks, roomy,
                [&](lock_options const& options) { mutex const m{unreachable_client, "m", options}; });
  expect_ranges(ranges::of_clients, {}, [](client_options const& options) {
    client const c{"redis+unix:///nonexistent/redis.sock", options};
  });
  expect_ranges(ranges::of_fences, {},
                [&](fence_options const& options) { fence const f{unreachable_client, "orders", options}; });
  EXPECT_EQ(unreachable_client.stats().commands, 0u);
  deployment_under_test server;
  client redis{server.url(), with_long_timeouts()};
  expect_ranges(ranges::of_force, {},
                [&](force_options const& options) { (void)force_release(redis, "nothing", options); });
}

/// Acquires a lock, for which another client then waits, and releases it to that client.
void expect_to_work(deployment_under_test const& server, client_options const& settings,
                    lock_options const& options, std::string const& name) {
  SCOPED_TRACE(name);
  client redis{server.url(), settings};
  client other{server.url(), with_long_timeouts()};
  mutex m{redis, name, options};
  mutex remote{other, name};
  auto lease = m.try_acquire_for(20s);
  ASSERT_TRUE(lease);
  EXPECT_TRUE(lease->valid());
  EXPECT_FALSE(remote.try_acquire());
  pending next;
  remote.async_acquire(next.handler());
  EXPECT_TRUE(eventually([&] { return other.stats().waits >= 1; }));
  EXPECT_TRUE(lease->valid());
  EXPECT_EQ(lease->release(), release_result::released);
  EXPECT_TRUE(eventually([&] { return next.done(); }));
}

TEST(options, work_when_they_are_as_long_as_may_be) {
  deployment_under_test server;
  for (auto const& range : ranges::of_locks) {
    lock_options options{.ttl = ranges::year, .poll_cap = ranges::year};
    options.*range.option = range.most;
    expect_to_work(server, with_long_timeouts(), options, range.name);
  }
  for (auto const& range : ranges::of_clients) {
    auto options = with_long_timeouts();
    options.*range.option = range.most;
    expect_to_work(server, options, {}, range.name);
  }
}

TEST(options, of_a_lease_are_times_of_any_length) {
  deployment_under_test server;
  auto raw = server.raw();
  client redis{server.url(), with_long_timeouts()};
  mutex m{redis, "orders", {.max_hold = ranges::century}};
  auto lease = m.acquire();
  auto near = 0;
  lease.on_limit_near(milliseconds::min(), [&] { near += 1; });
  EXPECT_EQ(near, 0);
  lease.on_limit_near(milliseconds::max(), [&] { near += 10; });
  EXPECT_EQ(near, 10);
  EXPECT_EQ(lease.keep_for(milliseconds::max()), release_result::kept);
  EXPECT_GT(raw.pttl("orders"), std::chrono::milliseconds{ranges::year}.count());
  auto past = std::chrono::system_clock::time_point::min();
  EXPECT_FALSE(m.try_lock_until(past));
}

}  // namespace
}  // namespace holdfast::test
