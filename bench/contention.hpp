/// Contenders for one name: who held last, how often it passed on, and whether two ever held at once.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <holdfast/options.hpp>
#include <string>

#include "process.hpp"
#include "rows.hpp"

namespace holdfast::bench {

/// In memory shared by all contenders of all processes.
struct tally {
  std::atomic<int> ready{0};
  std::atomic<bool> go{false};
  std::atomic<bool> stop{false};
  std::atomic<int> inside{0};
  std::atomic<int> last{-1};  ///< process * 1000 + thread
  std::atomic<std::int64_t> acquisitions{0};
  std::atomic<std::int64_t> handoffs{0};          ///< to another contender
  std::atomic<std::int64_t> process_handoffs{0};  ///< to a contender in another process
  std::atomic<std::int64_t> overlaps{0};
  std::atomic<std::int64_t> left_at{0};                ///< when the last one let go, in ns
  std::array<std::atomic<std::int64_t>, 8192> gaps{};  ///< the latest ones: from there to the next, in ns

  /// Called by a holder just before it lets go.
  void leave();

  /// Called by a contender while it holds; `work` is what it has to do meanwhile.
  void visit(int process, int thread, std::chrono::microseconds work = {});

  /// Called by a contender that is about to begin.
  void wait_for_start();
};

/// What one measurement of contention gave, per second.
struct contention {
  double turns = 0;
  double handoffs = 0;
  double process_handoffs = 0;
  double requests = 0;
  double messages = 0;
  double server_us = 0;  ///< not per second: the server's time for a handoff between processes
  double gap_us = 0;     ///< the median time from letting go to the next one's having it; 0 when nobody told
};

/// Body of one process: starts its threads, each of which calls tally::wait_for_start() and goes on until
/// tally::stop.
using contending_process = std::function<void(int process, int threads, tally&)>;

/// Lets processes × threads contend and measures after they have settled. Throws when two held at once.
[[nodiscard]] contention contend(context const& run, int processes, int threads,
                                 contending_process const& body);

/// Holdfast: one client and one mutex a process.
[[nodiscard]] contending_process holdfast_contenders(redis_server const& server,
                                                     lock_options const& options = {});

/// The same, but who released comes back only when another has held: nobody overtakes those that
/// wait. No release hands over by itself, so that every handoff takes the same way: a message, and then a
/// request.
[[nodiscard]] contending_process polite_holdfast_contenders(redis_server const& server,
                                                            lock_options options = {});

/// Holdfast's fair lock: one client and one fair_mutex a process.
[[nodiscard]] contending_process fair_holdfast_contenders(redis_server const& server);

/// Holdfast's lock of several masters: one client and one quorum_mutex a process, which works for so long
/// each time.
[[nodiscard]] contending_process quorum_contenders(std::string const& url, std::chrono::microseconds work);

/// The best simple design: a list that holds one token; BLPOP takes it, RPUSH gives it back. One connection a
/// thread.
[[nodiscard]] contending_process blpop_contenders(redis_server const& server);

/// Within one process: a mutex, a queue of waiters with a condition variable each, and direct handoff to the
/// first.
[[nodiscard]] contending_process fifo_contenders();

}  // namespace holdfast::bench
