/// Connects the lock and the command: passes signals on, and ends the command before another process can get
/// its lock.
#pragma once

#include "process/inherited_files.hpp"
#include "process/signals.hpp"
#include "run/guarded_command.hpp"
#include "run/run_options.hpp"

#include <holdfast/lease.hpp>

#include <string>
#include <vector>

namespace holdfast::cli {

struct supervision {
  int code = 0;       ///< the command's exit code, as in shells
  int signal = 0;     ///< the signal that ended the command; 0: it exited
  bool lost = false;  ///< the lock was lost before the end of the command, or the command was ended for it
};

/// Runs the command; returns when it has ended. Throws failure when it can't be started.
[[nodiscard]] supervision supervise(run_options const&, command_start start, lease& held, signals const&,
                                    inherited_files const&);

}  // namespace holdfast::cli
