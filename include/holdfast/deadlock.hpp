/// Circles of threads that wait for one another's locks: what lock_options::detect_deadlock finds.
#pragma once

#include <holdfast/busy_info.hpp>
#include <holdfast/client.hpp>
#include <holdfast/export.hpp>

#include <chrono>
#include <string>
#include <vector>

namespace holdfast {

/// One thread of a circle, which waits for a lock.
struct deadlocked_info {
  process_info process{};  ///< the thread's; `owner` is the id of its wait
  std::string name{};      ///< for this lock
  /// Who has it: the process of the next thread in the circle; or a `holdfast run` in whose command that one
  /// runs. `owner` is the owner id of its lease.
  process_info holder{};
  std::chrono::microseconds waited{};  ///< by the server's clock
};

/// Threads of which each waits for a lock that the next one has, and the last one for a lock of the first.
struct HOLDFAST_EXPORT deadlock_info {
  std::vector<deadlocked_info> circle{};  ///< the youngest first: the wait that began last

  /// "web-1 pid 812 waits for "a", held by web-2 pid 77, which waits for "b", held by web-1 pid 812". One
  /// line, escaped like process_info::to_string().
  [[nodiscard]] std::string to_string() const;
};

/// The circles that there are: only those whose threads have said so (lock_options::detect_deadlock, or
/// `run --detect-deadlock`), for a second at least. Each was there at one moment of the call. Looks for keys
/// with SCAN in small steps, which needs the right +scan, and for the locks that they name. A call that finds
/// none takes as long as that; one that finds any waits until their threads have said twice more that they
/// wait, some seconds. The youngest of a circle fails with errc::deadlock by then, as a rule, and so ends it.
///
/// Throws std::errc::invalid_argument for masters that vote, errc::unreachable and the like.
HOLDFAST_EXPORT [[nodiscard]] std::vector<deadlock_info> find_deadlocks(client& redis);

}  // namespace holdfast
