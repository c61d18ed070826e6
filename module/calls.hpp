/// Commands of the server that its module interface has no function for, or whose rights it wouldn't check.
#pragma once

#include "request.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace holdfast::server {

/// As TYPE says it.
[[nodiscard]] std::string type_name(abi::context*, abi::string* key);

/// False: the slot of both is on its way to another node of a cluster, and one of them isn't here. The server
/// looks at the keys that a command names before it runs it; this is for one that it doesn't name.
[[nodiscard]] bool are_here(abi::context*, abi::string* key, abi::string* beside);

/// How many members of a sorted set come before this one.
[[nodiscard]] long long rank_of(abi::context*, abi::string* key, abi::string* member);

/// The one field of a hash.
[[nodiscard]] std::string only_field(abi::context*, abi::string* key);

/// False: the server has no command of that name, by COMMAND INFO; true also where that can't be asked.
[[nodiscard]] bool knows_command(abi::context*, char const* name);

/// As CLIENT LIST says it; empty if that can't be asked.
[[nodiscard]] std::string list_of_clients(abi::context*);

/// Ends the connection of that number.
void close_client(abi::context*, std::string_view id);

// Messages. As the scripts do it, the server publishes them with the rights of the calling client, and
// repeats them to its replicas.

/// Puts a message into the inbox that a waiter's client has for the lock of this queue. Returns how many
/// heard it; nothing when the right to publish is missing. Where that isn't known it counts as heard.
[[nodiscard]] std::optional<long long> tell_waiter(abi::context*, publishing mode, std::string_view waiter,
                                                   std::string_view queue, std::string_view message);

/// Tells those who wait on one of Redisson's channels; "" tells nobody. Returns how many heard it; nothing
/// when that can't be known.
[[nodiscard]] std::optional<long long> tell_channel(abi::context*, publishing mode, std::string_view channel,
                                                    std::string_view message);

}  // namespace holdfast::server
