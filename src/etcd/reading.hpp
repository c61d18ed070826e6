/// What the keys of a lock say. No I/O.
#pragma once

#include <holdfast/inspect.hpp>

#include <cstddef>
#include <string>
#include <string_view>

#include "etcd/messages.hpp"
#include "etcd/viewer.hpp"

namespace holdfast::etcd {

/// Who leads an election whose oldest key that is. Its lease is unknown.
[[nodiscard]] viewer::leading read_first(key_value const& first);

/// The state of a lock whose oldest keys these are, and `size` the key that says how many permits there are,
/// if there is one. Times are unknown.
[[nodiscard]] lock_state read_queue(std::string_view prefix, std::string const& name, found const& size,
                                    found keys, std::size_t queue_entries);

}  // namespace holdfast::etcd
