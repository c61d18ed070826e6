/// Of which lock a key in etcd is. No I/O.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast::etcd::keys {

/// The name of the lock whose place that key is; nullopt: it is none.
[[nodiscard]] std::optional<std::string> name_in(std::string_view prefix, std::string_view key,
                                                 std::int64_t lease);

}  // namespace holdfast::etcd::keys
