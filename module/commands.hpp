/// The commands of the module, and how the server is told of them.
#pragma once

#include "abi.hpp"

#include <string_view>

namespace holdfast::server {

/// Adds those that this server can have. Before Redis 7, which can't check a caller's right to a channel on
/// our behalf, they are the ones that publish nothing. False: a name is taken by somebody else.
[[nodiscard]] bool add_commands(abi::context*);

/// Adds CAS and CAD, unless another module has those names.
void add_compare_commands(abi::context*);

/// Whether a command of that name, in lower case, was added.
[[nodiscard]] bool is_own_command(std::string_view name);

}  // namespace holdfast::server
