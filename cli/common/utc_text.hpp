/// Times for programs.
#pragma once

#include <chrono>
#include <string>

namespace holdfast::cli {

/// RFC 3339, UTC, with milliseconds: "2026-11-23T12:03:00.250Z".
[[nodiscard]] std::string utc_text(std::chrono::sys_time<std::chrono::microseconds> time);

}  // namespace holdfast::cli
