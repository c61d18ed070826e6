/// What the processes of an arena share: counters, and the fenced store.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

namespace holdfast::storm {

/// What a worker does, as it is counted.
enum class deed : std::uint8_t {
  mutex,
  fair,
  recursive,
  write,
  read,
  upgrade,
  permits,
  semaphore,
  several,
  election,
  barrier,
  latch,
  condition,
  quorum,
  redisson,
};
inline constexpr std::array<std::string_view, 15> deed_words{
    "mutex", "fair",     "recursive", "write", "read",      "upgrade", "permits", "semaphore",
    "multi", "election", "barrier",   "latch", "condition", "quorum",  "redisson"};

/// Of the names whose tokens the store knows.
inline constexpr std::size_t most_resources = 32;

/// What a worker takes of the machine, as it says itself.
struct usage {
  std::atomic<std::int64_t> kib;          ///< of memory, trimmed; 0: it hasn't said yet
  std::atomic<std::int64_t> descriptors;  ///< open files
};
/// Of workers that last: see soak.
inline constexpr std::size_t most_measured = 4;

/// In a file that all processes of an arena have mapped. It holds no lock, so a process that is killed or
/// frozen anywhere holds up nobody.
struct board_content {
  /// The newest token of each resource.
  std::array<std::atomic<std::int64_t>, most_resources> newest;
  std::array<std::atomic<std::int64_t>, deed_words.size()> done;
  std::atomic<std::int64_t> busy;     ///< tries that went without
  std::atomic<std::int64_t> refused;  ///< that ended with an error of the server or the network
  std::atomic<std::int64_t> lost;     ///< leases that were lost while a worker used them
  std::atomic<std::int64_t> writes;   ///< that the store has made
  std::atomic<std::int64_t> stale;    ///< that it refused, from a holder whose lease was over
  std::atomic<std::int64_t> broken;   ///< that it refused, though the lease was still valid afterwards
  std::atomic<std::int64_t> forks;
  std::atomic<std::int64_t> exits;
  std::array<usage, most_measured> usages;
};
static_assert(std::atomic<std::int64_t>::is_always_lock_free);

class board {
 public:
  /// Makes the file if there is none.
  explicit board(std::string const& path);
  ~board();
  board(board const&) = delete;
  board& operator=(board const&) = delete;

  [[nodiscard]] board_content& content() const { return *content_; }
  void count(deed what) const {
    content_->done[static_cast<std::size_t>(what)].fetch_add(1, std::memory_order_relaxed);
  }

  /// The store: makes the write unless it has seen a newer token of that resource. Each write is a line of
  /// the file beside the board: resource, token, whether it was made, CLOCK_BOOTTIME.
  [[nodiscard]] bool write(std::size_t resource, std::int64_t token) const;

 private:
  board_content* content_;
  int log_;
};

}  // namespace holdfast::storm
