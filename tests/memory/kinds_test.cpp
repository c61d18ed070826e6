/// What the kinds of lock promise, on a deployment in memory, through the public headers alone.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <exception>
#include <fstream>
#include <future>
#include <holdfast/barrier.hpp>
#include <holdfast/condition.hpp>
#include <holdfast/election.hpp>
#include <holdfast/expiring_semaphore.hpp>
#include <holdfast/fence.hpp>
#include <holdfast/inspect.hpp>
#include <holdfast/mutex.hpp>
#include <holdfast/semaphore.hpp>
#include <holdfast/shared_mutex.hpp>
#include <holdfast/testing.hpp>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

namespace holdfast {
namespace {

using namespace std::chrono_literals;

struct kinds_in_memory : testing::Test {
  memory::manual_clock time;
  memory::deployment servers;
  client redis = servers.connect();
};

std::size_t count_in(std::string const& file, std::string_view word) {
  std::ifstream opened{file};
  std::string const text{std::istreambuf_iterator<char>{opened}, {}};
  std::size_t found = 0;
  for (auto at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++found;
  return found;
}

TEST_F(kinds_in_memory, a_barrier_has_several_arrivals_of_one_object_in_each_generation) {
  barrier meeting{redis, "meeting", 3};
  for (auto generation = 1; generation != 4; ++generation) {
    std::promise<std::int64_t> first, second;
    meeting.async_arrive_and_wait(
        [&](std::int64_t opened, std::exception_ptr const&) { first.set_value(opened); });
    meeting.async_arrive_and_wait(
        [&](std::int64_t opened, std::exception_ptr const&) { second.set_value(opened); });
    auto const opened = meeting.arrive_and_wait();
    EXPECT_GT(opened, 0);
    EXPECT_EQ(first.get_future().get(), opened);
    EXPECT_EQ(second.get_future().get(), opened);
  }
}

TEST_F(kinds_in_memory, a_fence_asks_no_server_for_a_claim_of_a_lease_that_is_lost) {
  fence orders{redis, "orders"};
  auto lost_lease = mutex{redis, "lost"}.acquire();
  lost_lease.release();
  auto const commands = redis.stats().commands;
  std::optional<fence_result> told;
  orders.async_claim(lost_lease,
                     [&](std::optional<fence_result> result, std::exception_ptr const&) { told = result; });
  EXPECT_EQ(told, fence_result::refused_lost) << "before the call returns";
  EXPECT_EQ(redis.stats().commands, commands);
}

TEST_F(kinds_in_memory, permits_without_a_lease_come_back_when_their_caller_goes_in_a_long_outage) {
  semaphore slots{redis, "slots", 3};
  std::promise<bool> outcome;
  {
    auto slow = servers.hold_replies();
    slots.async_try_acquire_for(1s, [&](bool, std::exception_ptr const&) { outcome.set_value(true); });
    auto const outage = servers.unreachable();
    slow.end();
    time.advance(10min);
  }
  EXPECT_TRUE(outcome.get_future().get());
  time.advance(10s);
  auto other = servers.connect();
  EXPECT_EQ((semaphore{other, "slots", 3}.available()), 3);
}

TEST_F(kinds_in_memory, who_took_permits_without_a_lease_can_be_named_when_its_process_is_gone) {
  auto gone = std::optional{servers.connect({.label = "gone"})};
  semaphore{*gone, "slots", 3}.acquire();
  time.settle();
  {
    auto const outage = servers.unreachable();  // it can't say anything more
    time.settle();  // and knows it: else its end would wait for answers, and time stands still
    gone.reset();
  }
  time.advance(10min);
  auto const seen = inspect(redis, "slots");
  ASSERT_EQ(seen.holders.size(), 1u);
  EXPECT_EQ(seen.holders[0].process.label, "gone");
}

TEST_F(kinds_in_memory, a_history_says_that_a_number_is_about_to_be_set) {
  memory::history seen;
  {
    auto recorded = servers.connect({.history = seen.path()});
    expiring_semaphore slots{recorded, "slots"};
    EXPECT_TRUE(slots.try_set_permits(2));
    slots.set_permits(3);
    EXPECT_TRUE((semaphore{recorded, "seats"}.try_set_permits(4)));
  }
  EXPECT_EQ(count_in(seen.path(), "\"setting\""), 3u);
  EXPECT_EQ(count_in(seen.path(), "\"set\""), 3u);
  EXPECT_TRUE(seen.judge().empty());
}

TEST_F(kinds_in_memory, a_history_says_each_second_that_a_holder_is_alive) {
  memory::history seen;
  {
    auto recorded = servers.connect({.history = seen.path()});
    mutex m{recorded, "orders"};
    auto const held = m.acquire();
    for (auto second = 0; second != 3; ++second) time.advance(1s);
  }
  EXPECT_GE(count_in(seen.path(), "\"alive\""), 3u);
}

TEST_F(kinds_in_memory, a_history_says_again_that_a_caller_has_its_place_after_the_connection_broke) {
  memory::history seen;
  {
    auto const held = mutex{redis, "orders"}.acquire();
    auto recorded = servers.connect({.history = seen.path()});
    mutex m{recorded, "orders"};
    std::atomic<bool> got = false;
    m.async_acquire([&](std::optional<lease> const&, std::exception_ptr const&) { got = true; });
    time.settle();
    EXPECT_EQ(count_in(seen.path(), "\"queued\""), 1u);
    servers.break_connections();
    time.advance(1s);
    EXPECT_EQ(count_in(seen.path(), "\"heard\":0"), 1u);
    EXPECT_EQ(count_in(seen.path(), "\"queued\""), 2u);
    EXPECT_TRUE(servers.lose("orders"));
    time.advance(10s);
    EXPECT_TRUE(got);
  }
  EXPECT_TRUE(seen.judge().empty());
}

TEST_F(kinds_in_memory, a_wait_on_a_condition_is_no_longer_where_it_begins_slowly) {
  mutex m{redis, "orders"};
  condition changed{redis, "orders"};
  auto held = m.acquire();
  std::atomic<bool> over = false;
  auto slow = servers.hold_replies();
  auto const sent = redis.stats().commands;
  std::jthread const waits{[&] {
    EXPECT_EQ(changed.wait_for(held, 2s), std::cv_status::timeout);
    over = true;
  }};
  EXPECT_TRUE(memory::until([&] { return redis.stats().commands > sent; }));
  time.advance(1500ms);
  slow.end();
  EXPECT_TRUE(memory::until([&] { return redis.stats().waiting_now == 1; }));
  time.advance(600ms);
  EXPECT_TRUE(memory::until([&] { return over.load(); }));
  time.advance(2s);
}

TEST_F(kinds_in_memory, a_reader_beside_redisson_is_held_for_as_many_renewals_as_its_caller_says) {
  shared_mutex m{redis, "orders", {.ttl = 60s, .max_renewals = 1, .wire = wire::redisson}};
  auto const held = m.acquire_shared();
  time.advance(70s);
  EXPECT_TRUE(held.valid()) << "it was renewed once, but not as early as one that is renewed again and again";
  time.advance(10s);
  EXPECT_EQ(held.lost_because(), loss_cause::limit_reached);
}

TEST_F(kinds_in_memory, a_thread_says_what_it_waits_for_at_most_once_over_a_connection_that_breaks) {
  auto other = servers.connect();
  auto held = mutex{other, "b"}.acquire();
  auto waiting = servers.connect({.recheck = 30s});
  mutex a{waiting, "a", {.detect_deadlock = true}};
  mutex b{waiting, "b", {.detect_deadlock = true}};
  std::jthread const waits{[&] {
    auto const outer = a.acquire();
    b.acquire().release();
  }};
  EXPECT_TRUE(memory::until([&] {
    auto const now = waiting.stats();
    return now.held_now == 1 && now.waiting_now == 1;
  }));
  time.advance(1500ms);
  servers.break_connections();
  time.advance(1s);  // the server has all scripts that are called then: for want of one a call is sent again
  auto slow = servers.hold_replies();
  auto const sent = waiting.stats().commands;
  time.advance(1s);
  EXPECT_GT(waiting.stats().commands, sent);
  auto const resent = waiting.stats().resent;
  servers.break_connections();
  slow.end();
  time.advance(100ms);
  EXPECT_EQ(waiting.stats().resent, resent) << "a late copy would count as a later statement";
  held.release();
}

TEST_F(kinds_in_memory, an_observer_ends_only_after_its_handler_has) {
  election chosen{redis, "chief"};
  std::promise<void> called, handler_ended;
  std::atomic<bool> ended = false;
  std::atomic<bool> outlived = false;
  std::optional<leader_observer> observer = chosen.observe([&, first = true](auto const&) mutable {
    if (!std::exchange(first, false)) return;
    called.set_value();
    for (auto const end = std::chrono::steady_clock::now() + 200ms;
         !ended && std::chrono::steady_clock::now() < end;)
      std::this_thread::yield();
    outlived = ended.load();
    handler_ended.set_value();
  });
  called.get_future().wait();
  observer.reset();
  ended = true;
  handler_ended.get_future().wait();
  EXPECT_FALSE(outlived);
}

TEST_F(kinds_in_memory, a_lock_is_taken_in_the_way_that_the_url_or_the_options_say_or_not_at_all) {
  auto const take = [&](std::string const& parameter, client_options const& options = {}) {
    client chosen{servers.url() + parameter, options};
    mutex m{chosen, "orders"};
    m.acquire().release();
  };
  EXPECT_THROW(take("?cas=module"), error);
  EXPECT_THROW(take("", {.cas = cas::module}), error);
  EXPECT_THROW(take("?cas=lua", {.cas = cas::module}), error) << "the options count more";
  EXPECT_NO_THROW(take("?cas=module", {.cas = cas::lua}));
}

}  // namespace
}  // namespace holdfast
