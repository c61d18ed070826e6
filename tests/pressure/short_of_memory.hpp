/// Runs an action repeatedly; another allocation fails in each run.
#pragma once

#include "allocations.hpp"

#include "support/eventually.hpp"

#include <holdfast/client.hpp>
#include <holdfast/error.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <new>
#include <system_error>
#include <thread>

namespace holdfast::test {

/// A thread that hangs can't be joined, so this ends the whole test program.
inline void end_unless(bool finished, std::int64_t n) {
  if (finished) return;
  std::fprintf(stderr, "it hangs when allocation %lld fails\n", static_cast<long long>(n));
  std::_Exit(1);
}

inline void expect_memory_failure(std::exception_ptr const& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (std::bad_alloc const&) {
  } catch (std::system_error const& exception) {
    // A master whose connection had no memory counts as one that doesn't answer.
    EXPECT_TRUE(exception.code() == std::errc::not_enough_memory || exception.code() == errc::cancelled ||
                exception.code() == errc::unreachable)
        << exception.what();
  } catch (std::exception const& exception) {
    ADD_FAILURE() << exception.what();
  }
}

/// Runs `action`, in which `times` allocations in a row fail, from the n-th on. False: it made fewer.
inline bool run_short_of_memory(std::int64_t n, std::function<void()> const& action, std::int64_t times = 1) {
  std::atomic<bool> finished = false;
  std::exception_ptr failure;
  nth_allocation const failing_allocation{n, [] { throw std::bad_alloc{}; }, times};
  std::thread runner{[&] {
    try {
      action();
    } catch (...) {
      failure = std::current_exception();
    }
    finished = true;
  }};
  end_unless(eventually([&] { return finished.load(); }), n);
  runner.join();
  if (failure) expect_memory_failure(failure);
  return failing_allocation.reached();
}

inline bool is_idle(client const& tested_client) {
  return eventually(
      [&] { return tested_client.stats().waiting_now == 0 && tested_client.stats().held_now == 0; });
}

/// Calls `round` for the first allocation, the second and so on, until it returns false.
template <class Round>
void for_each_allocation(Round round) {
  uncounted_thread const uncounted;
  for (std::int64_t n = 0;; ++n) {
    SCOPED_TRACE(n);
    if (!round(n) || testing::Test::HasFailure()) return;
  }
}

}  // namespace holdfast::test
