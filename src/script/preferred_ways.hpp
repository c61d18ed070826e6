/// Which of the engine's requests suit a server best.
#pragma once

namespace holdfast::scripting {

/// As the newest connection found out; before the first one, as for a server that has scripts alone.
struct preferred_ways {
  /// SET and INCR in one transaction take a free lock. The module's command is cheaper.
  bool locks_by_transaction = true;
  /// Releases are scripts, so a short one pays. Compare-and-delete of the server's own is cheaper.
  bool releases_by_script = true;
};

}  // namespace holdfast::scripting
