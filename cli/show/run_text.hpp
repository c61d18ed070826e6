/// The last run of a job in words.
#pragma once

#include <holdfast/inspect.hpp>

#include <chrono>
#include <string>

namespace holdfast::cli::run_text {

/// "58 min", "0 s", "3 h", "12 d": whole units, rounded down, and up for the time until something.
[[nodiscard]] std::string since(std::chrono::microseconds time);
[[nodiscard]] std::string until(std::chrono::microseconds time);

/// "12:03" by the local time; with its date unless it is the day of `now`.
[[nodiscard]] std::string clock(run_info::time_point time, run_info::time_point now);

/// "web-3", or "an unknown host".
[[nodiscard]] std::string host(run_info const& run);

/// Whether the last runner still holds the lock.
enum class lock_is : bool { gone, held };

/// "ran 58 min ago on web-3 (0 s, exit 0)"; of one without an end "began 58 min ago on web-3 and did not
/// end", or, while it goes on, "has been running for 58 min on web-3".
[[nodiscard]] std::string story(run_info const& run, lock_is lock, run_info::time_point now);

/// "kept until 13:00; finished 12:03, exit 0". Requires kept_until(state).
[[nodiscard]] std::string kept(lock_state const& state);

}  // namespace holdfast::cli::run_text
