/// Holders and waiters in real processes, to be killed and frozen: the test program itself, started again.
#pragma once

#include "line_process.hpp"

#include <chrono>
#include <string>
#include <vector>

namespace holdfast::test {

/// To be called first thing in main(). Runs the worker and exits when this process was started as one; see
/// worker.cpp for what it understands.
void become_worker_if_asked(int argc, char** argv);

/// What a worker writes of how a release or lease ended: a number, since the texts are for people.
template <class Outcome>
[[nodiscard]] std::string code_word(Outcome outcome) {
  return std::to_string(static_cast<int>(outcome));
}

class worker : public line_process {
 public:
  /// Waits for commands: acquire, try MS, lock, release, status, increment SOCKET COUNTER TIMES, spin, wait,
  /// wait elsewhere, wait in a callback, cycle, clients N, fork, no threads, threads, async, signals, exit,
  /// exit in a callback, quit. Each but the last three answers with one line. `lock` is that of a
  /// recursive_mutex, by the main thread. `increment` is of a counter in Redis, and each time under the lock.
  /// `wait` and `cycle` start another thread, which waits for the lock (elsewhere: by another client) and
  /// says "entered" when it has it, or takes it and gives it back for ever. `clients` each take a lock of
  /// another name.
  static worker session(std::string const& url, std::string const& subject, std::string const& name,
                        std::chrono::milliseconds ttl);
  /// Takes, holds and releases over and over, twice at least, until `time` is over, and writes each lease to
  /// `history` (see judge.hpp). With a `counter` file: increments the number in it, unguarded but for the
  /// lock.
  static worker loop(std::string const& url, std::string const& subject, std::string const& name,
                     std::chrono::milliseconds ttl, std::chrono::milliseconds time,
                     std::chrono::microseconds hold, std::string const& history,
                     std::string const& counter = "-");

 private:
  explicit worker(std::vector<std::string> words);
};

}  // namespace holdfast::test
