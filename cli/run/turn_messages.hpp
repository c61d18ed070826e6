/// Messages of one who waits for a lock, or holds it.
#pragma once

#include "common/output.hpp"
#include "process/signals.hpp"

namespace holdfast::cli {

/// While it lives no message waits for the reader of stderr: who has stopped reading (^S, a full pipe) must
/// keep neither a command from its start or end, nor the lock from others. Lives from before the wait for the
/// lock until it was given back. Then what is left is written, and a signal ends the process if nobody reads
/// it.
class turn_messages {
 public:
  turn_messages() { output::begin_to_keep(); }
  turn_messages(turn_messages const&) = delete;
  turn_messages& operator=(turn_messages const&) = delete;
  ~turn_messages() {
    default_actions const while_nobody_reads{signals::ending};
    output::end_to_keep();
  }
};

}  // namespace holdfast::cli
