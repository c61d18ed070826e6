/// Who holds a lock: what a process says of itself, and what a wait that timed out says of it.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace holdfast {

/// What a client of Holdfast says of itself in Redis (docs/protocol.md, client records). All but `owner` is
/// empty for a client that has no record: an older Holdfast, another library, a process that has been dead
/// for a minute, or one that had nothing to do with the server for longer than half a second.
struct process_info {
  std::string owner{};    ///< the owner id, or whatever another library wrote into the key
  std::string host{};     ///< its host name
  std::int64_t pid = 0;   ///< 0: unknown
  std::string program{};  ///< the name of its executable
  std::string label{};    ///< client_options::label

  /// "web-3 pid 812 'nightly import'"; "unknown (<owner>)" without a record. One line: the fields are as
  /// others wrote them, but here control characters, and those that change the direction of writing, are
  /// shown as \xNN.
  [[nodiscard]] std::string to_string() const;
};

/// Why an acquisition didn't get the lock.
struct busy_info {
  process_info holder{};
  /// Since when it is held, in time; nullopt: unknown, since the holder is no Holdfast. A lock that is handed
  /// on inside a process counts from when it came to that process.
  std::optional<std::chrono::microseconds> held_for{};
  /// What was left of its ttl; nullopt: it had none.
  std::optional<std::chrono::milliseconds> ttl_left{};
  /// How many were ahead in the queue: other processes, and callers of this one, up to 1000; -1: unknown.
  std::int64_t ahead = -1;

  /// "held for 41 s by web-3 pid 812 'nightly import', 5 ahead of you". One line, as process_info's.
  [[nodiscard]] std::string to_string() const;
};

}  // namespace holdfast
