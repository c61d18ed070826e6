/// Many cycles of acquiring and releasing at once: by threads, or asynchronously.
#pragma once

#include <atomic>
#include <functional>
#include <holdfast/client.hpp>
#include <holdfast/exclusive_lock.hpp>
#include <holdfast/options.hpp>

#include "rows.hpp"

namespace holdfast::bench {

/// What one measurement of cycles gave.
struct cycles {
  double per_second = 0;
  double requests = 0;  ///< per cycle
  double cpu_us = 0;    ///< per cycle: user and system time of the process that runs them
};

/// Lines for a row that compares cycles: `rate`, and the CPU of the client for one of them, at most
/// `cpu_limit` × that of the floor.
[[nodiscard]] std::vector<line> rate_and_cpu(context const& run, line rate, double cpu_limit,
                                             std::function<cycles()> const& floor,
                                             std::function<cycles()> const& own);

/// How the counter of a process grows, once it has reached `settled`.
[[nodiscard]] cycles growth(context const& run, std::atomic<long> const& completed, long settled);

/// So many threads, each with a mutex on a name of its own. In a child process.
[[nodiscard]] cycles of_threads(context const& run, int threads, lock_options const& options = {});

/// Acquires asynchronously.
using acquirer = std::function<void(exclusive_lock::acquire_handler)>;

/// So many cycles outstanding, the n-th with what `make(client, n)` returns. In a child process.
[[nodiscard]] cycles outstanding(context const& run, int count,
                                 std::function<acquirer(client&, int)> const& make,
                                 client_options const& how = {});

/// The same until so many are completed.
void run_outstanding_cycles(context const& run, int count, std::function<acquirer(client&, int)> const& make,
                            long cycles, client_options const& how = {});

/// What `outstanding` needs for mutexes on different names.
[[nodiscard]] std::function<acquirer(client&, int)> mutexes(lock_options const& options = {});
/// For the sides of read-write locks on different names.
[[nodiscard]] std::function<acquirer(client&, int)> readers(lock_options const& options = {});
[[nodiscard]] std::function<acquirer(client&, int)> writers(lock_options const& options = {});
/// For semaphores of four permits on different names. `others` of them are out all the time.
[[nodiscard]] std::function<acquirer(client&, int)> permits(int others, lock_options const& options = {});

}  // namespace holdfast::bench
