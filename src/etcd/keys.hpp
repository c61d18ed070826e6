/// The keys of a lock in etcd, as Go's concurrency.Mutex and etcdctl have them (docs/etcd.md). No I/O.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace holdfast::etcd::keys {

/// What all keys of that lock begin with.
[[nodiscard]] std::string folder(std::string_view prefix, std::string_view name);
/// The end of the range of those keys.
[[nodiscard]] std::string end_of(std::string folder);
/// The place of the owner of that lease.
[[nodiscard]] std::string place(std::string_view folder, std::int64_t lease);

/// What a place holds: the owner id, and who that is, for those that wait. Go leaves it empty.
[[nodiscard]] std::string value(std::string_view owner, std::string const& label);
/// The owner id in such a value; empty: it is another program's.
[[nodiscard]] std::string owner_in(std::string_view value);

}  // namespace holdfast::etcd::keys
