/// Starts the private server as a unit of systemd's, so that it doesn't end with the unit or the session that
/// it is started in.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace holdfast::cli {

struct systemd_facts {
  bool runs = false;  ///< it is this machine's init
  uid_t user = 0;
  bool lingers = false;  ///< the user's own manager runs without a login
};

[[nodiscard]] systemd_facts look_for_systemd();

/// The words before the program that make it a unit; they return when it is executed. Empty: it can't be
/// one. Only root may ask the system's manager. The manager of another user ends with the last logout, and
/// all its units with it, unless the user lingers.
[[nodiscard]] std::vector<std::string> unit_launcher(systemd_facts const&);

}  // namespace holdfast::cli
