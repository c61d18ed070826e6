/// Decides whether a job is due, by what is known of its last run. No clock, no I/O.
#pragma once

#include "probe/run_record.hpp"
#include "run/time_slots.hpp"

#include <chrono>
#include <cstdint>
#include <optional>

namespace holdfast::cli {

/// How often a job may run: --once-per and --at-most-every.
struct run_limit {
  enum class failed : std::uint8_t { counts, is_retried };

  std::optional<slot_rule> slots{};    ///< once in each; nullopt: at most once in each `period`
  std::chrono::milliseconds period{};  ///< counted from the beginning of a run
  failed a_failed_run = failed::counts;
};

struct due_run {
  enum class verdict : std::uint8_t {
    due,
    done,     ///< the last run counts
    running,  ///< the same, and it hasn't ended
  };
  verdict is = verdict::due;
  instant counts_until{};  ///< if it is due: until when a run that begins now counts
  instant next{};          ///< otherwise: when the job is due again
};

/// A run that has ended with another exit code than 0 has failed, and so has one that hasn't ended and
/// doesn't hold its lock any more.
[[nodiscard]] due_run when_due(run_limit const& limit, probe::run_look const& look);

/// How long a record is of use after it was written: for the decision, and a period and a day longer for
/// people who ask what became of the last run.
[[nodiscard]] std::chrono::milliseconds record_life(due_run const& due, instant now);

}  // namespace holdfast::cli
