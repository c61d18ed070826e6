/// Deployments in memory, clocks and clients end in any order.

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <holdfast/mutex.hpp>
#include <holdfast/testing.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>

#include "engine/access.hpp"
#include "engine/core.hpp"
#include "support/sanitizers.hpp"

namespace holdfast {
namespace {

using namespace std::chrono_literals;

/// The clock stands still, so nothing here may wait for it.
struct ends_in_memory : testing::Test {
  memory::manual_clock time;
  std::optional<memory::deployment> servers{std::in_place};
};

TEST_F(ends_in_memory, a_client_with_a_lease_ends_after_its_deployment) {
  auto redis = servers->connect();
  mutex m{redis, "orders"};
  auto const held = m.acquire();
  servers.reset();
}

TEST_F(ends_in_memory, a_deployment_that_has_ended_says_so) {
  auto redis = servers->connect();
  mutex m{redis, "orders"};
  redis.connect();
  servers.reset();
  try {
    (void)m.try_acquire();
    FAIL() << "it got an answer";
  } catch (error const& refused) {
    EXPECT_NE(std::string{refused.what()}.find("has ended"), std::string::npos) << refused.what();
  }
}

TEST_F(ends_in_memory, a_deployment_ends_while_it_is_paused) {
  auto redis = servers->connect();
  mutex m{redis, "orders"};
  auto const held = m.acquire();
  auto const pause = servers->pause();
  servers.reset();
}

TEST_F(ends_in_memory, clients_are_those_of_the_next_deployment_of_that_name) {
  auto redis = servers->connect();
  mutex m{redis, "orders"};
  auto const held = m.acquire();
  servers.reset();
  servers.emplace();
  time.advance(5s);
  EXPECT_EQ(held.lost_because(), loss_cause::key_gone);
  EXPECT_TRUE(m.try_acquire());
}

TEST_F(ends_in_memory, a_connection_that_broke_is_tried_again_in_vain) {
  auto redis = servers->connect();
  mutex m{redis, "orders"};
  auto const held = m.acquire();
  servers->break_connections();
  servers.reset();
  time.advance(40s);
  EXPECT_EQ(held.lost_because(), loss_cause::unreachable);
}

TEST_F(ends_in_memory, a_client_ends_in_its_own_callback_and_the_clock_goes_on) {
  std::optional<client> redis{servers->connect()};
  std::atomic<bool> over = false;
  mutex{*redis, "orders"}.async_acquire([&](std::optional<lease> const&, std::exception_ptr const&) {
    redis.reset();
    over = true;
  });
  EXPECT_TRUE(memory::until([&] { return over.load(); }));
  EXPECT_NO_THROW(time.advance(1min));
}

TEST(clock_in_memory, may_end_before_the_clients) {
  memory::deployment servers;
  auto redis = servers.connect();
  mutex m{redis, "orders"};
  auto held = m.acquire();
  for (auto i = 0; i != 2; ++i) {
    memory::manual_clock time;
    time.advance(1min);
    EXPECT_TRUE(held.valid());
  }
  EXPECT_EQ(held.release(), release_result::released);
}

memory::deployment* servers_at_exit = nullptr;

/// What is registered first is called last: when all has been given back. 3: something is left.
void look_at_exit() {
  auto const left = servers_at_exit->keys();
  ::_exit(std::ranges::find(left, "orders") == left.end() ? 0 : 3);
}

/// Nothing has executed a script in this process before.
[[noreturn]] void exit_with_a_lease() {
  EXPECT_EQ(std::atexit(look_at_exit), 0);
  memory::deployment servers;
  servers_at_exit = &servers;
  auto redis = servers.connect();
  mutex m{redis, "orders"};
  auto const held = m.acquire();
  std::exit(2);
}

TEST(exit_in_memory, gives_back_what_is_held) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(exit_with_a_lease(), testing::ExitedWithCode(0), "");
}

void take_turns_with_oneself(memory::deployment const& servers) {
  auto redis = servers.connect();
  mutex m{redis, "orders"};
  m.acquire().release();
}

bool ends_well(pid_t child) {
  auto status = 0;
  if (memory::until([&] { return ::waitpid(child, &status, WNOHANG) == child; }))
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
  ::kill(child, SIGKILL);
  ::waitpid(child, &status, 0);
  return false;
}

/// It may end as it is: what it has isn't destroyed.
bool child_has_a_deployment() {
  auto const child = ::fork();
  if (child == 0) {
    memory::deployment const own{{.name = "child"}};
    take_turns_with_oneself(own);
    ::_exit(0);
  }
  return ends_well(child);
}

TEST(fork_in_memory, lets_a_child_have_a_deployment_whatever_its_parent_is_at) {
  if (test::under_address_sanitizer) {
    GTEST_SKIP() << "a thread of the parent may hold a lock of AddressSanitizer's allocator at the fork";
  }
  if (test::under_thread_sanitizer) GTEST_SKIP() << "a forked child has none of the threads that it counts";
  memory::deployment servers;
  std::jthread const busy{[&](std::stop_token const& stop) {
    while (!stop.stop_requested()) take_turns_with_oneself(servers);
  }};
  for (auto i = 0; i != 16 && !HasFailure(); ++i) EXPECT_TRUE(child_has_a_deployment());
}

/// Forks while this thread has the client's lock, and so the child has it, too. Whether the child can say
/// something all the same, which is nothing.
bool child_with_the_lock_warns(client& redis) {
  auto const core = engine::access::core_of(redis);
  auto child = -1;
  core->warn([&] {
    child = ::fork();
    if (child != 0) return "";
    core->warn([] { return "a child has nothing to say"; });
    ::_exit(0);
  });
  return ends_well(child);
}

TEST(fork_in_memory, lets_a_child_say_nothing_whatever_lock_its_parent_has) {
  if (test::under_thread_sanitizer) GTEST_SKIP() << "a forked child has none of the threads that it counts";
  memory::deployment servers;
  auto redis = servers.connect({.log = [](log_level, std::string_view) {}});
  EXPECT_TRUE(child_with_the_lock_warns(redis));
}

TEST(clock_in_memory, moves_forward_and_not_beyond_a_century) {
  memory::manual_clock time;
  EXPECT_THROW(time.advance(-1s), std::invalid_argument);
  EXPECT_THROW(time.advance(std::chrono::hours::max()), std::invalid_argument);
  time.advance(std::chrono::years{99});
  EXPECT_THROW(time.advance(std::chrono::years{2}), std::invalid_argument);
  EXPECT_EQ(time.elapsed(), std::chrono::years{99});
}

}  // namespace
}  // namespace holdfast
