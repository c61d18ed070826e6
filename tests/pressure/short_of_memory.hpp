/// Doing something again and again, each time with another allocation that fails.
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

/// What hangs can't be joined: the test ends here.
inline void end_unless(bool over, std::int64_t n) {
  if (over) return;
  std::fprintf(stderr, "it hangs when allocation %lld fails\n", static_cast<long long>(n));
  std::_Exit(1);
}

inline void expect_to_be_about_memory(std::exception_ptr const& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (std::bad_alloc const&) {
  } catch (std::system_error const& why) {
    // A master whose connection had no memory counts as one that doesn't answer.
    EXPECT_TRUE(why.code() == std::errc::not_enough_memory || why.code() == errc::cancelled ||
                why.code() == errc::unreachable)
        << why.what();
  } catch (std::exception const& why) {
    ADD_FAILURE() << why.what();
  }
}

/// Runs `what`, in which the n-th allocation fails, and so many in a row. False: it didn't come to that.
inline bool run_short_of_memory(std::int64_t n, std::function<void()> const& what, std::int64_t times = 1) {
  std::atomic<bool> over = false;
  std::exception_ptr failure;
  nth_allocation const here{n, [] { throw std::bad_alloc{}; }, times};
  std::thread runner{[&] {
    try {
      what();
    } catch (...) {
      failure = std::current_exception();
    }
    over = true;
  }};
  end_unless(eventually([&] { return over.load(); }), n);
  runner.join();
  if (failure) expect_to_be_about_memory(failure);
  return here.happened();
}

inline bool is_at_rest(client const& who) {
  return eventually([&] { return who.stats().waiting_now == 0 && who.stats().held_now == 0; });
}

/// Calls `round` for the first allocation, the second, and so on, until it says that it didn't come to that.
template <class Round>
void for_each_allocation(Round round) {
  left_alone const this_thread;
  for (std::int64_t n = 0;; ++n) {
    SCOPED_TRACE(n);
    if (!round(n) || testing::Test::HasFailure()) return;
  }
}

}  // namespace holdfast::test
