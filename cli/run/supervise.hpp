/// Connects the lock and the command: passes signals on, and ends the command before another process can get
/// its lock.
#pragma once

#include "process/child.hpp"
#include "process/signals.hpp"
#include "process/terminal.hpp"
#include "run/run.hpp"

#include <holdfast/lease.hpp>

namespace holdfast::cli {

struct supervision {
  int code = 0;       ///< the command's exit code, as in shells
  bool lost = false;  ///< the lock was lost before the end of the command, or the command was ended for it
};

/// Returns when the command has ended.
[[nodiscard]] supervision supervise(child& command, lease& held, run_options const&, signals const&,
                                    terminal const&);

}  // namespace holdfast::cli
