/// Locks that other processes hold for this one: a `holdfast run` for what runs in its command.
#pragma once

#include <holdfast/client.hpp>

#include <string>
#include <utility>
#include <vector>

namespace holdfast::probe {

/// The owner id that reads a name, of a lease of several names with this one.
[[nodiscard]] std::string reader_id(std::string_view owner);

/// These locks, by name and owner id, aren't given back before this process ends. So its waits, also
/// asynchronous ones, with lock_options::detect_deadlock take part in circles as if it held them itself. No
/// request. To be called before the first wait.
void count_as_held(client& redis, std::vector<std::pair<std::string, std::string>> names_and_owners);

}  // namespace holdfast::probe
