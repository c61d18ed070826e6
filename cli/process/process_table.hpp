/// The processes of this machine, as /proc shows them. Without malloc and with async-signal-safe calls only,
/// so that a forked child of a program with threads can use it.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace holdfast::cli {

/// Of the process that watches a command (run/guard). Without "holdfast" in it: what is sent to all processes
/// of that name, as by pkill(1), is not for the guard.
inline constexpr char guard_name[] = "lock-guard";

struct process_entry {
  pid_t id = 0;
  pid_t parent = 0;
  pid_t group = 0;
  pid_t session = 0;
  char state = '?';           ///< the letter that ps(1) shows
  std::uint64_t started = 0;  ///< ticks since the boot; no other process has both this and the id
  int depth = 0;              ///< for the user of the table
  bool is_guard = false;      ///< has guard_name

  [[nodiscard]] bool ended() const noexcept { return state == 'Z' || state == 'X'; }
  [[nodiscard]] bool stopped() const noexcept { return state == 'T'; }
};

/// Nullopt if there is no such process.
[[nodiscard]] std::optional<process_entry> process_of(pid_t) noexcept;

class process_table {
 public:
  process_table() noexcept = default;
  ~process_table();
  process_table(process_table const&) = delete;
  process_table& operator=(process_table const&) = delete;

  /// Reads all processes anew. False, and no entry, when /proc can't be read.
  bool read() noexcept;
  void add(process_entry const&) noexcept;

  /// Sorted by id after read().
  [[nodiscard]] std::span<process_entry> all() const noexcept { return {entries_, count_}; }
  /// Null if there is none.
  [[nodiscard]] process_entry const* find(pid_t) const noexcept;

 private:
  process_entry* entries_ = nullptr;  // from mmap
  std::size_t count_ = 0;
  std::size_t room_ = 0;
};

}  // namespace holdfast::cli
