/// What `run` notes about its command beside the lock, for --once-per, --at-most-every and --keep.
#pragma once

#include "common/boot_time.hpp"
#include "probe/run_record.hpp"
#include "process/signals.hpp"
#include "run/due.hpp"
#include "run/run_options.hpp"

#include <holdfast/client.hpp>
#include <holdfast/lease.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

namespace holdfast::cli {

class run_notes {
 public:
  /// Whether a run that has ended counts.
  enum class ended : std::uint8_t {
    counted,
    not_counted,  ///< the command couldn't be started, or the lock is released by force
  };

  run_notes(client& redis, std::string_view url, run_options const& options);

  /// Throws holdfast::error.
  [[nodiscard]] probe::run_look look() { return record_.look(); }

  /// Notes that the command is about to be started. False: the lock isn't ours any more. Throws
  /// holdfast::error, and then nothing is noted, as far as that could be had.
  [[nodiscard]] bool begin(lease const& held, due_run const& due, probe::run_look const& look);

  /// The command is started now.
  void start_clock() { started_ = boot_time(); }

  /// Notes how it has ended, while the lock is still ours. While the server can't be asked, or refuses, it
  /// tries again for as long as the lease is valid, for one ttl at the most, or until a signal. A failure is
  /// a message: the command has run.
  void end(lease const& held, int exit_code, ended outcome, signals const& receiver);

 private:
  [[nodiscard]] bool note_end(lease const& held);
  void take_back();
  [[nodiscard]] probe::run_durability durability() const;

  run_options const& options_;
  probe::run_record record_;
  run_info run_{};
  std::chrono::nanoseconds started_;  ///< by the clock of leases
  std::chrono::milliseconds life_{};
};

}  // namespace holdfast::cli
