/// Who holds a lock: what a process says of itself, and what a wait that timed out says of it.
#pragma once

#include <holdfast/export.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace holdfast {

/// What a client of Holdfast says of itself in Redis (docs/protocol.md, client records). A client has a
/// record from before its first lock on. It has none if it is an older Holdfast or another library, if it has
/// no right to write records, if its process has been dead for a minute, or if the server lost its data in
/// the last 20 s. Then only `owner` is set.
struct HOLDFAST_EXPORT process_info {
  std::string owner{};    ///< the owner id, or whatever another library wrote into the key
  std::string host{};     ///< its host name
  std::int64_t pid = 0;   ///< 0: unknown
  std::string program{};  ///< the name of its executable
  std::string label{};    ///< client_options::label
  /// The traceparent of the work that holds the lock: what observer::trace() said where it was asked for. A
  /// holder in another process says it after half a second, or a whole one, and so of its oldest sixteen
  /// leases. Empty: unknown, or there is none; so of readers and waiters, of leases that were handed over
  /// within another process, of text that is no traceparent, on etcd (but within the process), and of clients
  /// that don't say it yet.
  std::string trace{};

  /// "web-3 pid 812 'nightly import'"; "unknown (<owner>)" without a record. The text is one line. Control
  /// characters, and characters that change the direction of writing, are shown as `\xNN`; the fields above
  /// have them as they were written.
  [[nodiscard]] std::string to_string() const;
};

/// Why an acquisition didn't get the lock.
struct HOLDFAST_EXPORT busy_info {
  process_info holder{};  ///< who held it
  /// How long the lock has been held. nullopt: unknown, because the holder is not a Holdfast client. A lock
  /// that is handed on inside a process counts from when that process got it.
  std::optional<std::chrono::microseconds> held_for{};
  /// What was left of its ttl. nullopt: it had none, or that is unknown.
  std::optional<std::chrono::milliseconds> ttl_left{};
  /// The key has no ttl: another program wrote it, and the wait ends only when somebody deletes the key.
  bool never_expires = false;
  /// How many were ahead in the queue: other processes, and callers of this process; at most 1000. -1:
  /// unknown.
  std::int64_t ahead = -1;
  // Of permits on the plain wire. `holder` is then whoever has to give its permits back first; it has no
  // owner if nobody has any. `held_for` is unknown.
  std::int64_t wanted = 0;   ///< how many the caller wanted; 0: it isn't about permits
  std::int64_t permits = 0;  ///< how many there are altogether; -1: nobody has said so
  std::int64_t taken = 0;    ///< how many of them were out

  /// "held for 41 s by web-3 pid 812 'nightly import', 5 ahead of you", or "held by unknown (<owner>); its
  /// key never expires"; of permits "all 3 permits are taken, by web-3 pid 812 'nightly import' and others".
  /// One line, escaped like process_info::to_string().
  [[nodiscard]] std::string to_string() const;
};

}  // namespace holdfast
