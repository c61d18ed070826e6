/// Options at both ends of their ranges, and beyond.
#include "law.hpp"

#include <holdfast/fence.hpp>
#include <holdfast/inspect.hpp>

#include "base/ranges.hpp"

namespace holdfast::test {
namespace {

/// Makes something with `option` at both ends of each range, and beyond them.
template <class Options, std::size_t N, class Make>
void expect_ranges(std::array<time_range<Options>, N> const& table, Options const& others, Make make) {
  auto const refused = [&](Options const& options, char const* name) {
    try {
      make(options);
    } catch (error const& e) {
      return e.code() == std::errc::invalid_argument &&
             std::string_view{e.what()}.find(name) != std::string_view::npos;
    }
    return false;
  };
  for (auto const& one : table) {
    auto options = others;
    for (auto const fine : {one.least, one.most}) {
      options.*one.option = fine;
      EXPECT_NO_THROW(make(options)) << one.name << " = " << fine.count();
    }
    for (auto const bad : {one.least - 1ms, one.most + 1ms, milliseconds::min(), milliseconds::max()}) {
      options.*one.option = bad;
      EXPECT_TRUE(refused(options, one.name)) << one.name << " = " << bad.count();
    }
  }
}

TEST(options, are_taken_at_both_ends_of_their_range_and_refused_beyond) {
  client nowhere{"redis+unix:///nonexistent/redis.sock"};
  // Those that depend on each other leave each other room.
  lock_options const roomy{.ttl = ranges::year, .poll_floor = 1ms, .poll_cap = ranges::year};
  expect_ranges(ranges::of_locks, roomy,
                [&](lock_options const& options) { mutex const m{nowhere, "m", options}; });
  expect_ranges(ranges::of_clients, {}, [](client_options const& options) {
    client const c{"redis+unix:///nonexistent/redis.sock", options};
  });
  expect_ranges(ranges::of_fences, {},
                [&](fence_options const& options) { fence const f{nowhere, "orders", options}; });
  EXPECT_EQ(nowhere.stats().commands, 0u);
  served server;
  client redis{server.url(), unhurried()};
  expect_ranges(ranges::of_force, {},
                [&](force_options const& options) { (void)force_release(redis, "nothing", options); });
}

/// Takes a lock that a neighbour then waits for, and gives it back to it.
void expect_to_work(served const& server, client_options const& how, lock_options const& options,
                    std::string const& what) {
  SCOPED_TRACE(what);
  client redis{server.url(), how};
  client other{server.url(), unhurried()};
  mutex m{redis, what, options};
  mutex elsewhere{other, what};
  auto mine = m.try_acquire_for(20s);
  ASSERT_TRUE(mine);
  EXPECT_TRUE(mine->valid());
  EXPECT_FALSE(elsewhere.try_acquire());
  pending next;
  elsewhere.async_acquire(next.handler());
  EXPECT_TRUE(eventually([&] { return other.stats().waits >= 1; }));
  EXPECT_TRUE(mine->valid());
  EXPECT_EQ(mine->release(), release_result::released);
  EXPECT_TRUE(eventually([&] { return next.done(); }));
}

TEST(options, work_when_they_are_as_long_as_may_be) {
  served server;
  for (auto const& one : ranges::of_locks) {
    lock_options options{.ttl = ranges::year, .poll_cap = ranges::year};
    options.*one.option = one.most;
    expect_to_work(server, unhurried(), options, one.name);
  }
  for (auto const& one : ranges::of_clients) {
    auto options = unhurried();
    options.*one.option = one.most;
    expect_to_work(server, options, {}, one.name);
  }
}

TEST(options, of_a_lease_are_times_of_any_length) {
  served server;
  auto raw = server.raw();
  client redis{server.url(), unhurried()};
  mutex m{redis, "orders", {.max_hold = ranges::century}};
  auto mine = m.acquire();
  auto near = 0;
  mine.on_limit_near(milliseconds::min(), [&] { near += 1; });
  EXPECT_EQ(near, 0);
  mine.on_limit_near(milliseconds::max(), [&] { near += 10; });
  EXPECT_EQ(near, 10);
  EXPECT_EQ(mine.keep_for(milliseconds::max()), release_result::kept);
  EXPECT_GT(raw.pttl("orders"), std::chrono::milliseconds{ranges::year}.count());
  auto past = std::chrono::system_clock::time_point::min();
  EXPECT_FALSE(m.try_lock_until(past));
}

}  // namespace
}  // namespace holdfast::test
