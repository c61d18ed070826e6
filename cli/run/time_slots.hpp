/// The slots of time of --once-per, aligned to the clock. No clock: the time is an argument. What is local is
/// so by TZ, or by /etc/localtime.
#pragma once

#include <holdfast/inspect.hpp>

#include <chrono>
#include <cstdint>
#include <string>

namespace holdfast::cli {

/// A time by the clock of the server.
using instant = run_info::time_point;

struct slot_rule {
  enum class unit : std::uint8_t {
    length,  ///< each as long as `length`, counted from 1970-01-01 00:00 UTC
    hour,
    day,
    week,  ///< from Monday on
    month,
  };
  enum class zone : std::uint8_t { local, utc };

  unit of = unit::length;
  std::chrono::milliseconds length{};  ///< of the others too: as long as the shortest of its kind
  std::chrono::milliseconds offset{};  ///< slots begin so much later than the hour, day or length
  std::chrono::milliseconds slack{};   ///< a start so much before a slot counts for it already
  zone by = zone::local;               ///< of hours and longer units; a length is the same in all zones
};

struct time_slot {
  instant begin{};
  instant end{};

  friend bool operator==(time_slot const&, time_slot const&) = default;
};

/// The rule of "hour", "day", "week", "month", or a duration; without offset, and with the slack that it has
/// unless told otherwise. Throws failure with exit_code::usage.
[[nodiscard]] slot_rule slot_rule_of(std::string const& text);

/// The slot that a start at `now` counts for.
[[nodiscard]] time_slot slot_for(slot_rule const& rule, instant now);

}  // namespace holdfast::cli
