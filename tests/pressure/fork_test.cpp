/// A process forks while another thread is at any of its allocations.
#include "allocations.hpp"

#include "support/eventually.hpp"
#include "support/sanitizers.hpp"

#include <holdfast/client.hpp>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <thread>

namespace holdfast::test {
namespace {

constexpr auto unreachable_url = "redis+unix:///nonexistent/redis.sock";

/// Forks a child that makes a client, destroys it and ends as most programs do.
bool child_with_a_client_ends_well() {
  std::fflush(nullptr);  // otherwise the child writes it again
  auto const child = ::fork();
  if (child == 0) {
    {
      client const child_client{unreachable_url};
    }
    std::exit(0);
  }
  auto status = 0;
  if (eventually([&] { return ::waitpid(child, &status, WNOHANG) == child; }))
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
  ::kill(child, SIGKILL);
  ::waitpid(child, &status, 0);
  return false;
}

TEST(fork, lets_a_child_make_a_client_whatever_another_thread_is_at) {
  if (under_address_sanitizer) {
    GTEST_SKIP() << "a thread of the parent may hold a lock of AddressSanitizer's allocator at the fork";
  }
  if (under_thread_sanitizer) GTEST_SKIP() << "a forked child has none of the threads that it counts";
  uncounted_thread const uncounted;
  // Code that holds a lock allocates, too. Each allocation lasts until the child exists, or until the fork
  // has had time to begin, since the fork may wait for the lock.
  for (auto n = 0;; ++n) {
    std::atomic<bool> reached = false;
    std::atomic<bool> forked = false;
    std::atomic<bool> finished = false;
    nth_allocation const paused_allocation{n, [&] {
                                             reached = true;
                                             (void)true_within(100ms, [&] { return forked.load(); });
                                           }};
    std::jthread const maker{[&] {
      {
        client const created{unreachable_url};
      }
      finished = true;
    }};
    ASSERT_TRUE(eventually([&] { return reached || finished; }));
    if (!reached) break;
    EXPECT_TRUE(child_with_a_client_ends_well()) << "forked at allocation " << n;
    forked = true;
    if (HasFailure()) break;
  }
}

}  // namespace
}  // namespace holdfast::test
