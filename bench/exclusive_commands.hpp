/// What one cycle of an exclusive lock sends, as words: the floors' requests.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "redis.hpp"

namespace holdfast::bench {

/// The requests of one cycle. Each is one write of one or several commands, and is answered when the last
/// command is.
struct exclusive_commands {
  std::vector<connection::words> acquire;
  std::vector<connection::words> release;
};

/// The requests for a name and an owner.
using command_maker = std::function<exclusive_commands(std::string const& name, std::string const& owner)>;

/// Makes the server know the scripts of a way to lock, once for each server.
using wire_commands = command_maker (*)(connection&);

/// What clients without fencing tokens or queues send, byte for byte: `SET NX PX`, and the script that
/// deletes the key if it has the caller's value (redsync, redis-py, node-redlock). Of what keeps others out
/// there is no less.
[[nodiscard]] command_maker naive_commands(connection&);

/// The plain wire: what the library sends for a free lock.
[[nodiscard]] command_maker fast_commands(connection&);

/// The plain wire: what the library sends to a server that has the module.
[[nodiscard]] command_maker module_commands(connection&);

/// One of these two, as the server has it.
[[nodiscard]] command_maker library_commands(connection&);

/// The plain wire: EVALSHA of the library's own scripts with arguments like its own.
[[nodiscard]] command_maker script_commands(connection&);

/// Redisson's wire: the least that has the effects of its RLock's scripts. Who takes it writes owner and ttl;
/// who gives it back deletes the key and publishes.
[[nodiscard]] command_maker redisson_commands(connection&);

}  // namespace holdfast::bench
