/// Connections in which the server keeps a pointer to a command of the module. It frees the command when it
/// unloads the module, and reads it there afterwards: in CLIENT LIST and CLIENT INFO of one whose last
/// command it was, and at the EXEC of one that has queued it (redis/redis#10259). That has ended servers.
#pragma once

#include "abi.hpp"

namespace holdfast::server {

/// Closes them, but that of who unloads the module. Of those with an open transaction all, since what they
/// have queued can't be asked. False: the server doesn't say which they are (`rename-command CLIENT`).
[[nodiscard]] bool close_connections_of_callers(abi::context*);

}  // namespace holdfast::server
