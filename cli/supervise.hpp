/// Stands between the lock and the command: passes signals on, and ends the command before its lock can be
/// another's.
#pragma once

#include "child.hpp"
#include "run.hpp"
#include "signals.hpp"
#include "terminal.hpp"

#include <holdfast/lease.hpp>

namespace holdfast::cli {

struct supervision {
  int code = 0;       ///< the command's, as a shell gives it
  bool lost = false;  ///< the lock was lost before the command ended, or the command was ended for it
};

/// Returns when the command has ended.
[[nodiscard]] supervision supervise(child& command, lease& held, run_options const&, signals const&,
                                    terminal const&);

}  // namespace holdfast::cli
