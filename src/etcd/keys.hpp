/// The keys of a lock in etcd, as Go's concurrency.Mutex and etcdctl have them (docs/etcd.md). No I/O.
#pragma once

#include <holdfast/busy_info.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::etcd::keys {

/// How the value of a place begins, but for candidates in an election.
inline constexpr std::string_view mark{"holdfast "};

/// What all keys of that lock begin with.
[[nodiscard]] std::string folder(std::string_view prefix, std::string_view name);
/// A key, or the beginning of some, in such a folder.
[[nodiscard]] std::string below(std::string_view folder, std::string_view word);
/// The end of the range of the keys that begin so.
[[nodiscard]] std::string end_of(std::string folder);
/// The name whose key ends in that word, right behind its slash; nullopt: it doesn't.
[[nodiscard]] std::optional<std::string> name_before(std::string_view prefix, std::string_view key,
                                                     std::string_view word);
/// As a lease is written.
[[nodiscard]] std::string digits_of(std::int64_t lease);
[[nodiscard]] std::int64_t lease_in(std::string_view digits);
/// The place of the owner of that lease.
[[nodiscard]] std::string place(std::string_view folder, std::int64_t lease);

/// What the keys of those begin with that stand aside as that name is busy. No lock waits for them.
[[nodiscard]] std::string those_aside(std::string_view prefix, std::string_view name);
[[nodiscard]] std::string aside(std::string_view prefix, std::string_view name, std::int64_t lease);

/// The place of a reader, which is under that lease. Many owners of a client may read at a time, so the
/// number of the owner id is in it.
[[nodiscard]] std::string reading_place(std::string_view folder, std::int64_t lease, std::string_view owner);
/// The keys of a lock that such a place waits for, as ranges from the first to the second: all but readers.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> all_but_readers(std::string const& folder);
/// What else there may be in a folder than the keys that begin so: as ranges.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> all_but(std::string const& folder,
                                                                       std::string const& beginning);
/// Whether that place of a lock is a reader's.
[[nodiscard]] bool is_readers(std::string_view key);

/// What a place holds: the owner id, and who that is, for those that wait. Go leaves it empty.
[[nodiscard]] std::string value(std::string_view owner, std::string const& label);
/// The owner id in such a value; empty: it is another program's.
[[nodiscard]] std::string owner_in(std::string_view value);
/// The owner id, and who that is. No owner: it is another program's.
[[nodiscard]] process_info process_in(std::string_view value);

/// What a release by force adds to the holder's value: by whom it is wanted back.
[[nodiscard]] std::string wanted_back(std::string value, std::string_view by);
[[nodiscard]] bool is_wanted_back(std::string_view value);

}  // namespace holdfast::etcd::keys
