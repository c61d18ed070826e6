/// Holders and waiters in real processes, which tests kill and freeze: the test program, started again.
#pragma once

#include "line_process.hpp"

#include <chrono>
#include <string>
#include <vector>

namespace holdfast::test {

/// To be called first in main(). If this process was started as a worker, runs the worker and exits; see
/// worker.cpp for its commands.
void run_worker_if_requested(int argc, char** argv);

/// A worker writes the outcome of a release or lease as a number, since the texts are for people.
template <class Outcome>
[[nodiscard]] std::string code_word(Outcome outcome) {
  return std::to_string(static_cast<int>(outcome));
}

class worker : public line_process {
 public:
  /// Waits for commands: acquire, try MS, lock, release, status, increment SOCKET COUNTER TIMES, spin, wait,
  /// wait elsewhere, wait in a callback, cycle, clients N, fork, no threads, threads, async, signals, exit,
  /// exit in a callback, quit. Each but the last three replies with one line. `lock` locks a
  /// recursive_mutex in the main thread. `increment` increments a counter in Redis, each time under the lock.
  /// `arrive NAME PARTIES TTL_MS` arrives at a barrier, and replies "passed" with the generation. `await
  /// NAME` acquires the lock, and waits on the condition of that name; `notify NAME` notifies one. `wait`
  /// starts a thread that waits for the lock (elsewhere: by another client) and writes "entered" when it has
  /// acquired it. `cycle` starts a thread that acquires and releases the lock without end. `clients` each
  /// acquire a lock of a different name.
  static worker session(std::string const& url, std::string const& subject, std::string const& name,
                        std::chrono::milliseconds ttl);
  /// Acquires, holds and releases in a loop, at least twice, until `time` is over, and writes each lease to
  /// `history` (see judge.hpp). With a `counter` file: increments the number in it, which only the lock makes
  /// atomic.
  static worker loop(std::string const& url, std::string const& subject, std::string const& name,
                     std::chrono::milliseconds ttl, std::chrono::milliseconds time,
                     std::chrono::microseconds hold, std::string const& history,
                     std::string const& counter = "-");

 private:
  explicit worker(std::vector<std::string> words);
};

}  // namespace holdfast::test
