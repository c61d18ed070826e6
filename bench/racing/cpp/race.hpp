/// What the C++ programs of bench/race have in common: the line protocol of bench/racing/README.md.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace holdfast::race {

/// A library's lock on one name, for one thread at a time.
class racing_lock {
 public:
  virtual ~racing_lock() = default;
  virtual void lock() = 0;
  virtual void unlock() = 0;
  /// Whether the library tells of a loss.
  [[nodiscard]] virtual bool tells() const { return false; }
  /// Whether it has told so of the lock that is held.
  [[nodiscard]] virtual bool told() const { return false; }
};

/// A library in the race.
class racer {
 public:
  virtual ~racer() = default;
  [[nodiscard]] virtual std::string version() const = 0;

  /// Threads may use different ones at once. Without a ttl: the library's default. `watchful`: the lock tells
  /// of its loss, if the library can.
  virtual std::unique_ptr<racing_lock> make(std::string const& name,
                                            std::optional<std::chrono::milliseconds> ttl, bool watchful) = 0;

  /// Cycles on `in_flight` different names at once, for so long; returns how many. A thread for each, unless
  /// the library has better.
  virtual std::int64_t cycle(int in_flight, std::chrono::microseconds time);

  /// Takes that many names and keeps them.
  virtual void hold(int names);
};

[[nodiscard]] std::int64_t microseconds_now();  ///< since the epoch, as all programs of the race have it

/// Runs `body` in so many threads, and waits for them.
void in_threads(int count, std::function<void(int number)> const& body);

/// Answers requests until the end of the input, then ends the process and releases nothing.
[[noreturn]] void serve(racer& library);

}  // namespace holdfast::race
