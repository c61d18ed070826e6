/// The two commands that an exclusive lock costs, as words: what the floors send.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "redis.hpp"

namespace holdfast::bench {

struct exclusive_commands {
  connection::words acquire;
  connection::words release;
};

/// The commands for a name and an owner.
using command_maker = std::function<exclusive_commands(std::string const& name, std::string const& owner)>;

/// Makes the server know the scripts of a wire format, once for each server.
using wire_commands = command_maker (*)(connection&);

/// The plain wire: EVALSHA of the library's own scripts with arguments like its own.
[[nodiscard]] command_maker plain_commands(connection&);

/// Redisson's wire: the least that has the effects of its RLock's scripts. Who takes it writes owner and ttl;
/// who gives it back deletes the key and publishes.
[[nodiscard]] command_maker redisson_commands(connection&);

}  // namespace holdfast::bench
